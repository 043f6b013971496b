"""The baselines of both papers: one kind of pair, RTS Eq. 1 (MACLR Eq. 1), and the labels nearest to a document.

ICT, the inverse cloze task, pairs the text of a document with its title (Lee et al., 2019, as in MACLR 4.2). SimCSE
pairs a text with itself, distinguished by dropout alone (Gao et al., 2021).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tagwright.core.checked import Positive
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.papers.in_batch import in_batch
from tagwright.papers.pairs import Source, ict_pairs, simcse_pairs
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.training.encoder import RetrievalOptions, settle, train_encoder
from tagwright.training.shared_work import shared_dense
from tagwright.types import Document

TRANSFORMER = TrainingPlan(batch=256, epochs=10, learning_rate=1e-5)
"As MACLR trains (Appendix A), which has both as baselines."

STATIC = TrainingPlan(batch=1024, epochs=20, learning_rate=1e-2, weight_decay=0.0)
"For a static encoder, as in MACLR. It has no dropout: SimCSE then only moves texts apart."


@dataclass(frozen=True, kw_only=True)
class Config(RetrievalOptions):
    """The choices of ICT and of SimCSE."""

    temperature: Positive = 0.05
    "tau of Eq. 1."
    training: TrainingConfig = TrainingConfig()
    "How to train; unset values are those of `TRANSFORMER` or `STATIC`."


def paper() -> Config:
    """ICT as in the first row of MACLR's Table 4, whose other rows add to it: the settings of its Appendix A.

    MACLR and RTS compare with SimCSE too; neither states how it is trained.
    """
    return Config(
        encoder="bert-base-uncased",
        pooling="cls",
        projection=512,
        max_length=288,
        label_text="text",
        training=TrainingConfig(
            batch=256,
            steps=100_000,
            learning_rate=1e-5,
            warmup=0.1,
            weight_decay=0.0,
            dropout="all",
            validation=0.0,
        ),
    )


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    pairs_of: Callable[..., Source] = ict_pairs,
) -> Tagger:
    """Train on the text of the documents: ICT, or SimCSE where pairs_of is `simcse_pairs`.

    steps: the store of the training. Raises ConfigError when documents and config do not fit, before anything is
    loaded; ModelError without encoder.
    """
    pairs = pairs_of(documents, seed=config.training.seed)
    plan = settle(config.training, STATIC if config.is_static else TRANSFORMER, pairs)
    encoder = train_encoder(config, pairs, in_batch(config.temperature), plan, steps)
    return Tagger(labels, {"dense": shared_dense(labels, encoder, config.dense)})


def fit_simcse(documents: Sequence[Document], labels: Vocabulary, config: Config, steps: Steps) -> Tagger:
    """SimCSE: train on the texts of the documents, each with itself."""
    return fit(documents, labels, config, steps, simcse_pairs)
