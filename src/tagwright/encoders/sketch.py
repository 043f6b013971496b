"""Texts in, rough vectors out immediately: the mean of a transformer's input embeddings, without computing a layer.

Good enough to propose labels, which the transformer then reads: a vocabulary need not be encoded before the first tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagwright.encoders.static import rarity
from tagwright.types import Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TABLES = ("word_embeddings.weight", "embed_tokens.weight")
"Names of the input embeddings in current transformers."

_CHUNK = 4096


class Sketch:
    """tokenizer: one that neither pads nor truncates. table: (tokens, dim) a vector for each, zero for special ones."""

    def __init__(self, tokenizer: Tokenizer, table: Floats) -> None:
        self.tokenizer, self.table = tokenizer, table

    @classmethod
    def read(cls, folder: Path) -> Sketch | None:
        """From the files of a transformer; None if they hold no table of input embeddings with such a name.

        As in `static.distil`, the embeddings are centred and weighted by rarity.
        """
        from safetensors import SafetensorError, safe_open
        from tokenizers import Tokenizer

        weights, tokens = folder / "model.safetensors", folder / "tokenizer.json"
        if not weights.is_file() or not tokens.is_file():
            return None
        tokenizer = Tokenizer.from_file(str(tokens))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        try:
            with safe_open(weights, framework="pt") as tensors:
                name = next((name for name in tensors.keys() if name.endswith(_TABLES)), None)  # noqa: SIM118 (no mapping)
                embeddings = None if name is None else tensors.get_tensor(name).float().numpy()
        except SafetensorError:  # loading the encoder itself reports it
            return None
        if embeddings is None or embeddings.ndim != 2 or len(embeddings) < tokenizer.get_vocab_size():
            return None
        used = _ordinary(tokenizer)
        table = np.zeros_like(embeddings)
        table[used] = (embeddings[used] - embeddings[used].mean(axis=0)) * rarity(len(used))[:, None]
        return cls(tokenizer, table)

    def encode(self, texts: Sequence[str]) -> Floats:
        """(texts, dim) of norm 1; zero for a text without a known token."""
        from scipy.sparse import csr_array

        parts = [np.zeros((0, self.table.shape[1]), np.float32)]
        for start in range(0, len(texts), _CHUNK):
            chunk = list(texts[start : start + _CHUNK])
            ids = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(chunk, add_special_tokens=False)]
            indptr = np.cumsum([0, *map(len, ids)])
            flat = np.fromiter((token for each in ids for token in each), np.int64, int(indptr[-1]))
            ones = np.ones(len(flat), np.float32)
            parts.append(csr_array((ones, flat, indptr), (len(chunk), len(self.table))) @ self.table)
        vectors = np.concatenate(parts)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors


def _ordinary(tokenizer: Tokenizer) -> list[int]:
    """Ids of ordinary tokens, frequent ones first, without special and reserved ones."""
    special = {token for token, added in tokenizer.get_added_tokens_decoder().items() if added.special}
    known = sorted((token, text) for text, token in tokenizer.get_vocab().items())
    return [token for token, text in known if token not in special and not text.startswith("[unused")]
