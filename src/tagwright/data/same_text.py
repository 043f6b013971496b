"""Find documents with the same text: one that is trained on and measured on makes a tagger look better than it is."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from tagwright.types import Document, Longs


def text_key(document: Document) -> bytes:
    """The same for documents whose texts differ in nothing but white space, whatever their ids are."""
    return blake2b(" ".join(document.text.split()).encode("utf-8", "replace"), digest_size=16).digest()


def same_texts(documents: Iterable[Document], rows: Longs) -> Longs:
    """These rows and those of all documents that have the text of one of them, in order.

    >>> bees = [Document("1", "Bees"), Document("2", "Taxes"), Document("3", "", " Bees")]
    >>> same_texts(bees, np.array([2])).tolist()
    [0, 2]
    """
    if not len(rows):
        return rows
    keys = list(map(text_key, documents))
    wanted = {keys[row] for row in rows.tolist()}
    return np.array([row for row, key in enumerate(keys) if key in wanted], np.int64)
