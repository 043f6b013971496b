"""Documents in, Arrow record batches out, and back. Both directions go column by column, never value by value."""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tagwright.errors import InputError
from tagwright.types import Document, Section

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

MAX_ROWS = 1_000
MAX_CHARACTERS = 4_000_000
"Where a batch ends, so that one in memory stays small; a longer document is a batch of its own."

_CHUNK = 1 << 24


@cache
def schema() -> pa.Schema:
    """The columns of a corpus on disk, one for each part of a `Document`."""
    import pyarrow as pa

    texts = pa.list_(pa.string())
    section = pa.struct([("heading", pa.string()), ("level", pa.int16()), ("paragraphs", texts)])
    field = pa.struct([("field", pa.string()), ("values", texts)])
    return pa.schema(
        [
            ("id", pa.string()),
            ("title", pa.string()),
            ("abstract", pa.string()),
            ("sections", pa.list_(section)),
            ("metadata", pa.list_(field)),
            ("labels", texts),
        ]
    )


def write(documents: Iterable[Document], path: Path) -> None:
    """Write an Arrow IPC file, holding one batch in memory at a time. Raises OSError when the disk is full."""
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema()) as writer:
        for batch in _batches(documents):
            writer.write_batch(_to_batch(batch))


class MappedFile:
    """A memory-mapped file that `write` wrote. Raises InputError when it is another file, or damaged.

    Pages that were read are given back at once: the operating system keeps them as long as it has room, but they do
    not count as memory of this process.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._map)))
            if not reader.schema.equals(schema()):
                raise InputError(f"is no saved corpus, but an Arrow file with {', '.join(reader.schema.names)}", path)
            self._batches = [reader.get_batch(position) for position in range(reader.num_record_batches)]
        except (OSError, ValueError) as error:  # an empty file cannot be mapped; Arrow's errors are of both kinds
            raise InputError(f"is no saved corpus, or a damaged one ({first_line(error)})", path) from None
        self._starts: list[int] = list(accumulate((batch.num_rows for batch in self._batches), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def documents(self, start: int, end: int) -> Iterator[Document]:
        """The documents from start up to end, a batch in memory at a time."""
        while start < end:
            owner = bisect_right(self._starts, start) - 1
            documents = to_documents(self._batches[owner].slice(start - self._starts[owner], end - start))
            self._give_back()
            yield from documents
            start += len(documents)

    def ids(self) -> Iterator[str]:
        """The ids of all documents."""
        for batch in self._batches:
            ids = batch.column("id").to_pylist()
            self._give_back()
            yield from ids

    def id(self, position: int) -> str:
        """The id of one document."""
        owner = bisect_right(self._starts, position) - 1
        return str(self._batches[owner].column("id")[position - self._starts[owner]])

    def copy(self, path: Path) -> None:
        """Write the same file elsewhere."""
        with path.open("wb") as file:
            for start in range(0, len(self._map), _CHUNK):
                file.write(self._map[start : start + _CHUNK])
                self._give_back()

    def validate(self) -> None:
        """Read everything and raise ValueError if texts or lists lie outside the file, or texts are not UTF-8."""
        for batch in self._batches:
            batch.validate(full=True)
            self._give_back()

    def close(self) -> None:
        """Let go of the file. The batches go first: a file that is mapped cannot be closed, nor on Windows removed."""
        self._batches.clear()
        self._map.close()

    def _give_back(self) -> None:
        if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows, which takes pages back by itself
            self._map.madvise(mmap.MADV_DONTNEED)


def first_line(error: Exception) -> str:
    """What Arrow says of an error, without the page of detail below it."""
    return str(error).partition("\n")[0]


def to_documents(batch: pa.RecordBatch) -> list[Document]:
    """The documents of a batch with the columns of `schema`."""
    columns = (
        batch.column("id").to_pylist(),
        batch.column("title").to_pylist(),
        batch.column("abstract").to_pylist(),
        _lists(batch.column("sections"), _to_sections),
        map(dict, _lists(batch.column("metadata"), _to_fields)),
        _lists(batch.column("labels"), _to_strings),
    )
    return [Document(*parts) for parts in zip(*columns, strict=True)]


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.abstract) + sum(sum(map(len, part.paragraphs)) for part in document.sections)
        if len(batch) == MAX_ROWS or characters >= MAX_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _to_batch(documents: list[Document]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = (
        [document.id for document in documents],
        [document.title for document in documents],
        [document.abstract for document in documents],
        [[_from_section(section) for section in document.sections] for document in documents],
        [[{"field": key, "values": texts} for key, texts in document.metadata.items()] for document in documents],
        [document.labels for document in documents],
    )
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema(), strict=True)]
    return pa.record_batch(arrays, schema=schema())


def _from_section(section: Section) -> dict[str, object]:
    return {"heading": section.heading, "level": section.level, "paragraphs": section.paragraphs}


def _lists(array: pa.ListArray, convert: Callable[[pa.Array], list[T]]) -> list[tuple[T, ...]]:
    """One tuple per row. The values are converted all at once, then cut where the rows end."""
    values = convert(array.flatten())
    ends = array.offsets.to_numpy()
    return [tuple(values[start:end]) for start, end in pairwise((ends - ends[0]).tolist())]


def _to_sections(array: pa.StructArray) -> list[Section]:
    headings, levels, paragraphs = array.flatten()
    parts = zip(headings.to_pylist(), levels.to_pylist(), _lists(paragraphs, _to_strings), strict=True)
    return [Section(*part) for part in parts]


def _to_fields(array: pa.StructArray) -> list[tuple[str, tuple[str, ...]]]:
    fields, values = array.flatten()
    return list(zip(fields.to_pylist(), _lists(values, _to_strings), strict=True))


def _to_strings(array: pa.StringArray) -> list[str]:
    strings: list[str] = array.to_pylist()
    return strings
