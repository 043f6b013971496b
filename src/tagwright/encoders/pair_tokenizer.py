"""Tokenise pairs of texts for a cross-encoder; no text is tokenised twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.encoders.tokens import without_limits
from tagwright.encoders.transformer import SECOND, tokenize
from tagwright.types import Longs

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Pairs: TypeAlias = tuple[Longs, Callable[[int], Longs]]
"""(pairs,) the number of tokens of each pair, and a function that gives the ids with types (see transformer.SECOND) of
one, (tokens,), marks included."""


class PairTokenizer:
    """Joins texts as a tokenizer joins two: BERT's makes [CLS] first [SEP] second [SEP].

    max_length: tokens of a pair, marks included.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int) -> None:
        self.tokenizer = without_limits(tokenizer)
        example = self.tokenizer.encode("a", "a")
        ids = np.array(example.ids, np.int64) + SECOND * np.array(example.type_ids, np.int64)
        first, second = ([i for i, text in enumerate(example.sequence_ids) if text == which] for which in (0, 1))
        self.before, self.between, self.after = ids[: first[0]], ids[first[-1] + 1 : second[0]], ids[second[-1] + 1 :]
        self.second_type = ids[second[0]] // SECOND * SECOND
        self.room = max_length - len(self.before) - len(self.between) - len(self.after)
        self.tokenizer.enable_truncation(self.room)

    def __call__(
        self,
        firsts: Sequence[str],
        seconds: Sequence[str],
        rows: NDArray[np.integer],
        columns: NDArray[np.integer],
        first_tokens: int | None = None,
    ) -> Pairs:
        """Pair i is firsts[rows[i]] with seconds[columns[i]]. first_tokens: the most tokens of a first text."""
        first, rows = self._tokenize(firsts, rows)
        second, columns = self._tokenize(seconds, columns)
        first, second = [ids[:first_tokens] for ids in first], [ids + self.second_type for ids in second]
        lengths = [np.fromiter(map(len, ids), np.int64, len(ids)) for ids in (first, second)]
        kept, second_kept = longest_first(lengths[0][rows], lengths[1][columns], self.room)

        def ids(i: int) -> Longs:
            one, other = first[rows[i]][: kept[i]], second[columns[i]][: second_kept[i]]
            return np.concatenate([self.before, one, self.between, other, self.after])

        return kept + second_kept + len(self.before) + len(self.between) + len(self.after), ids

    def _tokenize(self, texts: Sequence[str], places: NDArray[np.integer]) -> tuple[list[Longs], Longs]:
        """The ids of the used texts, and their new positions."""
        used, inverse = np.unique(places, return_inverse=True)
        ids = tokenize(self.tokenizer, [texts[i] for i in used.tolist()], self.room, marks=False)
        return [np.array(text, np.int64) for text in ids], inverse


def longest_first(first: Longs, second: Longs, room: int) -> tuple[Longs, Longs]:
    """The tokens kept of each text when both share `room`: the longer is truncated until both have half.

    Exactly as the tokenizers library does. A label stays whole beside a long document, and two long documents get half
    of the room each.

    >>> longest_first(np.array([9, 9, 2]), np.array([2, 9, 3]), room=6)
    (array([4, 3, 2]), array([2, 3, 3]))
    """
    shorter = np.minimum(np.minimum(first, second), room // 2)
    longer = np.minimum(np.maximum(first, second), room - shorter)
    return np.where(first > second, longer, shorter), np.where(first > second, shorter, longer)
