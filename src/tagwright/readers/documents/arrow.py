"""Convert documents to Arrow record batches and back, whole columns at a time."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import struct
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
"The characters of a batch, so that it stays small in memory; a longer document is a batch of its own."

_CHUNK = 1 << 24
_MAGIC = 8
"Bytes before the first message of an Arrow file."


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
    """A memory-mapped file written by `write`. Raises InputError when it is another file or damaged.

    Pages are released as soon as they are read: the operating system keeps them while it has room, but they do not
    count as memory of this process.
    """

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._batches = _mapped_batches(self._map, path)
        except damage() as error:  # an empty file cannot be mapped, which is a ValueError
            raise InputError(f"is no saved corpus, or a damaged one ({first_line(error)})", path) from None
        self._starts: list[int] = list(accumulate((batch.num_rows for batch in self._batches), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def documents(self, start: int, end: int) -> Iterator[Document]:
        """The documents from start to end, with one batch in memory at a time."""
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

    def digest(self) -> str:
        """A hash of the whole file."""
        found = hashlib.sha256()
        for start in range(0, len(self._map), _CHUNK):
            found.update(self._map[start : start + _CHUNK])
            self._give_back()
        return found.hexdigest()

    def validate(self) -> None:
        """Read everything; raise one of `damage` if texts or lists lie outside the file or texts are not UTF-8."""
        for batch in self._batches:
            batch.validate(full=True)
            self._give_back()

    def close(self) -> None:
        """Release the file. The batches go first: a mapped file cannot be closed, nor removed on Windows.

        After an error its traceback may still hold a batch; the file is then released together with it.
        """
        self._batches.clear()
        with contextlib.suppress(BufferError):
            self._map.close()

    def _give_back(self) -> None:
        if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows, which takes pages back by itself
            self._map.madvise(mmap.MADV_DONTNEED)


def damage() -> tuple[type[Exception], ...]:
    """The errors that Arrow raises for a damaged or foreign file; they have no class in common."""
    import pyarrow as pa

    return pa.ArrowException, OSError, ValueError


def first_line(error: Exception) -> str:
    """Arrow's error message without the page of details below it."""
    return str(error).partition("\n")[0]


def to_documents(batch: pa.RecordBatch) -> list[Document]:
    """The documents of a batch with the columns of `schema`. A file of another program may hold nulls.

    Raises ValueError for a null in place of a section or metadata field, and for a field that occurs twice.
    """
    columns = (
        batch.column("id").to_pylist(),
        batch.column("title").to_pylist(),
        batch.column("abstract").to_pylist(),
        _lists(batch.column("sections"), _to_sections),
        map(_once, _lists(batch.column("metadata"), _to_fields)),
        _lists(batch.column("labels"), _to_strings),
    )
    return [Document(*parts) for parts in zip(*columns, strict=True)]


def _mapped_batches(mapped: mmap.mmap, path: Path) -> list[pa.RecordBatch]:
    """The batches of a mapped file, none of them copied. Raises InputError for another Arrow file, or one of `damage`.

    They are read in order, not from the offsets in the footer: so each is inspected before it is built, and a
    compressed batch, which `write` never makes, is refused before it is unpacked. pyarrow would unpack it, without any
    limit: 18 kB became 500 MB.
    """
    import pyarrow as pa

    content = pa.py_buffer(mapped)
    file = pa.ipc.open_file(pa.BufferReader(content))
    if not file.schema.equals(schema()):
        raise InputError(f"is no saved corpus, but an Arrow file with {', '.join(file.schema.names)}", path)
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(content.slice(_MAGIC)))
    batches = [_mapped_batch(message) for message in messages if message.type != "schema"]
    if len(batches) != file.num_record_batches:
        raise ValueError(f"{len(batches)} batches, but {file.num_record_batches} in its footer")
    return batches


def _mapped_batch(message: pa.ipc.Message) -> pa.RecordBatch:
    import pyarrow as pa

    if _is_compressed(message.metadata.to_pybytes()):
        raise ValueError("it is compressed; write it uncompressed")
    return pa.ipc.read_record_batch(message, schema())


def _is_compressed(metadata: bytes) -> bool:
    """Whether the fourth field of a RecordBatch, the third of a Message, is present: Arrow's Message.fbs, a flatbuffer.

    Raises ValueError where the offsets lead outside.
    """

    def field(table: int, number: int) -> int:
        """The offset of a field of a table; 0 if it has none."""
        offsets = table - int(struct.unpack_from("<i", metadata, table)[0])
        place = 4 + 2 * number
        size, *_ = struct.unpack_from("<H", metadata, offsets)
        found = int(struct.unpack_from("<H", metadata, offsets + place)[0]) if place < size else 0
        return found and table + found

    def pointed(place: int) -> int:
        return place + int(struct.unpack_from("<I", metadata, place)[0])

    try:
        return field(pointed(field(pointed(0), 2)), 3) > 0
    except struct.error:
        raise ValueError("its metadata lead outside") from None


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += _size(document)
        if len(batch) == MAX_ROWS or characters >= MAX_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _size(document: Document) -> int:
    """All characters of a document."""
    sections = sum(len(section.heading) + sum(map(len, section.paragraphs)) for section in document.sections)
    metadata = sum(len(field) + sum(map(len, values)) for field, values in document.metadata.items())
    return len(document.title) + len(document.abstract) + sections + metadata + sum(map(len, document.labels))


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
    if array.null_count:  # a null may own values, which `flatten` leaves out and the offsets count
        import pyarrow as pa

        array = pa.array(array.to_pylist(), array.type)
    values = convert(array.flatten())
    ends = array.offsets.to_numpy()
    return [tuple(values[start:end]) for start, end in pairwise((ends - ends[0]).tolist())]


def _to_sections(array: pa.StructArray) -> list[Section]:
    if array.null_count:
        raise ValueError("null in place of a section")
    headings, levels, paragraphs = array.flatten()
    parts = zip(headings.to_pylist(), levels.to_pylist(), _lists(paragraphs, _to_strings), strict=True)
    return [Section(*part) for part in parts]


def _to_fields(array: pa.StructArray) -> list[tuple[str, tuple[str, ...]]]:
    fields, values = array.flatten()
    if fields.null_count:
        raise ValueError("null in place of a field of metadata")
    return list(zip(fields.to_pylist(), _lists(values, _to_strings), strict=True))


def _once(fields: tuple[tuple[str, tuple[str, ...]], ...]) -> dict[str, tuple[str, ...]]:
    found = dict(fields)
    if len(found) < len(fields):
        raise ValueError("a field of metadata twice")
    return found


def _to_strings(array: pa.StringArray) -> list[str]:
    strings: list[str] = array.to_pylist()
    return strings
