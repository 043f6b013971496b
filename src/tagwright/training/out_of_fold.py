"""Train stages on some labelled documents to score the others: out-of-fold predictions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagwright.core.steps import Steps
from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix
from tagwright.encoders.cache import keeps_documents
from tagwright.stages.dense import Dense
from tagwright.stages.linear.classifiers import Linear
from tagwright.stages.nearest_labelled import NearestByMeaning, NearestByWords
from tagwright.training.combiner import assign_folds
from tagwright.training.linear import SvmOptions, fit_svm
from tagwright.types import Document, Label, Longs, Retriever, Run

SVM, KNN, KNN_DENSE = "svm", "knn", "knn_dense"
"""The names of the stages that are trained on labels: the linear SVM, and the nearest labelled documents by words and
by the vectors of the dense stage."""

CANDIDATES = 100
"Labels that each of them suggests for a document."

MANY = 4
"With at least this many labelled documents per document to score, train on the others only, without folds."

SCARCE = 20
"If at most one in this many documents was left out, keep the SVM trained without them: it is as good as a full one."

BATCH = 1024
"Documents that are encoded at a time."

FEW = 1000
"Up to this number of labels, one process is faster than several."


class Fold(NamedTuple):
    """Places of documents, and stages that have seen only the labels of others."""

    places: Longs
    stages: Mapping[str, Retriever]


@dataclass(frozen=True, eq=False)
class Folds:
    """Stages over labelled documents. scored: places (documents,) of those that are to be scored out of fold.

    gold: a row for each document, with labels. names: of the stages. dense: the name of the dense stage, and itself; it
    encodes the documents for `KNN_DENSE`. given: stages that no label trains, the same in every fold. steps: the store
    of the SVMs.
    """

    documents: Sequence[Document]
    labels: Sequence[Label]
    gold: Run
    scored: Longs
    names: Collection[str] = (SVM, KNN)
    folds: int = 5
    seed: int = 0
    steps: Steps = Steps()
    dense: tuple[str, Dense] | None = None
    given: Mapping[str, Retriever] = field(default_factory=dict)
    _latest: dict[str, Linear] = field(default_factory=dict, init=False)

    def __iter__(self) -> Iterator[Fold]:
        """Each part of the documents to be scored, with stages that are trained on all other labelled documents."""
        everything = np.arange(len(self.documents))
        for number, part in enumerate(self._parts):
            others = np.setdiff1d(everything, part)
            yield Fold(part, self._trained(others, others, f"fold-{number}"))

    def last(self) -> dict[str, Retriever]:
        """The stages that are trained on all labelled documents; the SVM on hardly fewer, where that takes long."""
        everything = np.arange(len(self.documents))
        if len(self._parts) > 1 or SCARCE * len(self.scored) > len(everything):
            return self._trained(everything, everything, "all")
        return self._trained(everything, np.setdiff1d(everything, self._parts[0]), "fold-0")

    @cached_property
    def _parts(self) -> list[Longs]:
        return parts(self.scored, len(self.documents), self.folds, self.seed)

    @cached_property
    def _words(self) -> tuple[BagOfWords, Matrix]:
        bag = BagOfWords.of(document.text for document in self.documents)
        return bag, bag.transform(document.text for document in self.documents)

    @cached_property
    def _vectors(self) -> NDArray[np.float16]:
        """(documents, dim) float16."""
        assert self.dense
        encoder, field = self.dense[1].encoder, self.dense[1].options.text_field
        found = list[NDArray[np.float16]]()
        for start in range(0, len(self.documents), BATCH):
            texts = [document.read_as(field) for document in self.documents[start : start + BATCH]]
            found.append(encoder.encode(texts, role="query", keep=keeps_documents()).astype(np.float16))
        return np.concatenate(found)

    def _trained(self, near: Longs, learnt: Longs, name: str) -> dict[str, Retriever]:
        """Train the stages. near: places of documents to search neighbours in. learnt: to train the SVM on."""
        stages = dict(self.given)
        if SVM in self.names:
            stages[SVM] = self._svm(learnt, name)
        if KNN in self.names:
            bag, features = self._words
            stages[KNN] = NearestByWords(self.labels, bag, features[near], self.gold.take(near), CANDIDATES)
        if KNN_DENSE in self.names and self.dense:
            vectors, gold = self._vectors[near], self.gold.take(near)
            stages[KNN_DENSE] = NearestByMeaning(self.labels, vectors, gold, CANDIDATES, shares=self.dense[0])
        return stages

    def _svm(self, places: Longs, name: str) -> Linear:
        if name not in self._latest:
            (bag, features), gold = self._words, self.gold.take(places)
            options = SvmOptions(seed=self.seed, workers=1 if len(np.unique(gold.labels)) <= FEW else 0)
            model = fit_svm(features[places], gold, len(self.labels), options, self.steps.within(name))
            self._latest.clear()
            self._latest[name] = Linear(self.labels, bag, model, CANDIDATES)
        return self._latest[name]


def parts(scored: Longs, labelled: int, folds: int = 5, seed: int = 0) -> list[Longs]:
    """The documents to be scored, in folds; all in one where the others are many enough to learn from.

    >>> [len(part) for part in parts(np.arange(300), 300)], len(parts(np.arange(1500), 6421))
    ([60, 60, 60, 60, 60], 1)
    """
    if labelled >= MANY * len(scored):
        return [scored]
    fold = assign_folds(len(scored), folds, seed)
    return [scored[fold == number] for number in np.unique(fold)]
