"""The training text of FuTex: a random paragraph of the full text, redrawn each epoch (3.1).

`metadata_triples(documents, neighbours, count, view=one_paragraph())` gives p, p+ and p- of Eq. 1 to 3 for a
cross-encoder, p- never from a neighbour; `metadata_pairs` gives p and p+ for a bi-encoder.
"""

from __future__ import annotations

import numpy as np

from tagwright.data.paragraphs import SHORTEST, is_long
from tagwright.errors import ConfigError
from tagwright.training.metadata_pairs import View
from tagwright.training.pairs import Key
from tagwright.types import Document


def one_paragraph(*, abstract: float = 0.5, shortest: int = SHORTEST) -> View:
    """Title and abstract with this probability, otherwise any paragraph (including title and abstract), uniformly.

    abstract: 0 as FuTex 3.1 has it; 0.5 as its published code does. shortest: words; shorter paragraphs are left out.
    The same document and key give the same paragraph; a document without text gives "". Raises ConfigError.
    """
    if not 0 <= abstract <= 1:
        raise ConfigError(f"abstract is {abstract}, expected a probability from 0 to 1")

    def draw(document: Document, key: Key) -> str:
        rng, first = np.random.default_rng(key), document.title_and_abstract.strip()
        if first and rng.random() < abstract:
            return first
        texts = [text for text in (first, *(text for part in document.sections for text in part.paragraphs)) if text]
        drawn: list[str] = [texts[place] for place in rng.permutation(len(texts)).tolist()]
        # Only drawn paragraphs are counted: counting the words of a whole paper would dominate the time.
        kept = next((text for text in drawn if text is first or is_long(text, shortest)), None)
        return (kept or next(iter(drawn), "")).strip()

    return draw
