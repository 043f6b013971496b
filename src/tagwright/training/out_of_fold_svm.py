"""Labelled documents in, SVMs that have not seen some of them out: each is scored by one that was trained on others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagwright.data.bags import BagOfWords, Matrix
from tagwright.stages.linear_classifiers import Linear
from tagwright.training.combiner_training import assign_folds
from tagwright.training.linear_training import SvmOptions, fit_svm
from tagwright.types import Document, Label, Longs, Run

CANDIDATES = 100
"Labels that the SVM suggests for a document."

MANY = 4
"Where there are so many times more labelled documents than are to be scored, one SVM on the others is enough."

FEW = 1000
"Up to so many labels, one process is faster than several."


class Fold(NamedTuple):
    """Places of documents, and a stage that has seen only the labels of others."""

    places: Longs
    stage: Linear


@dataclass(frozen=True, eq=False)
class SvmFolds:
    """SVMs over labelled documents. scored: places (documents,) of those that are to be scored out of fold.

    gold: a row for each document, with labels. folder: where finished blocks of labels are stored; resume goes on with
    them.
    """

    documents: Sequence[Document]
    labels: Sequence[Label]
    gold: Run
    scored: Longs
    folds: int = 5
    seed: int = 0
    folder: Path | None = None
    resume: bool = False

    def __iter__(self) -> Iterator[Fold]:
        """Each part of the documents to be scored, with a stage that is trained on all other labelled documents."""
        everything = np.arange(len(self.documents))
        for number, part in enumerate(parts(self.scored, len(self.documents), self.folds, self.seed)):
            yield Fold(part, self._trained(np.setdiff1d(everything, part), f"fold-{number}"))

    def last(self) -> Linear:
        """The stage that is trained on all labelled documents."""
        return self._trained(np.arange(len(self.documents)), "all")

    @cached_property
    def _words(self) -> tuple[BagOfWords, Matrix]:
        bag = BagOfWords.of(document.text for document in self.documents)
        return bag, bag.transform(document.text for document in self.documents)

    def _trained(self, places: Longs, name: str) -> Linear:
        bag, features = self._words
        gold, folder = self.gold.take(places), self.folder / name if self.folder else None
        options = SvmOptions(seed=self.seed, workers=1 if len(np.unique(gold.labels)) <= FEW else 0)
        model = fit_svm(features[places], gold, len(self.labels), options, folder, resume=self.resume)
        return Linear(self.labels, bag, model, CANDIDATES)


def parts(scored: Longs, labelled: int, folds: int = 5, seed: int = 0) -> list[Longs]:
    """The documents to be scored, in folds; all in one where the others are many enough to learn from.

    >>> [len(part) for part in parts(np.arange(300), 300)], len(parts(np.arange(1500), 6421))
    ([60, 60, 60, 60, 60], 1)
    """
    if labelled >= MANY * len(scored):
        return [scored]
    fold = assign_folds(len(scored), folds, seed)
    return [scored[fold == number] for number in np.unique(fold)]
