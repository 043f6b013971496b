"""Train stages on some labelled documents to score the others: out-of-fold predictions."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.auto.combiner import assign_folds
from tagwright.core.steps import Steps
from tagwright.data.bags import BagOfWords
from tagwright.data.corpus import taken
from tagwright.data.sparse_arrays import Matrix
from tagwright.encoders.cache import keeps_documents
from tagwright.stages.dense import Dense
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import SvmOptions, fit_svm
from tagwright.stages.nearest_labelled import NearestByMeaning, NearestLabelled
from tagwright.types import Document, Label, Longs, Retriever, Run

SVM, KNN, KNN_DENSE, DEPL_CLS = "svm", "knn", "knn_dense", "depl_cls"
"""The names of the stages that are trained on labels: the linear SVM, the nearest labelled documents by words and by
the vectors of the dense stage, and the dual encoder with a classifier."""

TrainDual: TypeAlias = Callable[[Sequence[Document], Run, Linear, Steps], Retriever]
"Trains the dual encoder on documents with their gold labels, and an SVM of these; the steps store it."

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

    gold: a row for each document, with labels. names: of the stages. steps: the store of what is trained. dense: the
    name of the dense stage, and itself; it encodes the documents for `KNN_DENSE`. given: stages that no label trains,
    the same in every fold. train_dual: for `DEPL_CLS`. synthetic:
    how many of the documents a language model wrote, which are too little to learn from alone.
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
    train_dual: TrainDual | None = None
    synthetic: int = 0
    _latest: dict[str, dict[str, Retriever]] = field(default_factory=dict, init=False)

    def __iter__(self) -> Iterator[Fold]:
        """Each part of the documents to be scored, with stages that are trained on all other labelled documents."""
        everything = np.arange(len(self.documents))
        for number, part in enumerate(self._parts):
            others = np.setdiff1d(everything, part)
            yield Fold(part, self._trained(self._names, others, others, f"fold-{number}"))

    def last(self, names: Collection[str] | None = None) -> dict[str, Retriever]:
        """The stages, or those of these names, trained on all labelled documents.

        What takes long to train is trained on hardly fewer, where most documents were trained on already.
        """
        everything, names = np.arange(len(self.documents)), self._names if names is None else names
        if len(self._parts) > 1 or SCARCE * len(self.scored) > len(everything):
            return self._trained(names, everything, everything, "all")
        return self._trained(names, everything, np.setdiff1d(everything, self._parts[0]), "fold-0")

    @property
    def _names(self) -> list[str]:
        return [*self.names, *self.given]

    @cached_property
    def _parts(self) -> list[Longs]:
        return parts(self.scored, len(self.documents) - self.synthetic, self.folds, self.seed)

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

    def _trained(self, names: Collection[str], near: Longs, learnt: Longs, name: str) -> dict[str, Retriever]:
        """Train the stages of these names. near: places of documents to search neighbours in. learnt: to train on."""
        stages = {each: stage for each, stage in self._learned(names, learnt, name).items() if each in names}
        if KNN in names:
            bag, features = self._words
            stages[KNN] = NearestLabelled(self.labels, bag, features[near], self.gold.take(near), CANDIDATES)
        if KNN_DENSE in names and self.dense:
            vectors, gold = self._vectors[near], self.gold.take(near)
            stages[KNN_DENSE] = NearestByMeaning(self.labels, vectors, gold, CANDIDATES, shares=self.dense[0])
        return {**stages, **{each: stage for each, stage in self.given.items() if each in names}}

    def _learned(self, names: Collection[str], places: Longs, name: str) -> dict[str, Retriever]:
        """The stages whose training takes long, which are kept for the next call."""
        if name not in self._latest:
            self._latest.clear()
            stages: dict[str, Retriever] = {}
            if SVM in names or DEPL_CLS in names:
                stages[SVM] = svm = self._svm(places, self.steps.within(name))
            if self.train_dual and DEPL_CLS in names:
                documents, gold = taken(self.documents, places), self.gold.take(places)
                stages[DEPL_CLS] = self.train_dual(documents, gold, svm, self.steps.within(name))
            self._latest[name] = stages
        return self._latest[name]

    def _svm(self, places: Longs, steps: Steps) -> Linear:
        (bag, features), gold = self._words, self.gold.take(places)
        options = SvmOptions(seed=self.seed, workers=1 if len(np.unique(gold.labels)) <= FEW else 0)
        return Linear(self.labels, bag, fit_svm(features[places], gold, len(self.labels), options, steps), CANDIDATES)


def parts(scored: Longs, labelled: int, folds: int = 5, seed: int = 0) -> list[Longs]:
    """The documents to be scored, in folds; all in one where the others are many enough to learn from.

    >>> [len(part) for part in parts(np.arange(300), 300)], len(parts(np.arange(1500), 6421))
    ([60, 60, 60, 60, 60], 1)
    """
    if labelled >= MANY * len(scored):
        return [scored]
    fold = assign_folds(len(scored), folds, seed)
    return [scored[fold == number] for number in np.unique(fold)]
