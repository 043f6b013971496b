"""The baselines of both papers: one kind of pair, RTS Eq. 1 (MACLR Eq. 1), and the labels nearest to a document.

ICT, the inverse cloze task, pairs the text of a document with its title (Lee et al., 2019, as in MACLR 4.2). SimCSE
pairs a text with itself, told apart by dropout alone (Gao et al., 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.stages.dense import Dense, DenseOptions, LabelText
from tagwright.tagger import Tagger
from tagwright.training.encoder_training import Learner, check_least, check_temperature, in_batch, learn
from tagwright.training.pairs import ict_pairs, simcse_pairs
from tagwright.training.training_config import Training
from tagwright.types import Document

TRANSFORMER = Training(batch=256, epochs=10, learning_rate=1e-5)
"As MACLR trains (Appendix A), which has both as baselines."

STATIC = Training(batch=1024, epochs=20, learning_rate=1e-2, weight_decay=0.0)
"For a static encoder, as in MACLR. It has no dropout: SimCSE then only drives texts apart."


@dataclass(frozen=True, kw_only=True)
class Config(Learner):
    """The choices of the baselines."""

    pairs: Literal["ict", "simcse"] = "ict"
    "What is paired."
    delete_title: bool = False
    "ICT: whether the title is cut out where the text below repeats it."
    temperature: float = 0.05
    "tau of Eq. 1."
    label_text: LabelText = "both"
    """What of a label is embedded. The papers embed its text ("text"); the vectors of name and text, averaged, keep the
    name from drowning in a description, as for plain encoders: see `DenseOptions`."""
    candidates: int = 500
    "Labels that are found for a document."

    def __post_init__(self) -> None:
        super().__post_init__()
        check_temperature(self.temperature)
        check_least(self, candidates=1)
        DenseOptions(k=self.candidates, label_text=self.label_text)
        if self.pairs not in ("ict", "simcse"):
            raise ConfigError(f'pairs is "{self.pairs}", expected ict or simcse')
        if self.pairs == "simcse" and self.delete_title:
            raise ConfigError("delete_title is on, but SimCSE has no titles; it belongs to ict")


UNUSED = {"simcse": frozenset({"delete_title"})}
"Kind of pair -> the options that have no part in it."


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    output: Path | None = None,
    *,
    resume: bool = False,
) -> Tagger:
    """Train on the text of the documents. output: an existing folder for log and checkpoint; resume from there.

    Raises ConfigError when documents and config do not fit, before anything is loaded; ModelError without encoder.
    """
    if config.pairs == "ict":
        pairs = ict_pairs(documents, delete_title=config.delete_title, seed=config.seed)
    else:
        pairs = simcse_pairs(documents, seed=config.seed)
    training = config.training(STATIC, TRANSFORMER, pairs)
    encoder = learn(config, pairs, in_batch(config.temperature), training, output, resume=resume)
    options = DenseOptions(k=config.candidates, label_text=config.label_text)
    return Tagger(labels, {"dense": Dense(labels, encoder, options)})
