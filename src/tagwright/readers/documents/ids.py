"""Tell documents with the same id apart, where the ids come from a catalogue or a publisher and not from the user.

Exports repeat ids: harvests overlap, and a record that is too long is split into several of the same number.
"""

import logging
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from heapq import merge

from tagwright.core.checked import shown
from tagwright.core.display import many
from tagwright.readers.documents.records import Located

_log = logging.getLogger(__name__)
_MOST = 1 << 16
"Hashes that are looked up in a set before they join the sorted ones."


class UniqueIds:
    """The ids of the documents that are read together, in the order of their files."""

    def __init__(self) -> None:
        self._seen = _Seen()
        self._first, self._repeated = "", 0

    def told_apart(self, documents: Iterator[Located], file: str) -> Iterator[Located]:
        """The documents of a file; the id of an earlier one is followed by the place, as in `1#3`.

        Ids that are the name of the file are left as they are: only a file that is read twice repeats them.
        """
        for place, document in documents:
            own, number = document.id, place or 2
            if own == file or own.startswith(f"{file}#"):
                yield place, document
                continue
            while not self._seen.add(own):
                own, number = f"{document.id}#{number}", number + 1
            if own != document.id:
                self._repeated += 1
                at = f"{file}:{place}" if place else file
                self._first = self._first or (
                    f"{at}: the id {shown(document.id)} is also that of an earlier document; here it is {shown(own)}"
                )
            yield place, document if own == document.id else replace(document, id=own)

    def report(self) -> None:
        """Log how many ids were repeated, and the first of them."""
        if self._repeated:
            more = f" (and so for {many(self._repeated - 1, 'other document')})" if self._repeated > 1 else ""
            _log.warning("%s%s", self._first, more)


class _Seen:
    """A set of texts, as hashes: 8 bytes of each are kept."""

    def __init__(self) -> None:
        self._sorted, self._new = array("q"), set[int]()

    def add(self, text: str) -> bool:
        """Whether the text is new."""
        value = hash(text)
        at = bisect_left(self._sorted, value)
        if value in self._new or (at < len(self._sorted) and self._sorted[at] == value):
            return False
        self._new.add(value)
        if len(self._new) > max(_MOST, len(self._sorted) // 8):
            self._sorted = array("q", merge(self._sorted, sorted(self._new)))
            self._new.clear()
        return True
