"""RTS: contrast titles and randomly cut segments of the same text, then search the nearest labels (Zhang et al., 2022).

"Structural Contrastive Representation Learning for Zero-shot Multi-label Text Classification". No label of a document
is read, and no stage but the encoder is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tagwright.core.checked import Positive
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.papers.pairs import RtsOptions, rts_pairs
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.training.encoder import RetrievalOptions, load, settle, train_model
from tagwright.training.objectives import Loss, LossName
from tagwright.training.shared_work import shared_dense
from tagwright.types import Document, PairSource

TRANSFORMER = TrainingPlan(batch=384, epochs=10, learning_rate=5e-5)
"""Table 3, LF-Amazon-131K, with AdamW as in the paper (4.2.3). The rate rises first, for a tenth of the steps, and then
falls to nothing, where the paper lets it fall to a tenth: see `paper`."""

STATIC = TrainingPlan(batch=1024, epochs=4, learning_rate=1e-2, weight_decay=0.0)
"""For a static encoder; chosen by the validation loss on one corpus. The rate is far above a transformer's because a
token's vector moves only with the texts that hold it. Weight decay would shrink tokens that no text holds."""


@dataclass(frozen=True, kw_only=True)
class Config(RtsOptions, RetrievalOptions):
    """The choices of RTS; the options of the pairs are in `RtsOptions`, those of the encoder in `RetrievalOptions`.

    pooling: MiniLM averages its tokens, as in its training; the paper's MPNet uses its CLS token (3.2.3).
    """

    temperature: Positive = 0.05
    "tau of Eq. 1."
    groups: bool = True
    """False-negative masking: two segments of one document are not each other's negatives. Eq. 1 does not mask them:
    False is the paper's loss, and measures worse (page "RTS")."""
    loss: LossName = "info_nce"
    """Eq. 1; "symmetric": the mean of it and of its counterpart from positives to anchors. `fit` also takes
    a function."""
    training: TrainingConfig = TrainingConfig()
    "How to train; unset values are those of `TRANSFORMER` or `STATIC`."


def paper() -> Config:
    """The settings of Table 3 for LF-Amazon-131K (4.2.3); the paper states neither warm-up, weight decay nor length.

    Its encoder is the base version of MPNet. For encyclopedia articles it has min_words 80, max_words 160, no title
    pairs, a batch of 256, 5 epochs and a learning rate of 5e-8.
    """
    return Config(
        encoder="microsoft/mpnet-base",
        pooling="cls",
        groups=False,
        full_shuffle=True,
        label_text="text",
        training=TrainingConfig(
            batch=384, epochs=10, learning_rate=5e-5, warmup=0.0, decay=0.9, clip=0.0, dropout="all", validation=0.0
        ),
    )


def published_code() -> Config:
    """What train.py of the authors has instead: a trained MPNet, 160 tokens, names alone, and (title, title) pairs."""
    return replace(
        paper(), encoder="sentence-transformers/all-mpnet-base-v1", max_length=160, self_pairs=True, label_text="name"
    )


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    *,
    loss: Loss | None = None,
    pairs: PairSource | None = None,
) -> Tagger:
    """Train on the text of documents and labels. steps: the store of the training.

    loss: in place of that of config, a function of anchors (batch, dim), positives (batch, dim) and the groups of the
    pairs (batch,), which returns a scalar: see `papers.losses`. pairs: in place of those of RTS, a function of the
    epoch that yields them, with a seed of its own. Raises ConfigError when documents and config do not fit, before
    anything is loaded; ModelError without encoder.
    """
    from tagwright.papers.losses import in_batch

    pairs = pairs or rts_pairs(documents, labels, config, seed=config.training.seed)  # 3.2.1, 3.2.2
    plan = settle(config.training, STATIC if config.is_static else TRANSFORMER, pairs)
    # A title is paired with the text below it: it stands for a label, which is searched.
    objective = in_batch(
        config.temperature, groups=config.groups, roles=("document", "query"), loss=loss or config.loss
    )
    encoder = train_model(load(config, plan.seed), pairs, objective, plan, steps)
    return Tagger(labels, {"dense": shared_dense(labels, encoder, config.dense)})  # 3.2.4
