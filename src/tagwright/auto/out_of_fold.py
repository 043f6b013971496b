"""Train stages on some labelled documents to score the others: out-of-fold predictions; and when a stage is tried."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from tagwright.auto.ranker import assign_folds
from tagwright.core.steps import Steps
from tagwright.data.bags import BagOfWords
from tagwright.data.corpus import take_documents, text_groups
from tagwright.data.sparse_arrays import Matrix
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.model_folder import PACKAGED, has_packaged
from tagwright.registry import METHODS
from tagwright.stages.dense import Dense
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import FEW, SvmOptions, fit_svm
from tagwright.stages.nearest_labelled import NearestByMeaning, NearestLabelled
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.types import Document, Longs, Retriever, Run

SVM, KNN, KNN_DENSE, DEPL_CLS, RTS = "svm", "knn", "knn_dense", "depl_cls", "rts"
"""The names of the stages that are trained: on labels the linear SVM, the nearest labelled documents by words and by
the vectors of the dense stage, and the dual encoder with a classifier; on texts the encoder of RTS."""

TRAINING_PACKAGES = ("torch", "accelerate")
"The packages that train a static encoder, of the extra `train`; it is distilled from MiniLM."


STAGES: Mapping[str, tuple[Mapping[str, int], Sequence[str]]] = {
    "combiner": ({"labelled": 2}, ()),
    SVM: ({"labelled": 30}, ()),
    KNN: ({"labelled": 30}, ()),
    KNN_DENSE: ({"labelled": 30, "encoders": 1}, ()),
    DEPL_CLS: ({"labelled": 6000}, (*TRAINING_PACKAGES, "sentence_transformers")),
    RTS: ({"labelled": 30, "unread": 1000}, TRAINING_PACKAGES),
}
"""What is trained besides the zero-shot method, in order of worth, and what its training needs.

First the least numbers of labelled documents ("labelled"), of others with title and text, from which the combiner does
not learn ("unread"), and of stages with an encoder ("encoders"). Then modules that must be installed.
"""


def lacking(name: str, counts: Mapping[str, int]) -> str:
    """Say in words what the data or this installation lack for a stage; empty where nothing does.

    >>> lacking("svm", {"labelled": 12})
    'from 30 labelled documents on (here 12)'
    """
    needed, packages = STAGES[name]
    for kind, least in needed.items():
        if (here := counts.get(kind, 0)) < least:
            return {
                "labelled": f"from {least:,} labelled documents on (here {here:,})",
                "unread": f"from {least:,} documents on with title and text, besides those that the combiner "
                f"learns from ({here:,})",
                "encoders": "no stage has an encoder",
            }[kind]
    absent = [package for package in packages if find_spec(package) is None]
    absent += [PACKAGED] if packages and not has_packaged() else []
    return f"training it needs {' and '.join(absent)}, not installed here" if absent else ""


IN_THE_SUM = (SVM, DEPL_CLS, KNN, KNN_DENSE, RTS)
"The order in which the weights of the stages are chosen, and in which they stand in a tagger."

CANDIDATES = 100
"Labels that each of them suggests for a document."

MANY = 4
"With at least this many labelled documents per document to score, train on the others only, without folds."

BATCH = 1024
"Documents that are encoded at a time."


@dataclass(frozen=True, eq=False)
class Folds:
    """Stages over labelled documents. scored: places (documents,) of those that are to be scored out of fold.

    gold: a row for each document, with labels. steps: the store of what is trained. dense: the name of the dense stage,
    and itself; it encodes the documents for `KNN_DENSE`. unread: the documents from whose texts RTS learns: none from
    which the combiner learns, as it would know these better than the documents to be tagged.
    """

    documents: Sequence[Document]
    labels: Vocabulary
    gold: Run
    scored: Longs
    seed: int = 0
    steps: Steps = Steps()
    dense: tuple[str, Dense] | None = None
    unread: Sequence[Document] = ()
    _kept: dict[tuple[str, str], Retriever] = field(default_factory=dict, init=False)

    @cached_property
    def parts(self) -> list[Longs]:
        """The documents to be scored, in folds."""
        return parts(self.scored, len(self.documents), self.seed)

    @cached_property
    def texts(self) -> Longs:
        """(documents,) equal for documents with the same text."""
        return text_groups(self.documents)

    def outside(self, name: str, part: int) -> Retriever:
        """Train a stage on all labelled documents but those of a part, and others with their texts."""
        others = self._others(part)
        return self._trained(name, others, others, f"fold-{part}")

    def _others(self, part: int) -> Longs:
        return np.flatnonzero(~np.isin(self.texts, self.texts[self.parts[part]]))

    def last(self, names: Collection[str]) -> dict[str, Retriever]:
        """Train the stages of these names on all labelled documents.

        What takes long to train is trained on hardly fewer, where most documents were trained on already.
        """
        everything, fold = np.arange(len(self.documents)), "all"
        learned = everything
        if len(self.parts) == 1 and 20 * len(self.scored) <= len(everything):
            # so few were left out that what was trained without them is as good as a full one
            learned, fold = self._others(0), "fold-0"
        return {name: self._trained(name, everything, learned, fold) for name in IN_THE_SUM if name in names}

    @cached_property
    def _words(self) -> tuple[BagOfWords, Matrix]:
        bag = BagOfWords.of(document.text for document in self.documents)
        return bag, bag.transform(document.text for document in self.documents)

    @cached_property
    def _vectors(self) -> NDArray[np.float16]:
        return self.encode(np.arange(len(self.documents)))

    def encode(self, places: Longs) -> NDArray[np.float16]:
        """(documents, dim) float16, of norm 1, of some documents by the dense stage."""
        assert self.dense
        encoder, field = self.dense[1].encoder, self.dense[1].options.text_field
        vectors = list[NDArray[np.float16]]()
        for start in range(0, len(places), BATCH):
            documents = take_documents(self.documents, places[start : start + BATCH])
            texts = [document.read_as(field) for document in documents]
            vectors.append(encoder.encode(texts, role="query").astype(np.float16))
        return np.concatenate(vectors)

    def _trained(self, name: str, near: Longs, learned: Longs, fold: str) -> Retriever:
        """Train a stage. near: places of documents to search neighbours in. learned: of those to train on."""
        if name == KNN:
            bag, features = self._words
            return NearestLabelled(self.labels, bag, features[near], self.gold.take(near), CANDIDATES)
        if name == KNN_DENSE:
            assert self.dense
            vectors, gold = self._vectors[near], self.gold.take(near)
            return NearestByMeaning(self.labels, vectors, gold, CANDIDATES, shares=self.dense[0])
        key = name, "" if name == RTS else fold  # the encoder of RTS reads no labels: it is the same in every fold
        if key not in self._kept:
            train: Mapping[str, Callable[[Longs, str], Retriever]]
            train = {SVM: self._svm, DEPL_CLS: self._dual, RTS: self._rts}
            self._kept[key] = train[name](learned, fold)
        return self._kept[key]

    def _svm(self, learned: Longs, fold: str) -> Retriever:
        (bag, features), gold = self._words, self.gold.take(learned)
        options = SvmOptions(seed=self.seed, workers=1 if len(np.unique(gold.labels)) <= FEW else 0)
        model = fit_svm(features[learned], gold, len(self.labels), options, self.steps.within(fold))
        return Linear(self.labels, bag, *model, CANDIDATES)

    def _dual(self, learned: Longs, fold: str) -> Retriever:
        """The dual encoder with a classifier, which also learns from an SVM of the same documents."""
        documents, gold = take_documents(self.documents, learned), self.gold.take(learned)
        depl = METHODS["depl"]
        config = depl.config(variant="depl_cls", encoder="static", training=TrainingConfig(seed=self.seed))
        svm = Tagger(self.labels, {SVM: self._trained(SVM, learned, learned, fold)})
        steps = self.steps.within(fold).within(DEPL_CLS)
        stage: Retriever = depl.fit(documents, self.labels, config, steps, gold=gold, svm=svm).retrievers["dual"]
        return stage

    def _rts(self, *_: object) -> Retriever:
        training = TrainingConfig(steps=100, seed=self.seed)  # with 400 `auto` was no better on train documents of mdn
        rts = METHODS["rts"]
        config = rts.config(encoder="static", label_pairs=False, training=training)
        stage: Retriever = rts.fit(self.unread, self.labels, config, self.steps.within(RTS)).retrievers["dense"]
        return stage


def parts(scored: Longs, labelled: int, seed: int = 0) -> list[Longs]:
    """The documents to be scored, in five folds; all in one where the others are many enough to learn from.

    >>> [len(part) for part in parts(np.arange(300), 300)], len(parts(np.arange(1500), 6421))
    ([60, 60, 60, 60, 60], 1)
    """
    if labelled >= MANY * len(scored):
        return [scored]
    fold = assign_folds(len(scored), 5, seed)
    return [scored[fold == number] for number in np.unique(fold)]
