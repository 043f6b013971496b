"""Baselines of MACLR and RTS: ICT is `maclr` with its four switches off, SimCSE its other pairs.

ICT, the inverse cloze task, pairs the text of a document with its title (Lee et al., 2019, as in MACLR 4.2). SimCSE
pairs a text with itself, distinguished by dropout alone (Gao et al., 2021). Both have the options of MACLR; neither
paper states how SimCSE is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tagwright.data.vocabulary import Vocabulary
from tagwright.papers import maclr
from tagwright.papers.maclr import Config
from tagwright.papers.pairs import Key, Source, group_of_document, ict_pairs, of_documents
from tagwright.tagger import Tagger
from tagwright.types import Document, Pair

__all__ = ["Config", "fit", "simcse_pairs"]


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config | None = None,
    pairs_of: Callable[..., Source] = ict_pairs,
) -> Tagger:
    """Train on the text of the documents: ICT, or SimCSE where pairs_of is `simcse_pairs`. See `maclr.fit`."""
    off: dict[str, Any] = dict.fromkeys(("clustering", "label_regularisation", "encoder_pairs", "tfidf_pairs"), False)
    return maclr.fit(documents, labels, replace(config or Config(), **off), pairs_of=pairs_of)


def simcse_pairs(documents: Sequence[Document], *, by_title: bool = True, seed: int = 0) -> Source:
    """SimCSE, a baseline of both papers: every document's text with itself, distinguished by dropout alone.

    by_title: as for `ict_pairs`. Raises ConfigError when no document has text.
    """

    def of_document(document: Document, place: int, _: Key) -> Iterator[Pair]:
        text = document.text
        if text.strip():
            yield Pair(text, text, group_of_document(document) if by_title else place)

    return of_documents(documents, of_document, seed).checked(f"none of {len(documents)} documents has any text")
