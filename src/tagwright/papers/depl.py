"""DEPL: retrieve labels by texts that a linear classifier has written for them (Zhang et al., 2023).

"Long-tailed Extreme Multi-label Text Classification by the Retrieval of Generated Pseudo Label Descriptions". Four
methods for documents with labels: the dense classifier, DE-ret by names alone, DEPL by names and keywords (3.3), and
DEPL+cls, which adds a classifier (3.5). The SVM that finds the keywords (3.2) is in `stages.linear.svm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np

from tagwright.core.checked import AtLeastOne, AtLeastZero, Range
from tagwright.core.steps import Steps
from tagwright.data.gold import gold_of_texts
from tagwright.data.keywords import Keywords
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError
from tagwright.papers.descriptions import (
    ClassifierWeights,
    DescriptionRetriever,
    DescriptionRetrieverOptions,
    encoder,
    label_texts,
    side,
    tokenizer_of,
)
from tagwright.papers.label_objectives import DualEncoder, Heads, LabelSampler, hard_negatives, labelled_documents
from tagwright.stages.dense.index import Search, Vectors
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import SvmOptions, train_linear
from tagwright.tagger import Tagger
from tagwright.training.batching import is_validation
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.training.encoder import EncoderOptions, count_steps, load_untrained, settle
from tagwright.training.shared_work import all_gather, is_single_process, shared_labels, shared_run
from tagwright.types import Document, Floats, Ints, Run

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

S = TypeVar("S", Linear, DescriptionRetriever)


Rates: TypeAlias = tuple[float, float]
"The learning rates of poolers and of classifier weights, relative to the encoder's (A.1.3)."

Recipe: TypeAlias = tuple[TrainingPlan, Rates, TrainingPlan, Rates, int]
"How one kind of encoder is trained, first as a classifier, then as a dual encoder; last the labels of a batch."

TRANSFORMER: Recipe = (
    TrainingPlan(batch=32, epochs=10, learning_rate=5e-5, dropout="all", clip=1e3, validation=0.0),
    (2.0, 40.0),
    TrainingPlan(batch=32, epochs=10, learning_rate=1e-5, dropout="all", clip=1e3, validation=0.0),
    (10.0, 10.0),
    500,
)
"""A.1.3: rates 5e-5, 1e-4 and 2e-3 for the classifier, then 1e-5 and 1e-4, here of AdamW with warm-up and decay, the
usual way to train a BERT. Epochs, batch and optimiser are not given there. Gradients are those of a sum over labels,
and so is the length to which they are cut. No documents are for validation: the epochs are few, and a label with one
document would lose it."""

STATIC: Recipe = (
    TrainingPlan(batch=256, epochs=4, learning_rate=1e-2, weight_decay=0.1, dropout="off", clip=1e3, validation=0.0),
    (1.0, 3.0),
    TrainingPlan(batch=256, epochs=3, learning_rate=5e-3, weight_decay=0.1, dropout="off", clip=1e3, validation=0.0),
    (1.0, 3.0),
    3072,
)
"""For a static encoder, whose vectors move only with the texts that hold a token: hence the rate. A larger batch with
more labels is faster. Rates and epochs were chosen by nDCG@5 on validation documents. Clipping would only act while the
loss, a sum over the labels of a batch, is still far off."""


@dataclass(frozen=True, kw_only=True)
class Config(EncoderOptions):
    """The choices of DEPL and of the methods that it is compared with."""

    variant: Literal["depl", "depl_cls", "de_ret", "classifier"] = "depl"
    """What retrieves labels: their names, descriptions and keywords (depl, 3.3); these and a classifier, whose
    probabilities are averaged (depl_cls, 3.5); their names alone (de_ret, Fig. 4); a classifier alone (A.1.2), which
    reads no text of a label."""
    sampled_labels: Annotated[int, Range(least=2)] | None = None
    "|S_b|, labels of a batch; None: 500 for a transformer, the paper's for many labels, or 3072 for a static one."
    unit_vectors: bool = True
    """Whether the encoder's vectors are scaled to length 1 before the linear poolers, which then start as a multiple of
    the identity, and the label pooler's bias as the mean of a trained classifier's vectors; the loss is a sum over
    labels. False is 3.3 as printed: vectors as they are, random poolers and label vectors, a mean."""
    candidates: AtLeastOne = 100
    "The number of labels to find for a document."
    hard_negatives: AtLeastZero = 10
    "The SVM's first wrong labels of each document that are in its batch (A.1.3); 0 for none."
    svm: SvmOptions = SvmOptions()
    "How the SVM is trained that finds hard negatives and keywords; the paper has the hinge loss (3.2)."
    trained_start: bool = True
    "Whether the encoder is first trained as a classifier (A.1.5)."
    label_pooling: Literal["cls", "mean"] = "mean"
    "How a transformer makes one vector of a label's text (Table 7); a static encoder always averages."
    tokens: AtLeastOne = 16
    "Tokens of a pseudo description: 8, 16 or 32 in Fig. 4."
    keywords: AtLeastZero = 20
    "Words that the SVM adds to a label's name and description (A.1.3); 0 for none."
    apart: bool = True
    """depl_cls: whether both heads have their own loss and only their probabilities are averaged. False is the paper's
    loss of the average (Eq. 4), in which a head that is confident and wrong gets no gradient."""
    training: TrainingConfig = TrainingConfig()
    """How to train, in both stages if there are two; unset values are those of `TRANSFORMER` or `STATIC`. validation: a
    share of the documents left out of training, also of the SVM's."""

    @property
    def is_classifier(self) -> bool:
        """Whether no text of a label is read."""
        return self.variant == "classifier"

    @property
    def describes(self) -> bool:
        """Whether descriptions and keywords of labels are read, and not their names alone."""
        return self.variant in ("depl", "depl_cls")

    @property
    def options(self) -> DescriptionRetrieverOptions:
        """The options for encoding a label."""
        if self.describes:
            return DescriptionRetrieverOptions(k=self.candidates, tokens=self.tokens)
        return DescriptionRetrieverOptions(k=self.candidates, names_only=not self.is_classifier)

    @property
    def recipe(self) -> Recipe:
        """How this kind of encoder is trained."""
        return STATIC if self.is_static else TRANSFORMER


def paper() -> Config:
    """The settings of DEPL (A.1.3): BERT-base, first trained as a classifier; the rates are `TRANSFORMER`'s.

    300 sampled labels are those of EURLex-4K and AmazonCat-13K; Wiki10-31K has 500, and rates of 1e-5, 1e-4 and 1e-3.
    The paper states no batch: of 16 documents, hard negatives and the 5 labels that each has there leave a fifth of the
    300 for random labels; of 32 they would leave none. Every variant has these settings; DEPL+cls has the loss
    of the average (Eq. 4).
    """
    return Config(
        encoder="bert-base-uncased",
        sampled_labels=300,
        unit_vectors=False,
        svm=SvmOptions(loss="hinge", prune=0.0),
        apart=False,
        training=TrainingConfig(batch=16, clip=0.0, dropout="all", validation=0.0),
    )


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    *,
    gold: Run | None = None,
    svm: Tagger | None = None,
    classifier: Tagger | None = None,
    keywords: Keywords | None = None,
) -> Tagger:
    """Train DEPL, DEPL+cls, DE-ret or the dense classifier, by `config.variant`, on documents with labels.

    steps: the store of the training. gold: instead of the documents' own labels, such as `confident` suggestions of
    another tagger. svm, classifier: taggers of these methods for the same documents, to avoid training them again.
    keywords: instead of the SVM's, such as edited ones. Raises ConfigError when there is nothing to learn from,
    ModelError without encoder.
    """
    known = gold_of_texts(documents, labels, gold)
    seen = without_validation(known, config.training.validation or 0.0, config.training.seed)
    learn = partial(_learn, documents, labels, known, seen)
    if config.is_classifier:  # A.1.2
        return Tagger(labels, {"classifier": learn(config, steps.within("classifier"))})
    wanted = config.keywords if config.describes and keywords is None else 0
    linear = _stage_of(svm, "svm", Linear) if svm else None
    if linear is None and (wanted or config.hard_negatives):  # 3.2
        linear = train_linear(documents, labels, seen, options=config.svm, steps=steps)
    if linear and wanted:
        keywords = linear.keywords(wanted)
    hard = _mistakes(linear, documents, known, config.hard_negatives)
    words = (keywords or {}) if config.describes else {}
    start = _stage_of(classifier, "classifier", DescriptionRetriever).with_labels(labels) if classifier else None
    if start is None and config.trained_start:
        start = learn(replace(config, variant="classifier"), steps.within("classifier"))
    return Tagger(labels, {"dual": learn(config, steps.within("dual"), hard, words, start)})  # 3.3


def keywords_of(svm: Tagger, count: int) -> dict[str, tuple[str, ...]]:
    """The `count` words of largest weight of each label (3.2), from a tagger of the method svm."""
    return _stage_of(svm, "svm", Linear).keywords(count)


def _learn(
    documents: Sequence[Document],
    labels: Vocabulary,
    gold: Run,
    seen: Run,
    config: Config,
    steps: Steps,
    hard: Run | None = None,
    keywords: Keywords | None = None,
    start: DescriptionRetriever | None = None,
) -> DescriptionRetriever:
    """Train the encoder and its heads.

    seen: gold without the validation documents. hard: the SVM's mistakes. start: a trained classifier to initialise
    them (A.1.5).
    """
    from tagwright.training.loop import train

    own, seed, words = config.training, config.training.seed, keywords or {}
    first, recipe = config.is_classifier, config.recipe
    model = encoder((start.documents if start else load_untrained(config)).model)
    module: Any = model[0]
    texts = [] if first else label_texts(labels, words, config.options, tokenizer_of(model))
    size = config.sampled_labels or recipe[-1]
    sampler = LabelSampler(gold, gold.top(0) if hard is None else hard, len(labels), size, seed)
    heads = Heads.start(
        module.get_embedding_dimension(),
        len(labels),
        sampler.share,
        texts=not first,
        classifiers=first or config.variant == "depl_cls",
        seed=seed,
        unit=config.unit_vectors,
    )
    if start:
        heads.init_from(*_read_learnt(start))
    pairs = labelled_documents(documents, gold, seed=seed)
    plan, rates = recipe[:2] if first else recipe[2:4]
    has_documents = np.bincount(seen.labels, minlength=len(labels)) > 0
    apart = config.apart if config.variant == "depl_cls" else True
    objective = DualEncoder(heads, sampler, texts, rates, has_documents, apart, _pooling(config))
    plan = settle(own, plan, pairs)
    if first and own.epochs is None and own.steps is None:
        # its label vectors are randomly initialised; a dual encoder, which reads texts, needs far fewer batches
        plan = replace(plan, steps=max(400, count_steps(pairs, plan).steps or 1))
    train(model, pairs, objective, plan, steps)
    return _stage(labels, config, model, heads, np.unique(seen.labels), words)


def _stage(
    labels: Vocabulary, config: Config, model: SentenceTransformer, heads: Heads, seen: Ints, keywords: Keywords
) -> DescriptionRetriever:
    """Each encoder with its own pooler. seen: labels with a training document; others have no classifier weights."""
    weights = None
    if heads.classifiers is not None:
        vectors: Floats = heads.classifiers.detach().cpu().numpy()[seen]
        weights = ClassifierWeights(seen, Vectors.of(vectors, config.options.storage))
    unit, options, search = config.unit_vectors, config.options, None
    documents = BiEncoder.of(side(model, heads.document, "cls", unit=unit))
    texts = BiEncoder.of(side(model, heads.label, _pooling(config), unit=unit)) if heads.label else None
    if texts and not is_single_process():  # the processes share the labels' texts
        mine = DescriptionRetriever(shared_labels(labels), texts, texts, None, keywords, options)
        assert mine.search
        search = Search(Vectors(all_gather(mine.search.vectors.codes)), "auto")
    return DescriptionRetriever(labels, documents, texts, weights, keywords, options, search=search)


def _pooling(config: Config) -> Literal["cls", "mean"]:
    return "mean" if config.is_classifier else config.label_pooling


def _read_learnt(classifier: DescriptionRetriever) -> tuple[torch.nn.Linear, Floats]:
    """The document pooler of a trained classifier, and (labels, dim) its vectors, their mean for labels without."""
    assert classifier.weights is not None
    known = classifier.weights.vectors[np.arange(len(classifier.weights.labels))]
    vectors: Floats = np.repeat(known.mean(0, keepdims=True), len(classifier.labels), axis=0)
    vectors[classifier.weights.labels] = known
    model: Any = classifier.documents.model
    return model[-1].linear, vectors


def _stage_of(tagger: Tagger, name: str, kind: type[S]) -> S:
    stage = tagger.stages.get(name)
    if not isinstance(stage, kind):
        raise ConfigError(f"the tagger has the stages {', '.join(tagger.stages)}; expected one called {name}")
    return stage


def _mistakes(stage: Linear | None, documents: Sequence[Document], gold: Run, count: int) -> Run:
    """The SVM's first wrong labels of each document."""
    if stage is None or not count:
        return gold.top(0)
    depth = count + int(np.diff(gold.indptr).max(initial=0))
    ranking = shared_run(documents, lambda batch: stage.decisions(stage.read(batch), depth))
    return hard_negatives(ranking, gold, count)


def without_validation(gold: Run, share: float, seed: int) -> Run:
    """The labels of all but the validation documents: see `batching.is_validation`."""
    validation = np.array([is_validation(i, share, seed) for i in range(len(gold))], np.bool_)
    return gold.keep(~validation[gold.rows])
