"""Make static encoders of a transformer: distilled from what it computes, or a sketch of its input embeddings.

Both have one vector a token, averaged over a text. A sketch needs no computing; it is good enough to propose labels,
which the transformer then reads: a vocabulary need not be encoded before the first tag.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagwright.core.cache import Cache, user_cache
from tagwright.core.kept_folders import kept_folder
from tagwright.core.progress import note
from tagwright.encoders.architecture import read_architecture
from tagwright.encoders.layers import normalize, read_tensors
from tagwright.encoders.model_folder import PACKAGED, STATIC, find
from tagwright.encoders.precision import resolve
from tagwright.encoders.token_table import TokenTable
from tagwright.encoders.tokens import read_tokenizer
from tagwright.encoders.transformer import Transformer
from tagwright.errors import ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer

KIND, VERSION = "static encoder", 3
"Its name in the cache; the version is increased when `distil` gives other vectors than before."


def encoder_folder(name: str) -> Path:
    """The folder of the encoder called `name`, which may be "static". Raises ModelError as `find` and `distil` do."""
    return distil_once(user_cache()) if name == STATIC else find(name)


@functools.cache
def distil_once(cache: Cache) -> Path:
    """A folder with `distil()`, for this process: others may empty the cache, in which it is kept between processes.

    Raises ModelError as `distil` does, TagwrightError when no temporary folder can be written.
    """

    def make(folder: Path) -> None:
        note(f"distilling a static encoder from {PACKAGED}, which takes some ten seconds; it is kept for later runs")
        distil(folder)

    return kept_folder(cache, KIND, str(VERSION).encode(), make)


def distil(folder: Path, name: str = PACKAGED) -> Path:
    """Write a static encoder, made of the encoder called `name`, in the sentence-transformers format, and return it.

    As model2vec does it (Tulkens and van Dongen, 2024): the transformer encodes each token alone; the vectors, at their
    own length, are centred and reduced to their 256 main directions, and weighted by how rare the token is. Always the
    same for the same encoder and machine. Special and unused tokens get zeros. folder: a new one, or an empty one.
    Raises ModelError as `find` does, and for a model that is no BERT.
    """
    source = find(name)
    architecture = read_architecture(source)
    precision = resolve("auto", quantisable=False)
    transformer = Transformer.read(source, architecture, precision) if architecture.is_bert else None
    if transformer is None:
        raise ModelError(f"{name}: is no BERT, which a static encoder is distilled from; take another one")
    # Made of vectors of length 1, it finds less: R@100 of mdn is 55.4 in place of 58.6.
    transformer.after = [layer for layer in transformer.after if layer is not normalize]
    tokenizer = read_tokenizer(source / "tokenizer.json")
    tokenizer.no_truncation()
    used = ordinary_tokens(tokenizer)
    vectors = main_directions(_encode(transformer, tokenizer, used), 256) * rarity(len(used))[:, None]
    table = np.zeros((tokenizer.get_vocab_size(), vectors.shape[1]), np.float32)
    table[used] = vectors
    TokenTable(tokenizer, table).save(folder)
    return folder


def read_sketch(folder: Path, max_length: int) -> TokenTable | None:
    """From the files of a transformer; None if they hold no table of input embeddings with such a name.

    max_length: the tokens that the transformer reads of a text, [CLS] and [SEP] among them; the sketch reads no more.
    As in `distil`, the embeddings are centred and weighted by rarity; special tokens have none. Vectors are of
    norm 1. Raises ModelError when a file is damaged.
    """
    weights, tokens = folder / "model.safetensors", folder / "tokenizer.json"
    if not weights.is_file() or not tokens.is_file():
        return None
    tokenizer, names = read_tokenizer(tokens), ("word_embeddings.weight", "embed_tokens.weight")
    embeddings = next(iter(read_tensors(weights, lambda name: name.endswith(names)).values()), None)
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


def main_directions(vectors: Floats, dim: int) -> Floats:
    """(n, at most dim): centred vectors in the coordinates of their main directions (principal components).

    The sign of a direction is chosen so that its largest coordinate is positive.

    Points on a line have one direction, here (3, 4) / 5:

    >>> main_directions(np.array([[0, 0], [3, 4], [9, 12]], np.float32), 1).round(3).tolist()
    [[-6.666999816894531], [-1.6670000553131104], [8.333000183105469]]
    """
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    projected = centred @ directions[:, ::-1][:, :dim]
    largest = projected[np.abs(projected).argmax(0), np.arange(projected.shape[1])]
    signed: Floats = (projected * np.sign(largest)).astype(np.float32)
    return signed


def rarity(tokens: int, a: float = 1e-4) -> Floats:
    """(tokens,) the weight a / (a + p) of each token (Arora et al., 2017), tokens being sorted by frequency.

    Frequencies p follow Zipf's law, 1 / rank, the first rank being 2 as in model2vec: of two tokens, 3/5 and 2/5.

    >>> rarity(2, a=0.4).round(3).tolist()
    [0.4000000059604645, 0.5]
    """
    frequency = 1 / np.arange(2, tokens + 2)
    weights: Floats = (a / (a + frequency / frequency.sum())).astype(np.float32)
    return weights


def ordinary_tokens(tokenizer: Tokenizer) -> list[int]:
    """Ids of ordinary tokens, without special and reserved ones: in transformers, frequent ones come first."""
    special = {token for token, added in tokenizer.get_added_tokens_decoder().items() if added.special}
    known = tokenizer.get_vocab().items()
    return sorted(token for text, token in known if token not in special and text[:7] != "[unused")


def _encode(transformer: Transformer, tokenizer: Tokenizer, tokens: Sequence[int]) -> Floats:
    """(tokens, dim) the transformer's output for each token alone, between the special tokens of a text."""
    empty = tokenizer.encode("").ids
    middle = (len(empty) + 1) // 2
    texts = np.empty((len(tokens), len(empty) + 1), np.int64)
    texts[:, :middle], texts[:, middle], texts[:, middle + 1 :] = empty[:middle], tokens, empty[middle:]
    return transformer.encode([texts.shape[1]] * len(texts), lambda batch: texts[batch])
