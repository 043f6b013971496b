"""Races: processes that write one folder at the same time. One wins, and what the others have made is not mixed in."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tools.storm.processes import REFUSED, Trial, Tried, finish, private_folder, start

from tagwright import zero_shot
from tagwright.api.job import Job
from tagwright.api.options import ZERO_SHOT, configuration
from tagwright.batch import batch
from tagwright.batch.local_processes import Tagged
from tagwright.batch.output_folder import BatchOptions
from tagwright.batch.shard_tagging import ShardTagger
from tagwright.core.versions import Versions
from tagwright.evaluation.resampling import Score
from tagwright.evaluation.significance import Difference
from tagwright.models import Models
from tagwright.readers.documents.files import open_sources
from tagwright.review.file import ReviewFile
from tagwright.server import serving
from tagwright.server.review import refit
from tagwright.server.review.refit import Refitter
from tagwright.server.review.review import Review, TrainingData
from tagwright.tagger import Tagger
from tagwright.types import Document

NAMES = ("Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers")

LATEST = 0.03
"Seconds by which one begins after the others, at most."

Runner = Callable[[Path, Callable[[], None], int], None]
"Reads what is in a folder, waits for the others, and writes. The last argument is an option of it."

STAGES: dict[str, Any] = {"stages": ["exact_match", "tfidf"], "language": "en"}


def two_batches(folder: Path, rng: random.Random) -> Tried:
    """Two batches with different settings: one is refused, and the folder holds what its manifest says."""
    shutil.copytree(_model_and_documents(), folder, dirs_exist_ok=True)
    _race(folder, rng, [(_batch, 1), (_batch, 3)])
    k = json.loads((folder / "out" / "manifest.json").read_text())["settings"]["k"]
    shards = sorted((folder / "out").glob("shard-*.jsonl"))
    counts = [len(json.loads(line)["suggestions"]) for shard in shards for line in shard.read_text().splitlines()]
    assert counts == [k] * 3, f"the manifest says {k}, the shards hold {counts}"
    return Tried(f"k {k}")


def train_and_learn(folder: Path, rng: random.Random) -> Tried:
    """A training replaces a folder while a server that has read it learns: both are there, and nothing is lost."""
    zero_shot(NAMES[:4], **STAGES).save(folder / "model")
    trained, learned = _race(folder, rng, [(_train, 0), (_learn, 0)], 0, 15 * LATEST)  # a training takes longer
    left = {path.name: len(Tagger.load(path, verify=True).vocabulary) for path in folder.glob("model*")}
    versions = [len(Tagger.load(each.folder, verify=True).vocabulary) for each in Models(folder / "versions")]
    assert (trained, learned, left, versions) == (True, True, {"model": 5}, [4, 1]), f"{left}, {versions}"
    return Tried("trained and learned")


def versions(folder: Path, rng: random.Random) -> Tried:
    """One version is promoted, others are removed, a server learns: the last that was promoted is in use, and whole."""
    shutil.copytree(_four_versions(), folder / "model")
    promoted, _, learned = _race(folder, rng, [(_promote, 0), (_prune, 0), (_learn, 0)])
    found = Models(folder / "model")
    sizes = {each.name: len(Tagger.load(each.folder, verify=True).vocabulary) for each in found}
    current = found.current.name
    assert current == ("0003" if promoted else "0005" if learned else "0001"), f"{promoted=}, {learned=}, {current}"
    assert ("0005" in sizes) == learned, f"{learned=}, {sizes}"
    left = [path.name for path in (folder / "model").rglob(".*")]
    assert not left, f"left behind: {left}"
    return Tried(" and ".join(["promoted"] * promoted + ["learned"] * learned))


TRIALS: Mapping[str, Trial] = {
    "race of batches": two_batches,
    "race of trainings": train_and_learn,
    "race of versions": versions,
}


def _race(folder: Path, rng: random.Random, runners: Sequence[tuple[Runner, int]], *latest: float) -> list[bool]:
    """Whether each succeeded, and was not refused in one line; one must. latest: of each."""
    delays = [rng.uniform(0, each) * rng.randint(0, 1) for each in latest or [LATEST] * len(runners)]
    children = [
        start(_run, (folder, runner, given, number, len(runners), delay))
        for number, ((runner, given), delay) in enumerate(zip(runners, delays, strict=True))
    ]
    found = [finish(child)[0] != REFUSED for child in children]
    assert any(found), "nobody succeeded"
    return found


def _run(folder: Path, runner: Runner, given: int, number: int, count: int, delay: float) -> None:
    """Read what there is, wait for the others, and write."""
    os.fsync = lambda _: None  # type: ignore[assignment]  # nothing is killed here, and disks are slow

    def together() -> None:
        (folder / f"ready-{number}").touch()
        while len([*folder.glob("ready-*")]) < count:
            time.sleep(0)
        time.sleep(delay)

    runner(folder, together, given)


def _batch(folder: Path, together: Callable[[], None], k: int) -> None:
    options, model = BatchOptions(k=k, shard_size=1), folder / "model"
    tagger = ShardTagger.load(model, options)

    def engine(shards: Iterator[Any], *_: object) -> Iterator[Tagged]:
        for shard in shards:
            target = shard.path.with_suffix(".suggestions")
            yield shard, target, tagger.write(shard.path, target)

    batch.__dict__["in_processes"] = engine
    together()
    batch.run(open_sources(folder / "documents.jsonl"), model, folder / "out", options, batch.shards_of("0/1"))


def _train(folder: Path, together: Callable[[], None], _: int) -> None:
    config = configuration(ZERO_SHOT, dict(STAGES))
    labels, place = list(NAMES[:5]), folder / "model"
    job = Job(method=ZERO_SHOT, config=config, documents=(), labels=labels, output=place, overwrite=True)
    together()
    job.run()


def _learn(folder: Path, together: Callable[[], None], _: int) -> None:
    serving.__dict__["language_of"] = lambda _: "en"  # it takes longer than all the rest
    (model,) = serving.saved_models([str(folder / "model")])

    def better(tagger: Tagger, __: TrainingData) -> Tagger:
        measured = {"nDCG@5": {"before": 0.25, "after": 0.5}}
        return replace(tagger.restrict([NAMES[0]]), training={"before": tagger.training, "combined": measured})

    gain = Difference(0.9, 0.5, Score(0.4, 0.3, 0.5), 0.0, 0.0)
    refit.__dict__.update(FEWEST=0, measured_gain=lambda *_: gain)  # as if documents were reviewed blind
    place = model.history or folder / "versions"
    refitter = Refitter(Review(model, ReviewFile(folder / "reviews.sqlite")), better, place)
    together()
    refitter._train(TrainingData([Document("1", "Bees")], [[NAMES[0]]], [set()], [[]]))


def _promote(folder: Path, together: Callable[[], None], _: int) -> None:
    together()
    Models(folder / "model").promote(3)


def _prune(folder: Path, together: Callable[[], None], _: int) -> None:
    together()
    Models(folder / "model").prune(1)


@cache
def _model_and_documents() -> Path:
    folder = private_folder("races")
    zero_shot(NAMES, **STAGES).save(folder / "model")
    rows = [{"id": str(number), "title": " and ".join(NAMES)} for number in range(3)]
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@cache
def _four_versions() -> Path:
    folder = private_folder("versions")
    for labels in (5, 4, 3, 2):
        Models(folder).add(zero_shot(NAMES[:labels], **STAGES))
    assert Versions(folder).used == ["0001"]
    return folder
