"""Kills of processes that save taggers, or store decisions of a reviewer: what was there or acknowledged is there."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tools.storm.processes import Length, Moment, Trial, Tried, kill, measure, private_folder

from tagwright import zero_shot
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.tagger import Tagger

NAMES = ["Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers", "Stocks", "Money"]


def save_killed(folder: Path, rng: random.Random) -> Tried:
    """A tagger that is saved again and again is whole whenever its writer is killed."""
    _tagger(2).save(folder / "model")
    kills = kill(_save_repeatedly, (folder,), Moment.within(_four_saves(), rng))
    return Tried(_whole_tagger(folder), kills)


def decisions_killed(folder: Path, rng: random.Random) -> Tried:
    """Every decision that was acknowledged is in the store."""
    kills = kill(_decide_repeatedly, (folder,), Moment(rng.uniform(0.05, 0.4)))
    said = (folder / "acknowledged").read_text() if (folder / "acknowledged").exists() else ""
    file = ReviewFile(folder / "reviews.sqlite")
    there = {number for number, _ in Decisions(file).events()}
    file.close()
    missing = {int(number) for number in said.split("\n")[:-1]} - there
    assert not missing, f"{len(missing)} decisions are lost, the first {min(missing)}"
    return Tried("kept", kills)


TRIALS: Mapping[str, Trial] = {"save": save_killed, "decisions": decisions_killed}


@cache
def _four_saves() -> Length:
    return measure(_save_repeatedly, (private_folder("saves"), 4))


def _tagger(labels: int) -> Tagger:
    return zero_shot(NAMES[:labels], stages=["exact_match", "tfidf"], language="en")


def _save_repeatedly(folder: Path, times: int = 1000) -> None:
    taggers = [_tagger(labels) for labels in (2, 5)]
    for i in range(times):
        taggers[i % 2].save(folder / "model", overwrite=True)


def _whole_tagger(folder: Path) -> str:
    found = Tagger.load(folder / "model") if (folder / "model").exists() else None
    size = len(found.vocabulary) if found else 0
    assert size in (0, 2, 5), f"a tagger with {size} labels"
    if found:
        assert [each.name for each in found.suggest("Bees, and more bees", k=1)] == ["Bees"]
    _tagger(2).save(folder / "model", overwrite=True)
    left = sorted(each.name for each in folder.iterdir())
    assert left == ["model"], f"left behind: {left}"
    return "whole"


def _decide_repeatedly(folder: Path) -> None:
    decisions = Decisions(ReviewFile(folder / "reviews.sqlite"))
    handle = os.open(folder / "acknowledged", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for i in range(100_000):
        number = decisions.add_all([Decision(document=str(i), reviewer="ann", action="accept", label="bee")])[-1]
        os.write(handle, f"{number}\n".encode())
