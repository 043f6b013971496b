"""What the review page says of a training, beside the truth: `python -m benchmarks button`.

Of each corpus and draw, 20 and 100 documents are reviewed as on the page, by a reviewer who knows the gold labels: of a
share of the documents the labels are given blind, of the others those that are suggested are accepted. Then the tagger
is trained as by the button. `difference` is nDCG@5 of the new version minus the one before, with its interval, as the
page shows it; `gain` is the same on dev documents that were not reviewed. With too few blind documents there is none.

Rows are written as they come, and what is there is not measured again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.curve_methods import Task

from tagwright.models import Models
from tagwright.review.blind import SHARE, drawn_blind, measured_gain
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.review.recall import SUGGESTIONS
from tagwright.server.review.refit import Refitter, refit_combiner
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger, zero_shot
from tagwright.types import Document

SIZES, DRAWS, UNSEEN = (20, 100), 8, 1000


def main(arguments: list[str]) -> None:
    parser = corpora.parser("button", __doc__, corpora.ALL)
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    content = figures.read(options.output)
    rows: dict[str, Any] = content.setdefault("rows", {})
    for name in options.corpora:
        wanted = [(size, draw) for draw in range(DRAWS) for size in SIZES if f"{name} {size} {draw}" not in rows]
        if not wanted:
            continue
        task = Task(name, None, 0, Path())
        base = zero_shot.fit(task.labels, documents=task.train[:256])
        for size, draw in wanted:
            rows[f"{name} {size} {draw}"] = row = measure(task, base, size, draw)
            print(name, size, draw, row, flush=True)
            figures.write(options.output, {**content, "share": SHARE, **summary(rows)})


def measure(task: Task, base: Tagger, size: int, draw: int) -> dict[str, Any]:
    """Review so many documents, train, and measure the gain that is shown and the one on unseen documents."""
    pool = task.pool if task.name in corpora.FROM_DEV else task.pool[:3000]
    reviewed = [pool[place] for place in np.random.default_rng(100 + draw).permutation(len(pool))[:size]]
    with tempfile.TemporaryDirectory() as folder, closing(ReviewFile(Path(folder) / "reviews.sqlite")) as file:
        review = Review(ServedModel(task.name, base, task.name), file, blind_share=SHARE)
        review.documents.add(reviewed)
        review.decisions.add_all(decisions(task, base, reviewed))
        refitter = Refitter(review, refit_combiner, Path(folder) / "versions")
        refitter._train(review.training_data())
        last = refitter.last
        assert last is not None
        row = {"reviews": last.reviews, "blind": last.blind["documents"]}
        if "difference" not in last.blind:
            return row
        known = {each.id for each in reviewed}
        unseen = [each for each in task.dev if each.id not in known][:UNSEEN]
        trained = Models(refitter.folder)[last.version].load()
        gain = measured_gain(trained, base, unseen, labels_of(task, unseen)).difference.value
        return {**row, "difference": last.blind["difference"], "gain": gain, "unseen": len(unseen)}


def decisions(task: Task, tagger: Tagger, documents: Sequence[Document]) -> Iterator[Decision]:
    """What a reviewer decides who accepts exactly the gold labels."""
    found = tagger.tag(documents, SUGGESTIONS)
    for document, gold, (suggested, _) in zip(documents, labels_of(task, documents), found, strict=True):
        event: dict[str, Any] = {"document": document.id, "reviewer": "gold"}
        if drawn_blind(document.id):
            yield from (Decision(action="accept", label=label, **event) for label in gold)
            yield Decision(action="blind", **event)
        else:
            ranked = [(rank, task.labels.ids[label]) for rank, label in enumerate(suggested.tolist(), 1)]
            yield from (Decision(action="shown", label=label, rank=rank, **event) for rank, label in ranked)
            right = [(rank, label) for rank, label in ranked if label in gold]
            yield from (Decision(action="accept", label=label, rank=rank, **event) for rank, label in right)
        yield Decision(action="done", **event)


def labels_of(task: Task, documents: Sequence[Document]) -> list[list[str]]:
    """The ids of the gold labels of each document."""
    return [[task.labels.ids[label] for label in row.tolist()] for row, _ in task.gold(documents)]


def summary(rows: Mapping[str, Any]) -> dict[str, Any]:
    """How many intervals are shown, how many hold the gain, and the median of half their widths, of each size."""
    found = {}
    for size in SIZES:
        cells = [row for name, row in rows.items() if name.split()[1] == str(size)]
        shown = [row for row in cells if "difference" in row]
        widths = [(row["difference"]["high"] - row["difference"]["low"]) / 2 for row in shown]
        found[str(size)] = {
            "trainings": len(cells),
            "shown": len(shown),
            "hold": sum(row["difference"]["low"] <= row["gain"] <= row["difference"]["high"] for row in shown),
            "half width": round(median(widths), 4) if widths else None,
        }
    return {"summary": found}
