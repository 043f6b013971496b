"""Disturbances of what writes: processes are killed, disks fill up, folders are read-only, two write at a time."""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tests.storm.processes import REFUSED, Length, Moment, finish, kill, measure, private_folder, start
from tests.storm.tally import Tried

from tagwright import zero_shot
from tagwright.core.cache import Cache
from tagwright.encoders.cache import EmbeddingCache
from tagwright.review.current import Decision
from tagwright.review.decisions import Decisions
from tagwright.review.file import ReviewFile
from tagwright.tagger import Tagger

NAMES = ["Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers", "Stocks", "Money"]
NOBODY = 65534


def save_killed(folder: Path, rng: random.Random) -> Tried:
    """A tagger that is saved again and again is whole whenever its writer is killed."""
    _tagger(2).save(folder / "model")
    kills = kill(_save_repeatedly, (folder,), Moment.within(_four_saves(), rng))
    return Tried(_whole_tagger(folder), kills)


def two_save(folder: Path, rng: random.Random) -> Tried:
    """Two processes save to one folder, one of them is killed."""
    other = start(_save_repeatedly, (folder, 8))
    try:
        kills = kill(_save_repeatedly, (folder,), Moment.within(_four_saves(), rng))
    finally:
        finish(other)
    return Tried(_whole_tagger(folder), kills)


def disk_full(folder: Path, rng: random.Random) -> Tried:
    """A file cannot grow beyond some size, as on a full disk: what was there is whole, and the refusal is one line."""
    _tagger(2).save(folder / "model")
    code, _ = finish(start(_save_on_small_disk, (folder, rng.randrange(0, 3000))))
    _whole_tagger(folder)
    return Tried({0: "fitted", REFUSED: "refused"}[code])


def read_only(folder: Path, _rng: random.Random) -> Tried:
    """A folder that must not be written to."""
    if os.geteuid():
        folder.chmod(0o555)
    else:  # root may write everywhere; its child becomes somebody else
        folder.chmod(0o755)
    code, _ = finish(start(_save_as_nobody, (folder,)))
    folder.chmod(0o755)
    assert code == REFUSED, f"exit code {code}"
    assert not list(folder.iterdir()), "something was written"
    return Tried("refused")


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


def cache_killed(folder: Path, rng: random.Random) -> Tried:
    """The cache has right vectors or none."""
    kills = kill(_cache_repeatedly, (folder,), Moment(rng.uniform(0.05, 0.4)))
    texts = [str(i) for i in range(2000)]
    vectors, known = EmbeddingCache("storm", 4, Cache(folder)).get(texts)
    right = np.repeat(np.arange(2000, dtype=np.float32)[:, None], 4, 1)
    assert (vectors[known] == right[known]).all(), "wrong vectors"
    return Tried("right", kills)


TRIALS: Mapping[str, Callable[[Path, random.Random], Tried]] = {
    "save": save_killed,
    "two save": two_save,
    "disk full": disk_full,
    "read-only": read_only,
    "decisions": decisions_killed,
    "cache": cache_killed,
}


@cache
def _four_saves() -> Length:
    return measure(_save_repeatedly, (private_folder("saves"), 4))


def _tagger(labels: int) -> Tagger:
    return zero_shot(NAMES[:labels], stages=["exact_match", "tfidf"], language="en")


def _save_repeatedly(folder: Path, times: int = 1000) -> None:
    taggers = [_tagger(labels) for labels in (2, 5)]
    for i in range(times):
        taggers[i % 2].save(folder / "model", overwrite=True)


def _save_on_small_disk(folder: Path, size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    _tagger(5).save(folder / "model", overwrite=True)


def _save_as_nobody(folder: Path) -> None:
    tagger = _tagger(2)
    with TemporaryDirectory() as elsewhere:
        tagger.save(Path(elsewhere) / "model")  # imports what saving needs: nobody may not be allowed to read it
    if not os.geteuid():
        os.seteuid(NOBODY)
    tagger.save(folder / "model")


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
        number = decisions.add(Decision(document=str(i), reviewer="ann", action="accept", label="bee"))
        os.write(handle, f"{number}\n".encode())


def _cache_repeatedly(folder: Path) -> None:
    entries = EmbeddingCache("storm", 4, Cache(folder))
    for first in range(0, 2000, 50):
        numbers = np.arange(first, first + 50)
        entries.put([str(i) for i in numbers], np.repeat(numbers[:, None], 4, 1).astype(np.float32))
