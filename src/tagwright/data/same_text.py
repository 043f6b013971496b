"""Find documents with the same text: to train on one and measure on the other overestimates a tagger."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from tagwright.types import Document, Longs


def text_key(document: Document) -> bytes:
    """Return the same key for documents whose texts differ only in white space; ids are ignored."""
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
