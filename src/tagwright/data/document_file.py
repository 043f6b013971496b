"""Documents in a memory-mapped file of JSON lines, in the order in which they were written.

A line is a document in the project's own shape, without spaces, all of its fields in the same order: so the id is found
without decoding the rest. A line ends with a line feed, and there is none within it. Half a surrogate pair, which is no
UTF-8, is kept as it is.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from tagwright.data.records import to_record
from tagwright.types import Document, Longs, Section

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_DECODER = json.JSONDecoder()


def write(documents: Iterable[Document], path: Path) -> None:
    """Write a file of documents, with one of them in memory at a time. Raises OSError when the disk is full."""
    with path.open("wb") as file:
        file.writelines(map(to_line, documents))


def to_line(document: Document) -> bytes:
    r"""A document as a line.

    >>> to_line(Document("b", "Bees", metadata={"year": ("2020",)}))
    b'{"id":"b","title":"Bees","abstract":"","sections":[],"metadata":{"year":["2020"]},"labels":[]}\n'
    """
    return _ENCODER.encode(to_record(document)).encode(errors="surrogatepass") + b"\n"


def from_line(line: bytes) -> Document:
    """The document of a line that `to_line` wrote."""
    record = _DECODER.decode(line.decode(errors="surrogatepass"))
    sections = [Section(part["heading"], part["level"], tuple(part["paragraphs"])) for part in record["sections"]]
    metadata = {field: tuple(values) for field, values in record["metadata"].items()}
    texts = record["id"], record["title"], record["abstract"]
    return Document(*texts, tuple(sections), metadata, tuple(record["labels"]))


class DocumentFile:
    """A memory-mapped file written by `write`, for several threads. Raises OSError.

    Pages are released as soon as they are read: the operating system keeps them while it has room, but they do not
    count as memory of this process. chunk: bytes in memory at a time; a longer document is in memory as a whole.
    """

    def __init__(self, path: Path, *, chunk: int = 1 << 20) -> None:
        self._chunk = chunk
        with path.open("rb") as file:
            self._size = file.seek(0, os.SEEK_END)
            # an empty file cannot be mapped
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._size else mmap.mmap(-1, 1)
        self._starts = self._find_starts()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def documents(self, start: int, end: int) -> Iterator[Document]:
        """The documents from start to end, with one chunk of the file in memory at a time."""
        return map(from_line, self.lines(start, end))

    def lines(self, start: int, end: int) -> Iterator[bytes]:
        """The lines of these documents."""
        while start < end:
            after = int(np.searchsorted(self._starts, self._starts[start] + self._chunk, "right")) - 1
            ends = self._starts[start : min(max(after, start + 1), end) + 1].tolist()
            chunk = self._read(ends[0], ends[-1])
            yield from (chunk[here - ends[0] : there - ends[0]] for here, there in pairwise(ends))
            start += len(ends) - 1

    def ids(self) -> Iterator[str]:
        """The ids of all documents; nothing else is decoded."""
        return map(_id, self.lines(0, len(self)))

    def id(self, position: int) -> str:
        """The id of one document."""
        return _id(*self.lines(position, position + 1))

    def copy(self, path: Path) -> None:
        """Write the same file elsewhere."""
        with path.open("wb") as file:
            file.writelines(self._chunks())

    def digest(self) -> str:
        """A hash of the whole file."""
        checksum = hashlib.sha256()
        for chunk in self._chunks():
            checksum.update(chunk)
        return checksum.hexdigest()

    def close(self) -> None:
        """Release the file: a mapped file cannot be removed on Windows."""
        self._map.close()

    def _find_starts(self) -> Longs:
        """(documents + 1,) where each line begins, and where the file ends: 8 bytes a document."""
        parts, before = [np.zeros(1, np.int64)], 0
        for chunk in self._chunks():
            parts.append(np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n")) + before + 1)
            before += len(chunk)
        return np.concatenate(parts)

    def _chunks(self) -> Iterator[bytes]:
        return (self._read(start, min(start + self._chunk, self._size)) for start in range(0, self._size, self._chunk))

    def _read(self, start: int, end: int) -> bytes:
        content = self._map[start:end]
        if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows, which takes pages back by itself
            self._map.madvise(mmap.MADV_DONTNEED)
        return content


def _id(line: bytes) -> str:
    document_id: str = _DECODER.raw_decode(line.decode(errors="surrogatepass"), len('{"id":'))[0]
    return document_id
