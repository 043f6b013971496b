"""Cache the vectors of texts, by encoder and prompt.

$TAGWRIGHT_CACHE_DOCUMENTS=no excludes vectors of documents. They are included by default, because every evaluation and
training reads the same documents again; those read only once are removed before the labels, which every run uses.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from tagwright.core.cache import Cache, user_cache
from tagwright.types import Floats, Mask

KIND = "embeddings"

_by_default = ContextVar("_by_default", default="yes")


def keeps_documents() -> bool:
    """Whether vectors of documents are cached too: unless $TAGWRIGHT_CACHE_DOCUMENTS is no."""
    wanted = os.environ.get("TAGWRIGHT_CACHE_DOCUMENTS", _by_default.get())
    return wanted.strip().lower() not in {"no", "0", "false"}


@contextmanager
def passing_documents() -> Iterator[None]:
    """Inside this block vectors of documents are cached only if $TAGWRIGHT_CACHE_DOCUMENTS says so."""
    token = _by_default.set("no")
    try:
        yield
    finally:
        _by_default.reset(token)


class EmbeddingCache:
    """The vectors of one encoder, `dim` numbers each, kept as float16. fingerprint: identifies the encoder."""

    def __init__(self, fingerprint: str, dim: int, cache: Cache | None = None) -> None:
        self.fingerprint, self.dim = fingerprint, dim
        self.cache = cache or user_cache()

    def get(self, texts: Sequence[str], prompt: str = "") -> tuple[Floats, Mask]:
        """(texts, dim) vectors and (texts,) whether each is cached; the others are zero.

        prompt: the one they were encoded with.
        """
        vectors, known = np.zeros((len(texts), self.dim), np.float32), np.zeros(len(texts), np.bool_)
        row = dict(zip(self._keys(texts, prompt), range(len(texts)), strict=True))
        for key, half in self.cache.get(KIND, row).items():
            if len(half) == 2 * self.dim:
                vectors[row[key]], known[row[key]] = np.frombuffer(half, np.float16), True
        return vectors, known

    def put(self, texts: Sequence[str], vectors: Floats, prompt: str = "") -> None:
        """Store vectors (texts, dim) of texts with this prompt."""
        halves = map(bytes, np.asarray(vectors, np.float16))
        self.cache.put(KIND, dict(zip(self._keys(texts, prompt), halves, strict=True)))

    def _keys(self, texts: Sequence[str], prompt: str) -> list[bytes]:
        """Encoder and prompt are blake2b's key, so that no text and prompt can pass for another text."""
        apart = hashlib.blake2b(repr((self.fingerprint, prompt)).encode()).digest()
        return [
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=apart).digest() for text in texts
        ]
