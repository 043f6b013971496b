"""Read the rows of a Parquet file as records, in memory bounded by the limit for one document.

The sizes of columns come from the footer, which a hostile file can fake: 7 kB then unpack to 200 MB. Only a process
with bounded memory is safe from that, such as the one that reads uploads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagwright.errors import InputError
from tagwright.readers.documents import arrow
from tagwright.readers.limits import largest_document, leave_out, too_large

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

DENSEST = 100
"How many times smaller than a row group the whole file may be; text compresses to about a tenth."


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered rows, from 1. One above the limit for a document is logged and left out.

    Repeated texts stay dictionary-encoded until their row is built. Raises InputError for a row group that is
    compressed more than text can be, since a page is unpacked at once; one of `arrow.damage` for a file that is not
    Parquet.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as plain:
        _check(plain.metadata, path)
        columns = [plain.metadata.schema.column(place) for place in range(plain.metadata.num_columns)]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    number = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        # one row group at a time: Arrow cannot join the dictionaries of lists in several
        groups = (file.iter_batches(arrow.MAX_ROWS, row_groups=[group]) for group in range(file.num_row_groups))
        for batch in chain.from_iterable(groups):
            for part in _parts(batch):
                if part.num_rows == 1 and _size(part) > largest_document():
                    leave_out(path, number + 1)
                else:
                    yield from enumerate(_rows(part), number + 1)
                number += part.num_rows


def _check(metadata: pq.FileMetaData, path: Path) -> None:
    """Refuse a decompression bomb by its row groups: to ask a damaged file for one column can abort the process."""
    packed = path.stat().st_size
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).total_byte_size
        if size > max(largest_document(), DENSEST * packed):
            raise InputError(too_large(f"holds {size:,} bytes packed into {packed:,}, a decompression bomb"), path)


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="lossy")
    return rows


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in slices of little text, or of one row."""
    if batch.num_rows <= 1 or _size(batch) <= arrow.MAX_CHARACTERS:
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
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.MapArray | pa.FixedSizeListArray):
        return len(array) + _bytes(array.flatten())
    return int(array.nbytes)
