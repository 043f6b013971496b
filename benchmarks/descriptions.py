"""Descriptions for labels that have none, without any label of a document: `python -m benchmarks descriptions`.

The zero-shot tagger guesses labels of train documents, a linear SVM learns from its surest guesses, and each label gets
the words of largest weight added to its description (DEPL 3.2). The rows compare stages and the zero-shot tagger over
the labels as they are and over those. No gold label is read but for the scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from benchmarks import corpora, rows

from tagwright.data.gold import confident
from tagwright.data.keywords import with_keywords
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.metrics import labelled
from tagwright.papers import depl, svm
from tagwright.tagger import Tagger, batches, zero_shot
from tagwright.types import Document, Run

MEASURES = ("P@1", "P@3", "P@5", "nDCG@5", "R@100", "macro-F1@5")
TESTED = ("P@1", "P@5", "nDCG@5", "R@100", "macro-F1@5")

KEYWORDS = 20

TAGGERS: Mapping[str, zero_shot.Config] = {
    "tfidf": zero_shot.Config(stages=("tfidf",), weights=(1.0,)),
    "dense": zero_shot.Config(stages=("dense",), weights=(1.0,)),
    "zeroshot": zero_shot.Config(),
}
ROWS = [row for name in TAGGERS for row in (name, f"{name}, described")]


@dataclass(frozen=True)
class Task(rows.Task):
    """A corpus, and of how many of its train documents labels are guessed."""

    documents: int
    most: int

    @cached_property
    def material(self) -> list[Document]:
        """A random part of the train documents."""
        return rows.sample(self.train, self.documents)

    @cached_property
    def guesses(self) -> Run:
        """The surest of the first labels that the zero-shot tagger suggests."""
        tagger = zero_shot.fit(self.labels)
        found = Run.concat([tagger.tag(batch, self.most + 1) for batch in batches(self.material)])
        return confident(self.without_self(self.material, found), most=self.most)

    @cached_property
    def described(self) -> Vocabulary:
        """The labels with keywords."""
        tagger = svm.fit(self.material, self.labels, gold=self.guesses)
        return with_keywords(self.labels, depl.keywords_of(tagger, KEYWORDS))


def fit(task: Task, row: str) -> Tagger:
    name, _, described = row.partition(", ")
    return zero_shot.fit(task.described if described else task.labels, TAGGERS[name])


def main(arguments: list[str]) -> None:
    parser = corpora.parser("descriptions", __doc__, corpora=["tib", "epmc"], work=True)
    parser.add_argument("--documents", type=int, default=10_000, help="train documents whose labels are guessed")
    parser.add_argument("--most", type=int, default=1, help="guesses of a document, of which the surer half is kept")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    for name in options.corpora:
        task = Task(name, options.work / f"{options.documents} {options.most}", options.documents, options.most)
        for row in ROWS:
            if not task.is_measured(row):
                rows.measure(task, row, partial(fit, task, row), MEASURES)
            plain = row.partition(", ")[0]
            heading = name + (f", {task.most} guesses" if task.most > 1 else "")
            rows.add(options.output, task, row, heading, about(task), (plain,), TESTED)


def about(task: Task) -> dict[str, Any]:
    """How much was guessed, and, looked up afterwards where there are gold labels, how much of it is right."""
    path = task.work / task.name / "guesses.json"
    if not path.is_file():
        gold = task.without_self(task.material, task.labels.gold(task.material, unknown="ignore"))
        looked_up = np.flatnonzero(labelled(gold))
        right = task.guesses.take(looked_up).held_by(gold.take(looked_up))
        found = {
            "documents": len(task.dev),
            "learnt from": len(task.material),
            "guesses": len(task.guesses.labels),
            "labels with keywords": len(np.unique(task.guesses.labels)),
            "guesses looked up": len(right),
            "of them right": round(float(right.mean()), 3) if len(right) else None,
        }
        path.write_text(json.dumps(found), encoding="utf-8")
    return dict(json.loads(path.read_text(encoding="utf-8")))
