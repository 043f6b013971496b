"""Read rows from what is in memory: tables of pandas, polars, Arrow and Hugging Face, lists of records, columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Protocol, runtime_checkable

from tagwright.core.checked import shown
from tagwright.core.extras import require
from tagwright.errors import InputError
from tagwright.readers.documents.records import Record
from tagwright.types import Document


@runtime_checkable
class Table(Protocol):
    """A table or column that exports Arrow's C stream: pandas 2.2, polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, for pyarrow."""
        ...


def records(items: Iterable[object], what: str) -> Iterator[tuple[int, Record]]:
    """The rows, from 1, of a list of records. Raises InputError for an item that is none."""
    for row, item in enumerate(items, 1):
        if not isinstance(item, Mapping):
            raise InputError(f"is {shown(item)}, expected a record as the first is", what, row)
        yield row, item


def items(values: Any, what: str, expected: str) -> Iterable[Any]:
    """The items of a list, a column or any other iterable. Raises InputError for anything else."""
    if isinstance(values, str | Document):
        return [values]
    if hasattr(values, "to_pylist"):  # an Arrow array would give scalars
        return list(values.to_pylist())
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise InputError(f"the {what} {shown(values)}, expected {expected}")
    return values


def is_column(values: object) -> bool:
    """Whether this is a column of pandas, polars, Arrow or NumPy, whose values may be missing."""
    return hasattr(values, "dtype") or hasattr(values, "to_pylist")


def has_columns(values: object) -> bool:
    """Whether this is a table, whose iteration gives columns or their names."""
    return hasattr(values, "columns") or hasattr(values, "column_names")


def of_table(table: Any) -> Iterator[Record]:
    """The rows of a table. Raises InputError for one that cannot be read."""
    if hasattr(table, "features"):
        yield from _dataset_rows(table)
        return
    if not isinstance(table, Table):
        kind = f"{type(table).__module__}.{type(table).__name__}"
        raise InputError(f"a table of {kind} cannot be read (pandas can from 2.2 on); give a list of records")
    require("reading a table", "pyarrow")
    import pyarrow as pa

    for batch in pa.RecordBatchReader.from_stream(table):
        yield from batch.to_pylist(maps_as_pydicts="lossy")


def _dataset_rows(dataset: Any) -> Iterator[Record]:
    """The rows of a Hugging Face dataset, with the names of class labels for their numbers; -1 is no label."""
    names = {column: _class_names(feature) for column, feature in (dataset.features or {}).items()}
    for row in dataset:
        yield {column: _named(value, names.get(column)) for column, value in row.items()}


def _class_names(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, or of a list of them."""
    found: list[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return found


def _named(value: Any, names: list[str] | None) -> Any:
    if names is None or value is None:
        return value
    return [names[number] for number in (value if isinstance(value, list) else [value]) if number >= 0]


def peeked(values: Iterable[Any]) -> tuple[Iterable[Any], Any]:
    """The values, and the first of them; None if there is none."""
    if isinstance(values, Sequence):
        return values, values[0] if len(values) else None
    rest = iter(values)
    some = list(islice(rest, 1))
    return chain(some, rest), some[0] if some else None
