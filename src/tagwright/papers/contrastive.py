"""The baselines of MACLR and RTS by their old names: ICT is `maclr` with its four switches off, SimCSE its other pairs.

ICT, the inverse cloze task, pairs the text of a document with its title (Lee et al., 2019, as in MACLR 4.2). SimCSE
pairs a text with itself, distinguished by dropout alone (Gao et al., 2021). Both have the options of MACLR; neither
paper states how SimCSE is trained.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.papers import maclr
from tagwright.papers.maclr import Config, paper
from tagwright.papers.pairs import Source, ict_pairs, simcse_pairs
from tagwright.tagger import Tagger
from tagwright.types import Document

__all__ = ["Config", "fit", "fit_simcse", "paper"]


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config | None = None,
    steps: Steps = Steps(),
    pairs_of: Callable[..., Source] = ict_pairs,
) -> Tagger:
    """Train on the text of the documents: ICT, or SimCSE where pairs_of is `simcse_pairs`. See `maclr.fit`."""
    off: dict[str, Any] = dict.fromkeys(("clustering", "label_regularisation", "encoder_pairs", "tfidf_pairs"), False)
    return maclr.fit(documents, labels, replace(config or Config(), **off), steps, pairs_of=pairs_of)


def fit_simcse(documents: Sequence[Document], labels: Vocabulary, config: Config, steps: Steps) -> Tagger:
    """SimCSE: train on the texts of the documents, each with itself."""
    return fit(documents, labels, config, steps, simcse_pairs)
