"""Disturbances of what writes: processes are killed, disks fill up, folders are read-only, two write at a time."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from starlette.testclient import TestClient
from tools.storm.processes import REFUSED, Length, Moment, Trial, Tried, finish, kill, measure, private_folder, start

from tagwright import zero_shot
from tagwright.auto import ranker
from tagwright.combining.ranking_trees import BoostedTrees, BoostingOptions, grow
from tagwright.core.cache import Cache
from tagwright.encoders.cache import EmbeddingCache
from tagwright.models import Models
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import Refitter, refit_combiner
from tagwright.server.review.review import Review
from tagwright.server.serving import saved_models
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


def versions_killed(folder: Path, rng: random.Random) -> Tried:
    """The version in use is whole when a process is killed that adds, promotes, takes back and prunes versions."""
    shutil.copytree(three_versions(), folder / "models")
    kills = kill(change_versions, (folder,), Moment.within(_one_change(), rng))
    return Tried(whole_versions(folder), kills)


def learning_killed(folder: Path, rng: random.Random) -> Tried:
    """A server is killed while it trains on reviews: the next one serves the version before, or the trained one."""
    expected, length = _learned()
    shutil.copytree(_reviewed(), folder, dirs_exist_ok=True)
    kills = kill(_learn, (folder,), Moment.within(length, rng))
    number, found = _served(folder)
    assert (number, found) == (Models(folder / "bees").current.name, expected[number != "0001"])
    assert all(Tagger.load(each.folder, verify=True) for each in Models(folder / "bees"))
    return Tried("as before" if number == "0001" else "trained", kills)


TRIALS: Mapping[str, Trial] = {
    "save": save_killed,
    "two save": two_save,
    "disk full": disk_full,
    "read-only": read_only,
    "decisions": decisions_killed,
    "cache": cache_killed,
    "versions": versions_killed,
    "reviews learnt": learning_killed,
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
        number = decisions.add_all([Decision(document=str(i), reviewer="ann", action="accept", label="bee")])[-1]
        os.write(handle, f"{number}\n".encode())


def _cache_repeatedly(folder: Path) -> None:
    entries = EmbeddingCache("storm", 4, Cache(folder))
    for first in range(0, 2000, 50):
        numbers = np.arange(first, first + 50)
        entries.put([str(i) for i in numbers], np.repeat(numbers[:, None], 4, 1).astype(np.float32))


@cache
def three_versions() -> Path:
    """The versions of a model, of which the second is in use."""
    folder = private_folder("three-versions")
    for labels in (2, 3, 4):
        Models(folder).add(_tagger(labels))
    Models(folder).promote(2)
    return folder


@cache
def _one_change() -> Length:
    folder = private_folder("changed")
    shutil.copytree(three_versions(), folder / "models")
    return measure(change_versions, (folder,))


def change_versions(folder: Path) -> None:
    """Every kind of change once, after which there are as many versions as before."""
    os.fsync = lambda _: None  # type: ignore[assignment]  # a killed process loses nothing that the system has
    models = Models(folder / "models")
    models.add(_tagger(5))
    models.promote([each.name for each in models][-1])
    models.rollback()
    models.prune(2)


def whole_versions(folder: Path) -> str:
    """Every version is whole, one is in use, and the next change tidies up."""
    models = Models(folder / "models")
    assert Tagger.load(folder / "models", verify=True).suggest("Bees, and more bees", k=1)[0].name == "Bees"
    assert all(Tagger.load(each.folder, verify=True) for each in models)
    current = models.current.name
    models.add(_tagger(1))
    left = [path.name for path in (folder / "models" / "versions").iterdir() if path.name.startswith(".")]
    assert not left, f"left behind: {left}"
    return current


@cache
def _reviewed() -> Path:
    """A model, and the decisions of a reviewer that it can learn from, on other documents blind."""
    from tests.server.review.test_refit import lesson

    folder = private_folder("reviewed")
    tagger, labelled = lesson()
    Models(folder / "bees").add(tagger)
    review = Review(saved_models([str(folder / "bees")])[0], ReviewFile(folder / "reviews.sqlite"))
    review.documents.add(labelled.documents)
    for document, (label,) in zip(labelled.documents, labelled.labels, strict=True):
        accepted = Decision(document=document.id, reviewer="Ann", action="accept", label=label)
        review.decisions.add_all([accepted, Decision(document=document.id, reviewer="Ann", action="done")])
        blind = replace(document, id=f"blind {document.id}", abstract=f"{document.abstract} Twice.")
        review.documents.add([blind])
        accepted = replace(accepted, document=blind.id)
        events = [accepted, *(replace(accepted, label=None, action=action) for action in ("blind", "done"))]
        review.decisions.add_all(events)
    review.file.close()
    return folder


@cache
def _learned() -> tuple[tuple[list[str], list[str]], Length]:
    """What is suggested before and after an undisturbed training, and how long that takes."""
    folder = private_folder("learned")
    shutil.copytree(_reviewed(), folder, dirs_exist_ok=True)
    _, before = _served(folder)
    length = measure(_learn, (folder,))
    number, after = _served(folder)
    assert number != "0001"
    assert before[0] != after[0]
    return (before, after), length


def _grow_few(features: Any, scores: Any, gradients: Any, options: BoostingOptions, seed: int) -> BoostedTrees:
    return grow(features, scores, gradients, replace(options, trees=30), seed)


def _learn(folder: Path) -> None:
    """Serve the model, and have it trained as the button of the review page does; the combiner has few trees."""
    ranker.__dict__["grow"] = _grow_few
    app, refitter = _server(folder)
    with TestClient(app) as client:
        client.post("/review/enter", data={"name": "Ann"})
        token = client.get("/review/overview").text.partition('name="csrf" value="')[2].partition('"')[0]
        client.post("/review/refit", data={"csrf": token}, headers={"Origin": "http://testserver"})
        while refitter.is_running:
            time.sleep(0.002)


def _served(folder: Path) -> tuple[str, list[str]]:
    """Start a server: the number of the version that answers, and the ids of the labels, best first."""
    app, refitter = _server(folder)
    with TestClient(app) as client:
        found = client.post("/api/suggest", json={"text": "The belane."}).json()
    refitter.review.file.close()
    return found["version"].removeprefix("bees "), [each["id"] for each in found["suggestions"]]


def _server(folder: Path) -> tuple[Any, Refitter]:
    (model,) = saved_models([str(folder / "bees")])
    review = Review(model, ReviewFile(folder / "reviews.sqlite"))
    refitter = Refitter(review, refit_combiner, folder / "bees")
    return application([model], pages=ReviewPages(review, refitter=refitter)), refitter
