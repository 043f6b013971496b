"""Kill a server while it trains into a new version; the one in use must always be whole, and the next start serves it.

python -m tests.kill_trainings FOLDER 1000 kills 1,000 servers that were asked on the review page to train, each at a
moment drawn at random, and prints what was counted as a line of JSON after every 20. The combiner is trained with fewer
trees, to take less time.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient
from tests.server.review.test_refit import lesson

from tagwright.auto import combiner
from tagwright.combining.ranking_trees import BoostedTrees, BoostingOptions, grow
from tagwright.core.atomic import remove_leftovers
from tagwright.core.versions import Versions
from tagwright.models import Models
from tagwright.review.current import Decision
from tagwright.review.file import ReviewFile
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import Refitter, refit_combiner
from tagwright.server.review.session import Review
from tagwright.server.serving import saved_models
from tagwright.tagger import Tagger

FIRST, TEXT = "0001", "The belane."


def grow_few(features: Any, scores: Any, gradients: Any, options: BoostingOptions, seed: int) -> BoostedTrees:
    """Train 30 trees in place of 120."""
    return grow(features, scores, gradients, replace(options, trees=30), seed)


def served(folder: Path) -> tuple[Starlette, Refitter]:
    """A server of the version in use, and what trains it."""
    (model,) = saved_models([str(folder / "bees")])
    review = Review(model, ReviewFile(folder / "reviews.sqlite"))
    refitter = Refitter(review, refit_combiner, folder / "bees")
    return application([model], pages=ReviewPages(review, refitter=refitter)), refitter


def train(folder: Path, times: int, begun: int) -> None:
    """Serve, and ask for trainings, one after the other; a byte is written when the first has begun."""
    app, refitter = served(folder)
    with TestClient(app) as client:
        client.post("/review/enter", data={"name": "Ann"})
        token = client.get("/review/overview").text.partition('name="csrf" value="')[2].partition('"')[0]
        for _ in range(times):
            client.post("/review/refit", data={"csrf": token}, headers={"Origin": "http://testserver"})
            os.write(begun, b"1")
            while refitter.is_running:
                time.sleep(0.002)


def trained(folder: Path, seconds: float | None) -> bool:
    """Train in another process: once, or until it is killed so many seconds after it began; whether it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            train(folder, 1 if seconds is None else 1_000, writer)
        finally:
            os._exit(0)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def answer(folder: Path) -> tuple[str, list[str]]:
    """Start a server: the number of the version that answers, and the ids of the labels, best first."""
    app, refitter = served(folder)
    with TestClient(app) as client:
        found = client.post("/api/suggest", json={"text": TEXT}).json()
    refitter.review.file.close()
    return found["version"].removeprefix("bees "), [each["id"] for each in found["suggestions"]]


def prepare(folder: Path) -> tuple[dict[str, list[str]], float]:
    """Make a version and reviews, and train once on these: what is answered before and after, and the seconds."""
    tagger, labelled = lesson()
    Models(folder / "bees").add(tagger)
    review = Review(saved_models([str(folder / "bees")])[0], ReviewFile(folder / "reviews.sqlite"))
    review.documents.add(labelled.documents)
    for document, (label,) in zip(labelled.documents, labelled.labels, strict=True):
        accepted = Decision(document=document.id, reviewer="Ann", action="accept", label=label)
        review.decisions.add_all([accepted, Decision(document=document.id, reviewer="Ann", action="done")])
    review.file.close()
    _, before = answer(folder)
    start = time.monotonic()
    trained(folder, None)
    seconds = time.monotonic() - start
    number, after = answer(folder)
    assert number != FIRST
    assert before[0] != after[0]
    return {"as before": before, "trained": after}, seconds


def kill(folder: Path, kills: int) -> dict[str, object]:
    """Kill trainings at random moments, and look after each.

    Moments are drawn up to a time that grows after each training that was killed too soon to be served, and shrinks
    after each other one: however busy the machine, about as many leave the trained version in use as the former.
    """
    rng, (expected, seconds) = random.Random(0), prepare(folder)
    versions = Versions(folder / "bees")
    killed, damaged, then = 0, list[str](), Counter[str]()
    for turn in range(kills):
        versions.promote(FIRST)
        versions.prune(1)
        killed += trained(folder, rng.uniform(0, seconds))
        try:
            number, found = answer(folder)
            state = "as before" if number == FIRST else "trained"
            assert (number, found) == (versions.current.name, expected[state])
            assert all(Tagger.load(versions[name], verify=True) for name in versions.names)
            then[state] += 1
            seconds *= 1.05 if number == FIRST else 1 / 1.05
        except Exception as error:
            damaged.append(f"kill {turn}: {error!r}")
        if not (turn + 1) % 20:
            sys.stdout.write(json.dumps({"killed": killed, "then served": dict(then), "damaged": damaged}) + "\n")
            sys.stdout.flush()
    remove_leftovers(versions.folder)
    versions.prune(2)
    left = [path.name for path in versions.folder.rglob(".*")]
    return {"killed": killed, "then served": dict(then), "damaged": damaged, "left over": left}


if __name__ == "__main__":
    combiner.__dict__["grow"] = grow_few
    sys.stdout.write(json.dumps(kill(Path(sys.argv[1]), int(sys.argv[2]))) + "\n")
