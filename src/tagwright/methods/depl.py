"""DEPL: retrieve labels by texts that a linear classifier has written for them (Zhang et al., 2023).

"Long-tailed Extreme Multi-label Text Classification by the Retrieval of Generated Pseudo Label Descriptions". Five
methods for documents with labels: the linear SVM (3.2), the dense classifier, DE-ret by names alone, DEPL by names and
keywords (3.3), and DEPL+cls, which adds a classifier (3.5).
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tagwright.data.bags import BagOfWords
from tagwright.data.descriptions import Keywords
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.dual_encoder import encoder, pooler_of, tower, width
from tagwright.errors import ConfigError
from tagwright.stages.description_retriever import (
    ClassifierWeights,
    DescriptionRetriever,
    DescriptionRetrieverOptions,
    label_texts,
    tokenizer_of,
)
from tagwright.stages.label_index import Vectors
from tagwright.stages.linear_classifiers import Linear
from tagwright.tagger import Tagger, batches
from tagwright.training.batching import is_validation
from tagwright.training.encoder_training import Learner, check_least, count_steps, load, stage_folder
from tagwright.training.label_objectives import (
    DualEncoder,
    Heads,
    LabelSampler,
    Rates,
    hard_negatives,
    labelled_documents,
)
from tagwright.training.linear_training import fit_svm
from tagwright.training.training_config import Training
from tagwright.types import Document, Floats, Run

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

Kind = Literal["depl", "depl+cls", "de-ret", "classifier", "svm"]

log = logging.getLogger(__name__)

LEAST_STEPS = 400
"""Batches of a classifier, where its epochs are fewer: it learns label vectors from nothing. A dual encoder knows the
labels' texts, and is past its best by then (1,200 documents of tib: after 40)."""


@dataclass(frozen=True)
class Recipe:
    """How one kind of encoder is trained, first as a classifier, then as a dual encoder. sampled: labels of a batch."""

    classifier: Training
    classifier_rates: Rates
    dual: Training
    dual_rates: Rates
    sampled: int


TRANSFORMER = Recipe(
    Training(batch=32, epochs=10, learning_rate=5e-5, dropout="all", clip=1e3),
    Rates(poolers=2.0, classifiers=40.0),
    Training(batch=32, epochs=10, learning_rate=1e-5, dropout="all", clip=1e3),
    Rates(poolers=10.0, classifiers=10.0),
    sampled=500,
)
"""A.1.3: rates 5e-5, 1e-4 and 2e-3 for the classifier, then 1e-5 and 1e-4. Epochs and batch are not given there.
Gradients are those of a sum over labels, and so is the length to which they are cut."""

STATIC = Recipe(
    Training(batch=256, epochs=4, learning_rate=1e-2, weight_decay=0.1, dropout="off", clip=1e3),
    Rates(poolers=1.0, classifiers=3.0),
    Training(batch=256, epochs=3, learning_rate=5e-3, weight_decay=0.1, dropout="off", clip=1e3),
    Rates(poolers=1.0, classifiers=3.0),
    sampled=3072,
)
"""For a static encoder, whose vectors move only with the texts that hold a token: hence the rate. A larger batch with
more labels is faster. Rates and epochs were chosen by nDCG@5 on held-out train documents of tib. Clipping would only
act while the loss, a sum over the labels of a batch, is still far off."""


@dataclass(frozen=True, kw_only=True)
class Config(Learner):
    """The choices of DEPL and its family."""

    kind: Kind = "depl"
    "Which of the five methods."
    tokens: int = 16
    "Tokens of a pseudo description: 8, 16 or 32 in Fig. 4."
    keywords: int = 20
    "Words that the SVM adds to a label's name and description (A.1.3); 0 for none."
    hard_negatives: int = 10
    "The SVM's first wrong labels of each document that are in its batch (A.1.3); 0 for none."
    sampled_labels: int | None = None
    "|S_b|, labels of a batch; None: 500 for a transformer, the paper's for many labels, or 3072 for a static one."
    trained_start: bool = True
    "Whether the encoder is first trained as a classifier (A.1.5)."
    apart: bool = True
    """Whether both heads of DEPL+cls have a loss each, and only their probabilities are averaged. False is the paper's
    loss of the average (Eq. 4), in which a head that is sure and wrong learns nothing any more."""
    label_pooling: Literal["cls", "mean"] = "mean"
    "How a transformer makes one vector of a label's text (Table 7); a static encoder always averages."
    validation: float = 0.0
    """Share of the documents that nothing is trained on, the SVM neither, but that choose the best weights. None by
    default: the epochs are few, and a label with one document would lose it."""
    candidates: int = 100
    "Labels that are found for a document."

    def __post_init__(self) -> None:
        if self.pooling or self.projection:
            raise ConfigError("pooling and projection are given by DEPL; label_pooling is what can be chosen")
        super().__post_init__()
        if self.kind not in get_args(Kind):
            raise ConfigError(f'kind is "{self.kind}", expected one of {", ".join(get_args(Kind))}')
        if self.label_pooling not in ("cls", "mean"):
            raise ConfigError(f'label_pooling is "{self.label_pooling}", expected cls or mean')
        check_least(self, keywords=0, hard_negatives=0, sampled_labels=2, candidates=1)
        _ = self.stage  # checks its options

    @property
    def stage(self) -> DescriptionRetrieverOptions:
        """What of a label is encoded."""
        return DescriptionRetrieverOptions(k=self.candidates, tokens=self.tokens, names_only=self.kind == "de-ret")

    @property
    def recipe(self) -> Recipe:
        """How to train this kind of encoder."""
        return STATIC if self.is_static else TRANSFORMER


_GIVEN = frozenset({"pooling", "projection"})
_OF_SVM = frozenset({"validation", "seed", "candidates"})
_OF_KEYWORDS = frozenset({"tokens", "keywords"})
_OF_DUAL = frozenset({"hard_negatives", "trained_start", "label_pooling"})

UNUSED: Mapping[str, frozenset[str]] = {
    "svm": frozenset(field.name for field in fields(Config)) - _OF_SVM,
    "classifier": _GIVEN | _OF_KEYWORDS | _OF_DUAL | {"apart"},
    "de-ret": _GIVEN | _OF_KEYWORDS | {"apart"},
    "depl": _GIVEN | {"apart"},
    "depl+cls": _GIVEN,
}
"Kind -> the options that have no part in it."


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    output: Path | None = None,
    *,
    resume: bool = False,
    gold: Run | None = None,
    svm: Tagger | None = None,
    classifier: Tagger | None = None,
    keywords: Keywords | None = None,
) -> Tagger:
    """Train on documents with labels. output: an existing folder for logs and checkpoints; resume from there.

    gold: instead of the documents' own labels, such as `confident` suggestions of another tagger. svm, classifier: what
    `fit` gave for these kinds on the same documents, so that they are not trained again. keywords: instead of the
    SVM's, such as edited ones. Raises ConfigError when there is nothing to learn from, ModelError without encoder.
    """
    known = _known_of_texts(documents, labels, gold)
    seen = _without_held_out(known, config)
    with_keywords = config.kind in ("depl", "depl+cls") and config.keywords > 0 and keywords is None
    asked = config.kind == "svm" or with_keywords or (config.kind != "classifier" and config.hard_negatives > 0)
    if asked and svm is None:  # 3.2
        svm = sparse(documents, labels, seen, output, candidates=config.candidates, resume=resume)
    if svm and config.kind == "svm":
        return svm
    if svm and with_keywords:
        keywords = keywords_of(svm, config.keywords)
    hard = _mistakes(svm, documents, known, config.hard_negatives if config.kind != "classifier" else 0)
    material = _Material(documents, labels, known, seen, hard, keywords or {})
    start = _stage_of(classifier).with_labels(labels) if classifier else None
    if start is None and (config.trained_start or config.kind == "classifier"):
        first = replace(config, kind="classifier")
        start = material.learn(first, None, stage_folder(output, "classifier"), resume=resume)
    if config.kind == "classifier" and start:
        return Tagger(labels, {"classifier": start})
    return Tagger(labels, {"dual": material.learn(config, start, stage_folder(output, "dual"), resume=resume)})  # 3.3


def _known_of_texts(documents: Sequence[Document], labels: Vocabulary, gold: Run | None) -> Run:
    """What is known of documents with text, read once: no text teaches nothing, and its labels are unseen."""
    readable = array("b")

    def noted() -> Iterator[Document]:
        for document in documents:
            readable.append(bool(document.text.strip()))
            yield document

    if gold is None:
        gold = known_labels(noted(), labels)
    else:
        readable.extend(bool(document.text.strip()) for document in documents)
    return gold.keep(np.array(readable, np.bool_)[gold.rows])


def known_labels(documents: Iterable[Document], labels: Vocabulary, unknown: Unknown = "warn") -> Run:
    """The documents' labels. Says how many documents have none, and how many labels never occur.

    unknown: see `Vocabulary.gold`. Raises ConfigError when no document has any label of the vocabulary.
    """
    gold = labels.gold(documents, unknown=unknown)
    without, never = int((np.diff(gold.indptr) == 0).sum()), len(labels) - len(np.unique(gold.labels))
    if without == len(gold):
        raise ConfigError(f"none of {len(gold)} documents has a label of the vocabulary; DEPL learns from labels")
    if without:
        log.warning("%d of %d documents have no label and are not learnt from", without, len(gold))
    if never:
        log.warning(
            "%d of %d labels never occur: they are known by name at most, and never suggested by svm",
            never,
            len(labels),
        )
    return gold


def confident(run: Run, *, most: int = 1, share: float = 0.5) -> Run:
    """Pseudo labels for `fit`: of each document's first `most` labels, the share of all with the largest scores.

    >>> confident(Run.from_rows([{4: 0.9, 1: 0.8}, {2: 0.3}])).indptr.tolist()
    [0, 1, 1]
    """
    first = run.top(most)
    kept = np.zeros(len(first.labels), np.bool_)
    kept[np.argsort(-first.scores, kind="stable")[: max(1, round(share * len(first.labels)))]] = True
    kept_run = first.keep(kept)
    return replace(kept_run, scores=np.ones_like(kept_run.scores))


def keywords_of(svm: Tagger, count: int) -> dict[str, tuple[str, ...]]:
    """The `count` words of largest weight of each label (3.2), from a tagger that `fit` made for "svm"."""
    stage = _svm_of(svm)
    return {
        label.id: tuple(stage.bag.words[word] for word in stage.model.keywords(position, count))
        for position, label in enumerate(svm.vocabulary)
    }


def sparse(
    documents: Sequence[Document],
    labels: Vocabulary,
    gold: Run,
    output: Path | None = None,
    *,
    candidates: int = 100,
    resume: bool = False,
) -> Tagger:
    """The linear SVM (3.2) over tf-idf of the documents' text (A.1.3)."""
    bag = BagOfWords.of(document.text for document in documents)
    features = bag.transform(document.text for document in documents)
    model = fit_svm(features, gold, len(labels), folder=output, resume=resume)
    return Tagger(labels, {"svm": Linear(labels, bag, model, candidates)})


@dataclass(frozen=True)
class _Material:
    """What the neural methods learn from. seen: gold without the held-out documents. hard: the SVM's mistakes."""

    documents: Sequence[Document]
    labels: Vocabulary
    gold: Run
    seen: Run
    hard: Run
    keywords: Keywords

    def learn(
        self, config: Config, start: DescriptionRetriever | None, output: Path | None, *, resume: bool
    ) -> DescriptionRetriever:
        """Train the encoder and its heads. start: a trained classifier to go on from (A.1.5)."""
        from tagwright.training.loop import train

        recipe, first = config.recipe, config.kind == "classifier"
        model = encoder(start.documents.model if start else load(config))
        texts = [] if first else label_texts(self.labels, self.keywords, config.stage, tokenizer_of(model))
        hard = self.gold.top(0) if first else self.hard
        sampler = LabelSampler(self.gold, hard, len(self.labels), config.sampled_labels or recipe.sampled, config.seed)
        heads = Heads.start(
            width(model),
            len(self.labels),
            sampler.share,
            texts=not first,
            classifiers=config.kind in ("classifier", "depl+cls"),
            seed=config.seed,
        )
        if start:
            heads.go_on_from(*_learnt(start))
        pairs = labelled_documents(self.documents, self.gold, seed=config.seed)
        plan, rates = (recipe.classifier, recipe.classifier_rates) if first else (recipe.dual, recipe.dual_rates)
        seen = np.bincount(self.seen.labels, minlength=len(self.labels)) > 0
        objective = DualEncoder(heads, sampler, texts, rates, seen, config.apart, config.label_pooling)
        training = config.training(plan, plan, pairs)
        if first and config.epochs is None and config.steps is None:
            training = replace(training, steps=max(LEAST_STEPS, count_steps(pairs, training).steps or 1))
        train(model, pairs, objective, training, output, resume=resume)
        return self._stage(config, model, heads)

    def _stage(self, config: Config, model: SentenceTransformer, heads: Heads) -> DescriptionRetriever:
        """Each tower with its own pooler; a label without a training document has no free vector."""
        free = None
        if heads.classifiers is not None:
            seen = np.unique(self.seen.labels)
            vectors: Floats = heads.classifiers.detach().cpu().numpy()[seen]
            free = ClassifierWeights(seen, Vectors.of(vectors, config.stage.storage))
        documents = BiEncoder.of(tower(model, heads.document, "cls"))
        texts = BiEncoder.of(tower(model, heads.label, config.label_pooling)) if heads.label else None
        return DescriptionRetriever(self.labels, documents, texts, free, self.keywords, config.stage)


def _learnt(classifier: DescriptionRetriever) -> tuple[torch.nn.Linear, Floats]:
    """The document pooler of a trained classifier, and (labels, dim) its vectors, their mean for labels without."""
    assert classifier.free is not None
    known = classifier.free.vectors[np.arange(len(classifier.free.labels))]
    vectors: Floats = np.repeat(known.mean(0, keepdims=True), len(classifier.labels), axis=0)
    vectors[classifier.free.labels] = known
    return pooler_of(classifier.documents.model), vectors


def _stage_of(classifier: Tagger) -> DescriptionRetriever:
    stage = classifier.stages.get("classifier")
    if not isinstance(stage, DescriptionRetriever) or stage.free is None:
        raise ConfigError(f"the tagger has the stages {', '.join(classifier.stages)}; expected one called classifier")
    return stage


def _without_held_out(gold: Run, config: Config) -> Run:
    validation = np.array([is_validation(i, config.validation, config.seed) for i in range(len(gold))], np.bool_)
    return gold.keep(~validation[gold.rows])


def _mistakes(svm: Tagger | None, documents: Sequence[Document], gold: Run, count: int) -> Run:
    """The SVM's first wrong labels of each document."""
    if svm is None or not count:
        return gold.top(0)
    stage, depth = _svm_of(svm), count + int(np.diff(gold.indptr).max(initial=0))
    features = (stage.bag.transform(document.text for document in batch) for batch in batches(documents))
    return hard_negatives(Run.concat([stage.model.scores(each, depth) for each in features]), gold, count)


def _svm_of(tagger: Tagger) -> Linear:
    stage = tagger.stages.get("svm")
    if not isinstance(stage, Linear):
        raise ConfigError(f"the tagger has the stages {', '.join(tagger.stages)}; expected one called svm")
    return stage
