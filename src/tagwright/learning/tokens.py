"""Texts in, token ids out, for training: a batch of texts as one ragged array."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tagwright.types import Longs

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REMEMBERED = 1 << 20
"Words whose tokens are kept, some 200 MB; then they are forgotten and learned anew."


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
    """Whether the tokens of a text are those of its words between blanks, one after the other, as in BERT."""
    parts = json.loads(tokenizer.to_str())
    normalizer, pre_tokenizer = (parts.get(part) or {} for part in ("normalizer", "pre_tokenizer"))
    return (
        pre_tokenizer.get("type") in {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
        and normalizer.get("type", "Lowercase") in {"BertNormalizer", "Lowercase", "NFC", "NFKC"}
        and not any(token["content"].split() != [token["content"]] for token in parts.get("added_tokens", ()))
    )


class WordTokenizer(dict[str, list[int]]):
    """Tokenises each different word once: 6 times as fast as the tokenizer itself, as most words of a text are repeats.

    For a tokenizer that `treats_words_alone`. The items are words and their tokens.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.tokenizer = tokenizer

    def __call__(self, texts: Sequence[str]) -> Tokens:
        """The token ids of each text."""
        if len(self) > REMEMBERED:
            self.clear()
        return Tokens.of([list(chain.from_iterable(map(self.__getitem__, text.split()))) for text in texts])

    def __missing__(self, word: str) -> list[int]:
        self[word] = found = self.tokenizer.encode(word, add_special_tokens=False).ids
        return found


def _starts(lengths: Longs) -> Longs:
    return np.cumsum(lengths) - lengths
