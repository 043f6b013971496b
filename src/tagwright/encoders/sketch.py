"""Rough vectors of texts without computing a transformer: means of its input embeddings.

Good enough to propose labels, which the transformer then reads: a vocabulary need not be encoded before the first tag.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagwright.encoders.layers import normalize
from tagwright.encoders.static import ordinary_tokens, rarity
from tagwright.encoders.token_table import TokenTable
from tagwright.encoders.tokens import read_tokenizer
from tagwright.encoders.weights import read_tensors
from tagwright.errors import ModelError
from tagwright.types import Floats

_TABLES = ("word_embeddings.weight", "embed_tokens.weight")
"Names of the input embeddings in current transformers."


def read_sketch(folder: Path, max_length: int | None = None) -> TokenTable | None:
    """From the files of a transformer; None if they hold no table of input embeddings with such a name.

    max_length: the tokens that the transformer reads of a text, [CLS] and [SEP] among them; the sketch reads no more.
    As in `static.distil`, the embeddings are centred and weighted by rarity; special tokens have none. Vectors are of
    norm 1. Raises ModelError when the tokenizer is damaged.
    """
    weights, tokens = folder / "model.safetensors", folder / "tokenizer.json"
    if not weights.is_file() or not tokens.is_file():
        return None
    tokenizer, embeddings = read_tokenizer(tokens), _input_embeddings(weights)
    if max_length is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max(1, max_length - 2))
    used = ordinary_tokens(tokenizer)
    if embeddings is None or embeddings.ndim != 2 or len(embeddings) <= max(used, default=0):
        return None
    factors = np.zeros(len(embeddings), np.float32)
    factors[used] = 1 / max(1, len(used))
    mean = factors @ embeddings
    factors[used] = rarity(len(used))
    embeddings -= mean
    embeddings *= factors[:, None]
    return TokenTable(tokenizer, embeddings, after=[normalize])


def _input_embeddings(weights: Path) -> Floats | None:
    """(tokens, dim); None where there are none, or none that can be read, which loading the encoder itself reports."""
    try:
        found = read_tensors(weights, lambda name: name.endswith(_TABLES))
    except ModelError:
        return None
    return next(iter(found.values()), None)
