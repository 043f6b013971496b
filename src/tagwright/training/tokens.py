"""Tokenise texts for training: a batch as one ragged array."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tagwright.types import Longs

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REMEMBERED = 1 << 20
"Words whose tokens are cached, about 200 MB; then the cache is cleared."


@dataclass(frozen=True, eq=False)
class Tokens:
    """Texts as token ids: text i is ids[starts[i] : starts[i] + lengths[i]]. All int64; starts, lengths: (texts,)."""

    ids: Longs
    starts: Longs
    lengths: Longs

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> Tokens:
        """From a list of ids for each text.

        >>> Tokens.of([[5, 6], [], [7]]).take(np.array([2, 0])).ids.tolist()
        [7, 5, 6]
        """
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return cls(np.fromiter(chain.from_iterable(texts), np.int64, int(lengths.sum())), _starts(lengths), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: Longs) -> Tokens:
        """These texts, in this order and next to each other; a text may be taken more than once."""
        lengths = self.lengths[rows]
        starts = _starts(lengths)
        source = np.arange(int(lengths.sum())) + np.repeat(self.starts[rows] - starts, lengths)
        return Tokens(self.ids[source], starts, lengths)


Tokenize: TypeAlias = Callable[[Sequence[str]], Tokens]


def tokenizer_of(tokenizer: Tokenizer) -> Tokenize:
    """The fastest way to tokenise without truncation and without special tokens, always with the same ids."""
    if treats_words_alone(tokenizer):
        return WordTokenizer(tokenizer)
    return lambda texts: Tokens.of([e.ids for e in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)])


def treats_words_alone(tokenizer: Tokenizer) -> bool:
    """Whether the tokens of a text are those of its space-separated words, one after the other, as in BERT."""
    parts = json.loads(tokenizer.to_str())
    normalizer, pre_tokenizer = (parts.get(part) or {} for part in ("normalizer", "pre_tokenizer"))
    return (
        pre_tokenizer.get("type") in {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
        and normalizer.get("type", "Lowercase") in {"BertNormalizer", "Lowercase", "NFC", "NFKC"}
        and not any(token["content"].split() != [token["content"]] for token in parts.get("added_tokens", ()))
    )


class WordTokenizer:
    """Tokenises each different word once, and looks up all repetitions.

    For a tokenizer that `treats_words_alone`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._places: dict[str, int] = {}
        self._tokens = Tokens.of([])

    def __len__(self) -> int:
        """The number of cached words."""
        return len(self._places)

    def __call__(self, texts: Sequence[str]) -> Tokens:
        """The token ids of each text."""
        if len(self) > REMEMBERED:
            self._places, self._tokens = {}, Tokens.of([])
        split = [text.split() for text in texts]
        words = list(chain.from_iterable(split))
        places = np.fromiter(map(self._places.get, words, repeat(-1)), np.int64, len(words))
        missing = np.flatnonzero(places < 0).tolist()
        self._learn(list(dict.fromkeys(words[i] for i in missing)))
        places[missing] = [self._places[words[i]] for i in missing]
        found = self._tokens.take(places)
        ends = np.concatenate([[0], np.cumsum(found.lengths)])[np.cumsum([0, *map(len, split)])]
        return Tokens(found.ids, ends[:-1], np.diff(ends))

    def _learn(self, words: Sequence[str]) -> None:
        new = Tokens.of([e.ids for e in self.tokenizer.encode_batch_fast(words, add_special_tokens=False)])
        self._places.update(zip(words, count(len(self)), strict=False))
        known = self._tokens
        lengths = np.concatenate([known.lengths, new.lengths])
        self._tokens = Tokens(np.concatenate([known.ids, new.ids]), _starts(lengths), lengths)


def _starts(lengths: Longs) -> Longs:
    return np.cumsum(lengths) - lengths
