"""Read documents and records from any usual Python form.

They may be texts, `Document`s, records, a column or a table of pandas, polars (a LazyFrame is collected), Arrow or
Hugging Face, a `Corpus`, or a `Path`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice, zip_longest
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from tagwright.core.checked import is_missing, show
from tagwright.core.display import list_first, plural
from tagwright.core.extras import require
from tagwright.data.corpus import Corpus
from tagwright.data.subjects import relabel_document
from tagwright.data.texts import Columns, Table, Texts, number_documents
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.columns import parse_list
from tagwright.readers.documents.files import open_sources
from tagwright.readers.documents.records import Located, Numbered, check_document
from tagwright.readers.documents.tables import from_rows, with_class_names
from tagwright.readers.limits import Reading
from tagwright.readers.lines import Place, is_nan
from tagwright.text.words import clean
from tagwright.types import Document

_log = logging.getLogger(__name__)


def corpus_of(
    documents: Texts, columns: Columns | None = None, *, is_label: Callable[[str], bool] | None = None
) -> Corpus:
    """The documents in a corpus, cleaned and checked, as `Corpus.of` says. is_label: see `Reading`."""
    return Corpus.build([("documents", locate_documents(documents, columns, check=True, is_label=is_label))])


def locate_documents(
    documents: Texts, columns: Columns | None = None, check: bool = False, is_label: Callable[[str], bool] | None = None
) -> Iterator[Located]:
    """Each document with its position, from 1; of a `Path`, with its line. check: every `Document` is checked too.

    columns: field -> column, for tables and records. is_label: see `Reading`. Raises InputError and ConfigError.
    """
    if isinstance(documents, Path):
        files = open_sources(documents, columns=columns, is_label=is_label)
        return chain.from_iterable(located for _, located in files)
    if isinstance(documents, Mapping):
        if not any(isinstance(value, str) for value in documents.values()):
            keys, remedy = ", ".join(map(show, documents)), "give one of its values, or a list of records"
            raise InputError(f"the documents are a mapping with the keys {keys}; {remedy}")
        documents = [documents]
    expected = "a text, a list, a column, a table, a Corpus or a Path"
    records, items = records_in(documents, "records", "documents are", expected)
    if records is not None:
        reading = Reading(columns=columns or {}, is_label=is_label)
        rows = from_rows(records, "table" if has_columns(documents) else "records", reading)
        return ((row, document if document.id else replace(document, id=str(row))) for row, document in rows)
    if columns:
        problem = f"columns are given ({', '.join(columns)}), but the documents are no table and no records"
        raise ConfigError(f"{problem}; a file is given as a Path, since a text stands for itself")
    numbered = number_documents(items)
    if not check:
        return numbered
    return ((row, check_document(document, Place("documents", row))) for row, document in numbered)


def with_labels(documents: Iterable[Document], labels: Iterable[Any]) -> Iterator[Document]:
    """The documents with these gold labels: the ids or names of each, or a single one.

    Raises InputError if the numbers differ, and for a matrix of numbers.

    >>> next(with_labels([Document("1", "Bees")], [["a", "b"]])).labels
    ('a', 'b')
    """
    if is_indicator(labels):
        expected = "a list of ids or names for each document; an indicator matrix is for tagwright.sklearn"
        raise InputError(f"y is a matrix of numbers, expected {expected}")
    listed, missing, unlabelled = _items(labels, "labels y are", "a list for each document"), object(), list[str]()
    for row, (document, own) in enumerate(zip_longest(documents, listed, fillvalue=missing), 1):
        if not isinstance(document, Document) or own is missing:
            which = "fewer" if own is missing else "more"
            raise InputError(f"y has labels for {which} documents than there are, {row - 1:,}; give a list for each")
        if is_nan(own):
            unlabelled.append(str(row))
        several = () if is_nan(own) else parse_list(own) if isinstance(own, str) else own
        ids = [own] if several is None and own is not None else several
        if not isinstance(ids, Iterable):
            raise InputError(f"y of document {row} is {show(own)}, expected a list of ids or names of labels")
        yield relabel_document(document, dict.fromkeys(clean(str(label)) for label in ids if not is_missing(label)))
    if unlabelled:
        _log.warning("y: %s without labels: %s", plural(len(unlabelled), "row"), list_first(unlabelled))


def is_indicator(y: Any) -> bool:
    """Whether this is a matrix or table of numbers, a column for each label, and not of names.

    As in scikit-learn, lists of the same length are one too: if they hold marks, and not the ids of labels.

    >>> is_indicator([[1, 0], [0, 1]]), is_indicator([["a", "b"], ["b", "c"]]), is_indicator([[1], [0, 2]])
    (True, False, False)
    """
    is_matrix = getattr(y, "ndim", 1) == 2
    if is_matrix and getattr(getattr(y, "dtype", None), "kind", "i") not in "OSTU":
        return True
    rows = [*y] if is_matrix or isinstance(y, list | tuple) else []
    are_lists = all(isinstance(row, list | tuple) or getattr(row, "ndim", 0) == 1 for row in rows)
    return bool(rows) and are_lists and len({*map(len, rows)}) == 1 < len(rows[0]) and all(map(_is_mark, chain(*rows)))


def _is_mark(value: object) -> bool:
    """Whether a value of a matrix says that a label is there or not, as no id does."""
    is_whole = isinstance(value, Integral | str)
    return value in (-1, 0, 1, "0", "1") if is_whole else isinstance(value, Real)


def records_in(values: Any, name: str, what: str, expected: str) -> tuple[Iterable[Numbered] | None, Iterable[Any]]:
    """Return the rows of a table or a list of records, from 1; of anything else None, and its items.

    name: of the list in the InputError for an item that is no record as the first is. what, expected: for the error
    where there are no items.
    """
    if has_columns(values):
        return _of_table(values.collect() if _is_query(values) else values), ()
    rest = iter(_items(values, what, expected))
    first = list(islice(rest, 1))
    items = chain(first, rest)
    return (_records(items, name), ()) if first and isinstance(first[0], Mapping) else (None, items)


def _records(items: Iterable[object], name: str) -> Iterator[Numbered]:
    for row, item in enumerate(items, 1):
        if not isinstance(item, Mapping):
            raise InputError(f"is {show(item)}, expected a record as the first is", name, row)
        yield row, item


def has_columns(values: object) -> bool:
    """Whether this is a table, whose iteration gives columns or their names."""
    return _is_query(values) or hasattr(values, "columns") or hasattr(values, "column_names")


def _is_query(values: object) -> bool:
    """Whether this is a LazyFrame of polars, which warns where it is asked for its columns."""
    return hasattr(values, "collect_schema") and not isinstance(values, Table)


def _items(values: Any, what: str, expected: str) -> Iterable[Any]:
    """The items of a list, a column or any other iterable. Raises InputError for anything else."""
    if isinstance(values, str | Document):
        return [values]
    if hasattr(values, "to_pylist"):  # an Arrow array would give scalars
        return list(values.to_pylist())
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise InputError(f"the {what} {show(values)}, expected {expected}")
    return values


def _of_table(table: Any) -> Iterator[Numbered]:
    """The rows of a table, from 1, with the names of class labels. Raises InputError for one that cannot be read."""
    if hasattr(table, "features"):
        schema = getattr(table.features, "arrow_schema", None)
        return with_class_names(enumerate(table, 1), schema and schema.metadata, "table")
    if not isinstance(table, Table):
        kind = f"{type(table).__module__}.{type(table).__name__}"
        raise InputError(f"a table of {kind} cannot be read (pandas can from 2.2 on); give a list of records")
    require("reading a table", "pyarrow")
    import pyarrow as pa

    batches = pa.RecordBatchReader.from_stream(table)
    rows = (row for batch in batches for row in batch.to_pylist(maps_as_pydicts="lossy"))
    return with_class_names(enumerate(rows, 1), batches.schema.metadata, "table")
