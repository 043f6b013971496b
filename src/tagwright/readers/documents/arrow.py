"""Read the rows of Parquet and Arrow files as records, in memory bounded by the limit for one document.

Both need pyarrow, of the extra `parquet`. The sizes of columns come from the footer of a Parquet file, which a hostile
file can fake: 7 kB then unpack to 200 MB. Only a process with bounded memory is safe from that, such as the one that
reads uploads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagwright.core.extras import require
from tagwright.errors import InputError
from tagwright.readers.limits import largest_document, leave_out, too_large

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MAX_ROWS = 1_000
"Rows that are unpacked at a time, so that they stay small in memory."


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered rows, from 1. One above the limit for a document is logged and left out.

    Repeated texts stay dictionary-encoded until their row is built. Raises InputError for a file that is not Parquet,
    for a row group that is compressed more than text can be, since a page is unpacked at once, and without pyarrow.
    """
    with _explained("Parquet", path):
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as plain:
            _check(plain.metadata, path)
            columns = [plain.metadata.schema.column(place) for place in range(plain.metadata.num_columns)]
            texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            # one row group at a time: Arrow cannot join the dictionaries of lists in several
            groups = (file.iter_batches(MAX_ROWS, row_groups=[group]) for group in range(file.num_row_groups))
            yield from _numbered(chain.from_iterable(groups), path)


def arrow_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same of an Arrow or Feather file, memory-mapped; one that is compressed is refused, as is a damaged one.

    The batches are read in order, not from the offsets in the footer: so each is inspected before it is built, and a
    compressed one is refused before it is unpacked. pyarrow would unpack it, without any limit: 18 kB became 500 MB.
    """
    with _explained("Arrow", path):
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            content = source.read_buffer()
            schema = pa.ipc.open_file(pa.BufferReader(content)).schema
            # 8 bytes are before the first message
            messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(content.slice(8)))
            yield from _numbered((_batch(each, schema) for each in messages if each.type != "schema"), path)


@contextmanager
def _explained(kind: str, path: Path) -> Iterator[None]:
    """Raise InputError for any error of Arrow, and if it is not installed."""
    require(f"reading {kind}", "pyarrow", path=path)
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        first_line = str(error).partition("\n")[0]  # a page of details follows
        raise InputError(f"is no {kind} file, or a damaged one ({first_line})", path) from None


def _check(metadata: pq.FileMetaData, path: Path) -> None:
    """Refuse a decompression bomb by its row groups: to ask a damaged file for one column can abort the process."""
    packed = path.stat().st_size
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).total_byte_size
        if size > max(largest_document(), 100 * packed):  # text compresses to about a tenth
            raise InputError(too_large(f"holds {size:,} bytes packed into {packed:,}, a decompression bomb"), path)


def _batch(message: pa.ipc.Message, schema: pa.Schema) -> pa.RecordBatch:
    """The batch of a message, not copied. Raises ValueError for one that is compressed, and for a dictionary."""
    import pyarrow as pa

    if message.type != "record batch":
        raise ValueError(f"it holds a {message.type}; write texts as they are")
    if _is_compressed(message.metadata.to_pybytes()):
        raise ValueError("it is compressed; write it uncompressed")
    batch = pa.ipc.read_record_batch(message, schema)
    batch.validate(full=True)
    return batch


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


def _numbered(batches: Iterable[pa.RecordBatch], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    for batch in batches:
        for part in _parts(batch):
            if part.num_rows == 1 and _size(part) > largest_document():
                leave_out(InputError(too_large(), path, number + 1))
            else:
                yield from enumerate(_rows(part), number + 1)
            number += part.num_rows


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="strict")
    except KeyError:
        raise ValueError("a map has a key twice") from None
    return rows


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in slices of few rows and little text, or of one row."""
    most = min(4_000_000, largest_document())
    if batch.num_rows <= 1 or (batch.num_rows <= MAX_ROWS and _size(batch) <= most):
        yield batch
    else:
        half = batch.num_rows // 2
        yield from _parts(batch.slice(0, half))
        yield from _parts(batch.slice(half))


def _size(batch: pa.RecordBatch) -> int:
    return sum(map(_bytes, batch.columns))


def _bytes(array: pa.Array) -> int:
    """Bytes of all values, repeated ones counted each time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.DictionaryArray):
        lengths = pc.binary_length(array.dictionary)
        return int(pc.sum(pc.take(lengths.cast(pa.int64()), array.indices)).as_py() or 0)
    if isinstance(array, pa.StructArray):
        return sum(map(_bytes, array.flatten()))
    if isinstance(array, pa.MapArray):  # cannot be flattened; its keys and items are those of all rows of the file
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "item"])
        array = pa.ListArray.from_arrays(array.offsets, entries)
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return len(array) + _bytes(array.flatten())
    return int(array.nbytes)
