"""MACLR: train on titles, clusters and labels, then on pseudo labels of the encoder and of TF-IDF (Xiong et al., 2022).

"Extreme Zero-Shot Learning for Extreme Text Classification". `fit` reads no label of a document (EZ-XMC); `fine_tune`
continues with few known labels (FS-XMC). With its four switches off it is ICT, the inverse cloze task (Lee et al.,
2019): the first row of Table 4.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from tagwright.core.checked import AtLeastOne, Checked, Positive, Probability, Range
from tagwright.core.steps import Steps
from tagwright.data.gold import excludes_self
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError
from tagwright.papers.maclr_stage1 import ClusterSchedule, MaclrStage1
from tagwright.papers.pairs import Source, ict_pairs, labelled_pairs
from tagwright.stages.by_language import unwrap_stage
from tagwright.stages.dense import Dense
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.tagger import Tagger
from tagwright.tagger.fuse import TRAINED
from tagwright.text.language import AUTO, NONE, check
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.training.encoder import (
    RetrievalOptions,
    check_batch,
    count_steps,
    load,
    settle,
    train_model,
)
from tagwright.training.objectives import Loss
from tagwright.training.shared_work import shared_dense, shared_run
from tagwright.types import Document, Retriever, Run

TRANSFORMER = TrainingPlan(batch=256, epochs=10, learning_rate=1e-5, dropout="all")
"""Appendix A, with AdamW for its Adam. Its 100,000 steps are 87 epochs of its smallest corpus; here ten, for CPUs.
Dropout is required by Eq. 3."""

STATIC = TrainingPlan(batch=1024, epochs=20, learning_rate=1e-2, weight_decay=0.0)
"""For a static encoder, whose vectors move only with the texts that hold a token: hence the rate. A document gives one
pair, a tenth of what RTS cuts from it: hence the epochs. It has no dropout; Eq. 3 then only repels labels."""


@dataclass(frozen=True, kw_only=True)
class Config(RetrievalOptions):
    """The choices of MACLR. The four switches are the columns of Table 4.

    pooling, projection, max_length: by default the encoder's own, so that its knowledge is kept; the paper has a CLS
    token, a projection to 512 dimensions and 288 tokens (Appendix A).
    """

    clustering: bool = True
    "Multi-scale adaptive clustering (4.2.1)."
    clusters: Annotated[int, Range(least=2)] | None = None
    """K_0, the clusters at the start: 2048 in the paper on every corpus; None: one for 144 documents, as on the paper's
    smallest corpus. With no more documents than clusters, each is its own."""
    label_regularisation: bool = True
    "Eq. 3: instances are kept away from random labels."
    encoder_pairs: bool = True
    "Stage II with the encoder's first labels as pseudo labels."
    tfidf_pairs: bool = True
    "Stage II with TF-IDF's first labels as pseudo labels."
    pseudo_labels: AtLeastOne = 3
    "k, the pseudo labels of each kind (Table 10)."
    min_cosine: Annotated[float, Range(least=-1, most=1)] = -1.0
    """The least cosine of the encoder's pseudo labels. Not in the paper; its code takes inner products above 36 of
    vectors of 512 numbers between -1 and 1: cosines above 36/512."""
    sampled_labels: AtLeastOne | None = None
    "M of Eq. 3, the random labels of a step; None: as many as the batch has pairs. Not in the paper; 32 in its code."
    without_title: Probability = 0.0
    "How often the title is removed from a sentence of its context: not in the paper, 0.9 in its published code."
    groups: bool = True
    """Whether documents of one title share a cluster, and pairs of one label are not each other's negatives in Eq. 1.
    False is the paper's: every instance is its own."""
    full_shuffle: bool = False
    "As for RTS: whether all pairs of an epoch are shuffled together, in memory, as in the paper."
    language: str = AUTO
    """The language of the names, for stemming and stop words in the TF-IDF view: a code or a name ("fi", "finnish"),
    several as "de+en"; "auto" recognises it in the names, "none" turns both off."""
    temperature: Positive = 0.05
    """Cosines over 0.05, as in RTS, instead of the paper's plain inner products: labels are searched by cosine, and
    the vectors of an encoder like MiniLM have length 1, on which inner products are too flat to learn from."""
    exclude_self: bool | None = None
    """Whether a document that is a label too is excluded from its own pseudo labels. None: if most documents are
    labels."""
    training: TrainingConfig = TrainingConfig()
    "How to train in both stages; unset values are those of `TRANSFORMER` or `STATIC`."

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.language)

    @property
    def is_ict(self) -> bool:
        """Whether all four switches are off: pairs of texts and titles alone are learned, by Eq. 1."""
        return not (self.clustering or self.label_regularisation or self.encoder_pairs or self.tfidf_pairs)

    @property
    def plan(self) -> TrainingPlan:
        """How this kind of encoder is trained."""
        if self.is_static:
            return STATIC
        return replace(TRANSFORMER, dropout="same") if self.is_ict else TRANSFORMER


def paper() -> Config:
    """The settings of Appendix A: BERT-base, eight processes with 32 pairs each; no weight decay makes AdamW Adam.

    Two things cannot be said: the paper cuts labels at 64 tokens, here they are cut as instances are; and it compares
    vectors of any length by inner products, for which cosines over `temperature` stand.
    """
    return Config(
        encoder="bert-base-uncased",
        pooling="cls",
        projection=512,
        max_length=288,
        label_text="text",
        clusters=2048,
        groups=False,
        full_shuffle=True,
        language=NONE,
        exclude_self=False,
        training=TrainingConfig(
            batch=256,
            steps=100_000,
            learning_rate=1e-5,
            warmup=0.1,
            weight_decay=0.0,
            clip=0.0,
            dropout="all",
            validation=0.0,
        ),
    )


def published_code() -> Config:
    """What PECOS's examples/MACLR has instead, on eight processes: 16 pairs and 4 random labels (M) on each.

    Contexts are without their title 9 times in 10, pseudo labels are the first of each kind, gradients are clipped.
    Labels are their names. The encoder's pseudo labels have inner products above 36 (dataset.py): see `min_cosine`.
    """
    settings = paper()
    return replace(
        settings,
        sampled_labels=8 * 4,
        without_title=0.9,
        pseudo_labels=1,
        min_cosine=36 / 512,
        label_text="name",
        training=replace(settings.training, batch=8 * 16, clip=1.0),
    )


def few_shot_paper() -> FewShot:
    """The settings of Appendix A for fine-tuning with 1% of the labels; with 5% it has 10,000 steps."""
    return FewShot(
        groups=False,
        full_shuffle=True,
        training=TrainingConfig(
            steps=2_000, learning_rate=5e-6, weight_decay=0.0, clip=0.0, dropout="all", validation=0.0
        ),
    )


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    *,
    pairs_of: Callable[..., Source] = ict_pairs,
) -> Tagger:
    """Algorithm 1. steps: the store of the two stages. pairs_of: makes the pairs of Stage I.

    Raises ConfigError when documents and config do not fit, before anything is loaded; ModelError without encoder.
    """
    from tagwright.papers.losses import in_batch, in_clusters

    if config.exclude_self is None:
        config = replace(config, exclude_self=excludes_self(labels.own(documents)))
    elif config.exclude_self and not (labels.own(documents) >= 0).any():
        raise ConfigError(
            f"exclude_self is on, but none of the {len(documents)} documents has the id of a label; leave it out"
        )
    more = {"without_title": config.without_title} if config.without_title else {}  # other pairs have no such option
    pairs = pairs_of(documents, by_title=config.groups, seed=config.training.seed, **more)  # Algorithm 1, line 1
    pairs = replace(pairs, full_shuffle=config.full_shuffle)
    plan = settle(config.training, config.plan, pairs)
    if config.is_ict:
        loss = in_batch(config.temperature, groups=config.groups)
        encoder = train_model(load(config, plan.seed), pairs, loss, plan, steps)
        return Tagger(labels, {"dense": shared_dense(labels, encoder, config.dense)})
    plan = count_steps(pairs, plan)
    objective = _eq_4(pairs, len(documents), labels, config, plan)
    encoder = train_model(load(config, plan.seed), pairs, objective, plan, steps.within("stage-1"))  # lines 2 to 16
    guesses = list(_guesses(documents, labels, encoder, config))
    if guesses:
        pseudo = sum(guesses[1:], replace(guesses[0], full_shuffle=config.full_shuffle))  # line 17; grouped by label
        second = replace(settle(config.training, config.plan, pseudo), steps=plan.steps)
        loss = in_clusters(config.temperature)
        encoder = train_model(encoder.trainable(), pseudo, loss, second, steps.within("stage-2"))  # line 18
    return Tagger(labels, {"dense": shared_dense(labels, encoder, config.dense)})


@dataclass(frozen=True, kw_only=True)
class FewShot(Checked):
    """How `fine_tune` trains. Raises ConfigError for invalid values."""

    temperature: Positive = 0.05
    "As in `Config`."
    groups: bool = True
    "Whether pairs of one label are not each other's negatives; in Eq. 1 (False) they are."
    full_shuffle: bool = False
    "As in `Config`."
    training: TrainingConfig = TrainingConfig()
    "How to train; unset values are those of `FEW_TRANSFORMER` or `FEW_STATIC`."


FEW_TRANSFORMER = TrainingPlan(batch=256, epochs=20, learning_rate=5e-6, validation=0.1)
"""Appendix A. The paper's steps, 2,000 for 1% of the labels and 10,000 for 5%, are far more epochs; after twenty the
validation loss rises again. A tenth of the pairs is for validation, as few pairs overfit soon and the best weights come
early."""

FEW_STATIC = TrainingPlan(batch=256, epochs=20, learning_rate=1e-2, weight_decay=0.0, validation=0.1)
"As `STATIC`; the loss of validation pairs falls further than with a smaller rate, and then rises again."


def fine_tune(
    documents: Sequence[Document],
    _labels: Vocabulary,
    config: FewShot = FewShot(),
    steps: Steps = Steps(),
    *,
    model: Tagger,
    gold: Run,
    loss: Loss | None = None,
) -> Tagger:
    """FS-XMC (4.4): train the encoder of a tagger, over its own labels, on known labels of some documents, by Eq. 1.

    gold: labels of the documents, or a sample of them: see `sample_labels`. loss: in place of Eq. 1, a function as
    `rts.fit` takes. The given tagger is not changed, and its training record is kept. Of a tagger with a stage
    "trained", as `train --fuse` saves, that one is trained, otherwise "dense". Raises ConfigError when there is too
    little to learn from, or the tagger has neither.
    """
    from tagwright.papers.losses import in_batch

    name = TRAINED if TRAINED in model.retrievers else "dense"
    dense = unwrap_stage(model.retrievers[name]) if name in model.retrievers else None
    if not (isinstance(dense, Dense) and isinstance(dense.encoder, BiEncoder)):
        raise ConfigError(
            f"the tagger has the stages {', '.join(model.stages)}; fine-tuning needs one called dense, whose encoder "
            "is a folder or model, not an object"
        )
    pairs = labelled_pairs(documents, model.vocabulary, gold, seed=config.training.seed)
    pairs = replace(pairs, full_shuffle=config.full_shuffle)
    start = copy.deepcopy(dense.encoder.trainable())
    plan = config.training.over(FEW_STATIC if dense.encoder.is_static else FEW_TRANSFORMER)
    if config.training.batch is None:  # half of the pairs where they are fewer
        plan = replace(plan, batch=max(2, min(plan.batch, len(gold.labels) // 2)))
    check_batch(pairs, plan)
    objective = in_batch(config.temperature, groups=config.groups, loss=loss or "info_nce")
    encoder = train_model(start, pairs, objective, plan, steps)
    trained = shared_dense(model.vocabulary, encoder, dense.options)
    return replace(model, retrievers={**model.retrievers, name: trained}, training={"before": model.training})


def _eq_4(pairs: Source, documents: int, labels: Vocabulary, config: Config, plan: TrainingPlan) -> MaclrStage1:
    from tagwright.papers.losses import in_batch

    first = config.clusters or max(2, round(documents * 2048 / 294_805))  # the smallest corpus of the paper
    schedule = ClusterSchedule(first=first, documents=documents, steps=plan.steps or 1)
    return MaclrStage1(
        pair_loss=in_batch(config.temperature).pair_loss,
        pairs=pairs,
        schedule=schedule if config.clustering else None,
        labels=labels if config.label_regularisation else (),
        temperature=config.temperature,
        sampled=config.sampled_labels,
        dropout=plan.dropout == "all",
        seed=config.training.seed,
    )


def _guesses(documents: Sequence[Document], labels: Vocabulary, encoder: BiEncoder, config: Config) -> Iterator[Source]:
    """A source of pseudo pairs for each enabled view (4.3)."""
    k = config.pseudo_labels + bool(config.exclude_self)
    if config.encoder_pairs:
        dense = shared_dense(labels, encoder, replace(config.dense, k=k))
        yield _pseudo_pairs(dense, documents, labels, config, config.min_cosine)
    if config.tfidf_pairs:
        options = LexicalOptions(weighting="tfidf", k=k, stem=config.language)
        yield _pseudo_pairs(Lexical(labels, options), documents, labels, config)


def _pseudo_pairs(
    view: Retriever, documents: Sequence[Document], labels: Vocabulary, config: Config, least: float = -math.inf
) -> Source:
    run = shared_run(documents, view)
    run = run.keep(run.scores >= least)
    if config.exclude_self:
        run = run.keep(run.labels != labels.own(documents)[run.rows])
    return labelled_pairs(documents, labels, run.top(config.pseudo_labels), seed=config.training.seed)
