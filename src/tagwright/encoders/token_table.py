"""Compute static encoders without torch, which takes a second to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagwright.encoders.architecture import Architecture, read_modules
from tagwright.encoders.layers import Map, applied, read_layers
from tagwright.encoders.prompts import NONE, Prompts, Role
from tagwright.encoders.weights import read_tensors
from tagwright.errors import ModelError
from tagwright.types import Floats, Ints, Longs

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CHUNK = 4096
"Texts whose tokens are in memory at a time."


class TokenTable:
    """tokenizer: without padding. table: (tokens, dim) float32, their vectors. after: maps of the means."""

    def __init__(self, tokenizer: Tokenizer, table: Floats, prompts: Prompts = NONE, after: Sequence[Map] = ()) -> None:
        self.tokenizer, self.table, self.prompts, self.after = tokenizer, table, prompts, after
        self.dim = applied(after, np.zeros((1, table.shape[1]), np.float32)).shape[1]

    @classmethod
    def read(cls, folder: Path, architecture: Architecture) -> TokenTable | None:
        """Read a static encoder in the sentence-transformers format; None if its tensors have other names or formats.

        Raises ModelError when its files are damaged.
        """
        place = folder / read_modules(folder)[0][1]
        weights, tokens = place / "model.safetensors", place / "tokenizer.json"
        if not weights.is_file() or not tokens.is_file():
            return None
        tensors = read_tensors(weights)
        if list(tensors) != ["embedding.weight"]:
            return None
        table = tensors["embedding.weight"]
        tokenizer = read_tokenizer(tokens)
        if table.ndim != 2 or len(table) < tokenizer.get_vocab_size():
            raise ModelError(f"{weights}: damaged (it has fewer vectors than tokens); get the model again")
        after = read_layers(folder, architecture)
        return None if after is None else cls(tokenizer, table, architecture.prompts, after)

    def __call__(
        self, texts: Sequence[str], done: Callable[[int], object] = lambda _: None, role: Role | None = None
    ) -> Floats:
        """(texts, dim) means, zero for a text without tokens. done: told how many texts were encoded since last time.

        role: selects the prompt before the texts. Raises ModelError for a token without a vector.
        """
        prompt, parts = self.prompts.of(role), [np.zeros((0, self.dim), np.float32)]
        for start in range(0, len(texts), _CHUNK):
            chunk = [prompt + text for text in texts[start : start + _CHUNK]]
            parts.append(self._means(chunk))
            done(len(chunk))
        return np.concatenate(parts)

    def _means(self, texts: list[str]) -> Floats:
        from scipy.sparse import csr_array

        tokens, lengths = self._tokens(texts)
        ends = np.concatenate(([0], lengths.cumsum())).astype(np.int32)
        if tokens.max(initial=-1) >= len(self.table):  # the product reads whatever lies in memory there
            raise ModelError("the encoder's tokenizer is damaged (it has tokens without a vector); get the model again")
        ones = np.ones(len(tokens), np.float32)
        vectors: Floats = csr_array((ones, tokens, ends), (len(texts), len(self.table))) @ self.table
        vectors /= np.maximum(lengths, 1)[:, None]
        return applied(self.after, vectors)

    def _tokens(self, texts: Sequence[str]) -> tuple[Ints, Longs]:
        """The tokens of all texts, and (texts,) how many each has; those of a piece between spaces are computed once.

        BERT's tokenizer splits at each space, so that the tokens of a text are those of its pieces.
        """
        parts = [type(part).__name__ for part in (self.tokenizer.normalizer, self.tokenizer.pre_tokenizer)]
        if parts != ["BertNormalizer", "BertPreTokenizer"] or self.tokenizer.truncation:
            return self._tokens_of_each(texts)
        split = [text.split(" ") for text in texts]
        places = {piece: place for place, piece in enumerate(dict.fromkeys(chain.from_iterable(split)))}
        tokens, lengths = self._tokens_of_each(list(places))
        sizes = np.fromiter(map(len, split), np.int64, len(split))
        pieces = np.fromiter(map(places.__getitem__, chain.from_iterable(split)), np.int64, int(sizes.sum()))
        counts = lengths[pieces]
        before = np.concatenate([[0], counts.cumsum()])  # tokens before each piece, and in all
        source = np.repeat((lengths.cumsum() - lengths)[pieces] - before[:-1], counts) + np.arange(before[-1])
        return tokens[source], np.diff(before[np.concatenate([[0], sizes.cumsum()])])

    def _tokens_of_each(self, texts: Sequence[str]) -> tuple[Ints, Longs]:
        with no_panic():
            ids = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        return np.fromiter(chain.from_iterable(ids), np.int32, int(lengths.sum())), lengths


@contextmanager
def no_panic() -> Iterator[None]:
    """Raise ModelError where the tokenizers library panics, as in a regular expression that does not come to an end."""
    try:
        yield
    except BaseException as error:  # what a panic becomes is no Exception, and cannot be imported
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the encoder's tokenizer is damaged ({error}); get the model again") from None


def read_tokenizer(file: Path) -> Tokenizer:
    """Read a tokenizer.json, to be used without padding. Raises ModelError when it is damaged."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library has no error class for it
        raise ModelError(f"{file}: damaged ({error}); get the model again") from error
    tokenizer.no_padding()
    return tokenizer
