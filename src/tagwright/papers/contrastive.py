"""The baselines of MACLR and RTS by their old names: ICT is `maclr` with its four switches off, SimCSE its other pairs.

ICT, the inverse cloze task, pairs the text of a document with its title (Lee et al., 2019, as in MACLR 4.2). SimCSE
pairs a text with itself, distinguished by dropout alone (Gao et al., 2021).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tagwright.core.checked import Positive
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.papers import maclr
from tagwright.papers.pairs import Source, ict_pairs, simcse_pairs
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.training.encoder import RetrievalOptions
from tagwright.types import Document


@dataclass(frozen=True, kw_only=True)
class Config(RetrievalOptions):
    """The choices of ICT and of SimCSE: those of MACLR that they share."""

    temperature: Positive = 0.05
    "tau of Eq. 1."
    training: TrainingConfig = TrainingConfig()
    "How to train; unset values are those of MACLR, without dropout of all texts."


def paper() -> Config:
    """ICT as in the first row of MACLR's Table 4, whose other rows add to it: the settings of its Appendix A.

    MACLR and RTS compare with SimCSE too; neither states how it is trained.
    """
    return Config(**{field.name: getattr(maclr.paper(), field.name) for field in fields(Config)})


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    pairs_of: Callable[..., Source] = ict_pairs,
) -> Tagger:
    """Train on the text of the documents: ICT, or SimCSE where pairs_of is `simcse_pairs`. See `maclr.fit`."""
    options: dict[str, Any] = {field.name: getattr(config, field.name) for field in fields(Config)}
    options |= dict.fromkeys(("clustering", "label_regularisation", "encoder_pairs", "tfidf_pairs"), False)
    return maclr.fit(documents, labels, maclr.Config(**options), steps, pairs_of=pairs_of)


def fit_simcse(documents: Sequence[Document], labels: Vocabulary, config: Config, steps: Steps) -> Tagger:
    """SimCSE: train on the texts of the documents, each with itself."""
    return fit(documents, labels, config, steps, simcse_pairs)
