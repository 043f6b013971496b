"""Store texts as memory-mapped arrays: find a text by its position, and positions by the text.

All texts stand one after the other in UTF-8, with the position where each ends. To find a text, a binary search in the
sorted checksums of all texts leads to those with its checksum, and these are compared with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from operator import eq
from typing import Any, Self, TypeVar, overload
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import ModelError
from tagwright.types import Ints, Longs

T = TypeVar("T")

CHUNK = 10_000
"Number of texts that are decoded together when all are read."


class StringTable(Sequence[str]):
    """A read-only sequence of texts, equal to any sequence of the same texts.

    text: (bytes,) uint8, all texts in UTF-8, one after the other. ends: (texts,) where each ends.

    >>> table = StringTable.of(["bees", "ants", ""])
    >>> table[1], list(table), len(table)
    ('ants', ['bees', 'ants', ''], 3)
    """

    def __init__(self, text: NDArray[np.uint8], ends: Longs) -> None:
        self._arrays = text, ends
        self._text, self._ends = memoryview(text), memoryview(ends)  # type: ignore[arg-type]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Pack texts."""
        encoded = list(map(_encode, texts))
        ends = np.fromiter(accumulate(map(len, encoded)), np.int64, len(encoded))
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def state(self) -> dict[str, Any]:
        """Return what a saved table is made of."""
        return dict(zip(("text", "ends"), self._arrays, strict=True))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the table of a saved state. Raises ValueError for one that is damaged."""
        return cls(state["text"], state["ends"])

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[str, ...]: ...
    def __getitem__(self, position: int | slice) -> str | tuple[str, ...]:
        if isinstance(position, slice):
            return tuple(self[place] for place in range(len(self))[position])
        position = range(len(self))[position]  # counts from the end if negative, and raises IndexError
        return _decode(self._text[self._ends[position - 1] if position else 0 : self._ends[position]])

    def between(self, start: int, end: int) -> list[str]:
        """Return the texts from `start` up to, not including, `end`. Their bytes are copied at once."""
        if start >= end:
            return []
        bounds = [self._ends[start - 1] if start else 0, *self._ends[start:end]]
        offset, block = bounds[0], bytes(self._text[bounds[0] : bounds[-1]])
        return [_decode(block[begin - offset : stop - offset]) for begin, stop in pairwise(bounds)]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), CHUNK):
            yield from self.between(start, min(start + CHUNK, len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


class Lookup:
    """Finds the positions of a text. sums: (texts,) uint32, sorted checksums. order: (texts,) int32, their positions.

    >>> lookup = Lookup.of(["bees", "ants", "bees"])
    >>> list(lookup.find("bees", ["bees", "ants", "bees"].__getitem__)), list(lookup.find("wasps", str))
    ([0, 2], [])
    """

    def __init__(self, sums: NDArray[np.uint32], order: Ints) -> None:
        self.arrays = sums, order
        self._sums, self._order = memoryview(sums), memoryview(order)  # type: ignore[arg-type]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Sort the checksums of all texts."""
        sums = np.fromiter((crc32(_encode(text)) for text in texts), np.uint32, len(texts))
        order = np.argsort(sums, kind="stable")  # so that `find` gives equal texts in their order
        return cls(sums[order], order.astype(np.int32))

    def find(self, text: str, text_at: Callable[[int], str]) -> Iterator[int]:
        """Yield the positions of a text, in order. text_at: position -> text, as another text may have its checksum."""
        checksum, sums = crc32(_encode(text)), self._sums
        place = bisect_left(sums, checksum)
        while place < len(sums) and sums[place] == checksum:
            if text_at(self._order[place]) == text:
                yield self._order[place]
            place += 1

    def state(self) -> dict[str, Any]:
        """Return what a saved lookup is made of: the arguments of a new one."""
        return dict(zip(("sums", "order"), self.arrays, strict=True))


class StringIndex(Mapping[str, int]):
    """A mapping of distinct texts to their positions.

    >>> index = StringIndex.of(["bees", "ants"])
    >>> index["ants"], index.get("wasps"), dict(index)
    (1, None, {'bees': 0, 'ants': 1})
    """

    def __init__(self, texts: StringTable, lookup: Lookup) -> None:
        self.texts, self._lookup = texts, lookup
        self._searches, self._positions = 0, dict[str, int]()

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Pack distinct texts."""
        return cls(StringTable.of(texts), Lookup.of(texts))

    def __getitem__(self, text: str) -> int:
        position = self.search(text)
        if position is None:
            raise KeyError(text)
        return position

    def get(self, text: str, default: T = None) -> int | T:  # type: ignore[assignment]
        """Return the position of a text, or the default, without the cost of raising KeyError.

        Once a quarter as many texts have been searched as there are, all are read into a dictionary, unless they would
        take more than some forty megabytes: by then the searches have taken as long as that reading.
        """
        if self._positions:
            return self._positions.get(text, default)
        self._searches += 1
        if len(self) < min(4 * self._searches, 1 << 18):
            self._positions = dict(zip(self.texts, range(len(self)), strict=True))
        position = self.search(text)
        return default if position is None else position

    def search(self, text: str) -> int | None:
        """Return the position of a text by its checksum, None if it is not one of the texts."""
        return next(self._lookup.find(text, self.texts.__getitem__), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def state(self) -> dict[str, Any]:
        """Return what a saved index is made of."""
        return {"texts": self.texts, "lookup": self._lookup}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the index of a saved state."""
        return cls(StringTable.from_state(state["texts"]), Lookup(**state["lookup"]))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(text: bytes | memoryview) -> str:
    try:
        return str(text, "utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ModelError(f"a saved text is damaged ({error.reason}); save the model again") from None
