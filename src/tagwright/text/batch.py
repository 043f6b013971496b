"""The words of a batch of texts as numbers, so that what is known of a word is looked up once for all its places."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np

from tagwright.text.words import Known, is_broken, is_unusual, raw_words
from tagwright.types import Document, Ints, Longs

V = TypeVar("V")

WORDS = 1 << 18
"The most words of which a cache knows something."


class Numbered(NamedTuple):
    """Texts by their words. numbers: (words of all texts,) places in `words`; ends: (texts,) where each text ends.

    words: as they are written, each once.
    """

    words: Sequence[str]
    numbers: Ints
    ends: Longs

    @classmethod
    def of(cls, texts: Iterable[str], known: Known | None = None, *, plain: bool = False) -> Self:
        """Number the words of texts. known, plain: as in `raw_words`.

        >>> Numbered.of(["Bees, bees", "Old bees"])
        Numbered(words=['Bees', 'bees', 'Old'], numbers=array([0, 1, 2, 1], dtype=int32), ends=array([2, 4]))
        """
        places, numbers, ends = defaultdict[str, int](count().__next__), array("i"), array("q")
        for text in texts:
            numbers.extend(map(places.__getitem__, raw_words(text, known, plain=plain)))
            ends.append(len(numbers))
        return cls(list(places), np.array(numbers, np.int32), np.array(ends, np.int64))

    def between(self, first: int, end: int) -> Numbered:
        """These texts only.

        >>> Numbered.of(["Bees", "Old bees"]).between(1, 2)
        Numbered(words=['Bees', 'Old', 'bees'], numbers=array([1, 2], dtype=int32), ends=array([2]))
        """
        start = int(self.ends[first - 1]) if first else 0
        ends = self.ends[first:end]
        return Numbered(self.words, self.numbers[start : int(ends.max(initial=start))], ends - start)


class Batch(list[Document]):
    """Documents that several stages read. The words of a text are numbered once for all of them."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        super().__init__(documents)
        self._divided = dict[Callable[[Document], str], dict[str, tuple[Longs, Batch]]]()
        self._numbered = dict[tuple[tuple[str, ...], Known | None, bool], Numbered]()

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Batch:
        """Return the documents as a batch: as they are where they are one."""
        return documents if isinstance(documents, Batch) else cls(documents)

    def divided(self, by: Callable[[Document], str]) -> dict[str, tuple[Longs, Batch]]:
        """Return the documents by what a function says of them, with their places, once for all stages."""
        if by not in self._divided:
            rows = defaultdict[str, list[int]](list)
            for row, document in enumerate(self):
                rows[by(document)].append(row)
            self._divided[by] = {
                key: (np.array(places, np.int64), Batch(map(self.__getitem__, places))) for key, places in rows.items()
            }
        return self._divided[by]

    def words(self, texts: Iterable[str], known: Known | None = None, *, plain: bool = False) -> Numbered:
        """Return the words of these texts of the documents. known, plain: as in `raw_words`."""
        some = tuple(texts)
        plain = plain or not any(map(is_unusual, some))  # which finds the same words: all stages share them
        key = some, known if not plain and any(map(is_broken, some)) else None, plain
        if key not in self._numbered:
            self._numbered[key] = Numbered.of(some, key[1], plain=plain)
        return self._numbered[key]


class WordCache(Generic[V]):
    """Caches a function of words, which is asked for all new ones at once; emptied when full. Threads may share it."""

    def __init__(self, function: Callable[[Sequence[str]], Iterable[V]], size: int = WORDS) -> None:
        self._function, self._size, self._known = function, size, dict[str, V]()

    def __call__(self, words: Sequence[str]) -> list[V]:
        """Return what the function says of each word."""
        known = self._known
        new = list(dict.fromkeys(word for word in words if word not in known))
        if len(known) + len(new) > self._size:
            self._known = known = {}  # another thread may still read the old one
            new = list(dict.fromkeys(words))
        known.update(zip(new, self._function(new), strict=True))
        return list(map(known.__getitem__, words))
