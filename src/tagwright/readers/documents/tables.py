"""Read TSV, CSV, Parquet and Arrow files: a row is a record with columns named as in JSON lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

from tagwright.core.checked import shown
from tagwright.errors import InputError, option
from tagwright.readers.documents.arrow import arrow_rows, parquet_rows
from tagwright.readers.documents.columns import ALIASES, SAMPLE, Columns, folded, running_text, split_labels, to_fields
from tagwright.readers.documents.records import Located, Record, recognise, to_documents
from tagwright.readers.limits import reject
from tagwright.readers.lines import Place, csv_rows, tsv_rows, unescape_formula

LONGEST_NAME = 6
"The most words in the name of a column."

_Row: TypeAlias = tuple[int, Sequence[str]]
_USUAL = frozenset(name for names in ALIASES.values() for name in names)


def read_tsv(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """Tab-separated text, nothing quoted, plain or gzip.

    With a header, the columns of `read_csv`; the first line is a header if it holds the name of a text column or two of
    the usual other names, or when `columns` are given. Without a header, Annif's short texts: the text, a tab, and the
    label ids, as `<uri>`s or separated by spaces, tabs, `;` or `|`; a line without a tab has no labels; the id is the
    line number. Raises InputError with path and line.
    """
    rows = tsv_rows(path, "leave out")
    first = next(rows, None)
    if first is None:
        return
    if columns or _is_header(first[1]):
        yield from _with_header(first, rows, path, columns)
    else:
        yield from from_rows(((line, _short_text(cells)) for line, cells in chain([first], rows)), path)


def read_csv(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """Comma- or semicolon-separated text with a header, plain or gzip.

    Columns: id (without one, the number of the line), title, abstract or text, labels (ids separated by `;` or `|`, or
    a list in JSON), or Annif's document_id, text, subject_uris; those that `columns` name; or usual other names
    (`columns.ALIASES`). Any other column is metadata. An apostrophe before a cell that would be a formula is no part of
    it. Raises InputError with path and line.
    """
    rows = ((line, list(map(unescape_formula, cells))) for line, cells in csv_rows(path))
    first = next(rows, None)
    if first is None:
        return
    if columns or _is_header(first[1]):
        yield from _with_header(first, rows, path, columns)
        return
    sample = list(islice(rows, SAMPLE))
    if not _holds_text_below(first[1], [cells for _, cells in sample]):
        got = shown(", ".join(first[1]))
        problem = f"the first line is {got}, expected the names of columns: id, title, text, labels"
        remedy = option("columns", "title=...,text=...", python="Corpus.of(documents, title=..., text=...)")
        raise InputError(f"{problem}; or say which they are: {remedy}", path, 1)
    yield from _with_header(first, chain(sample, rows), path, columns)


def read_parquet(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """The columns of `read_csv` or of the JSON lines shape; labels as text or list. Places are rows, from 1.

    Raises InputError with path and row; a row above the limit for a document is logged and left out.
    """
    yield from from_rows(parquet_rows(path), path, columns)


def read_arrow(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """An Arrow or Feather file, read in the same way as Parquet."""
    yield from from_rows(arrow_rows(path), path, columns)


def from_rows(
    rows: Iterable[tuple[int, Record]], path: Path | str, columns: Columns | None = None
) -> Iterator[Located]:
    """Documents of the rows of a table, which all have the same columns.

    Labels may be one text, separated by `;` or `|`. Without an id column, the id is the row number. Raises InputError
    with path and row.
    """
    rows = to_fields(rows, path, columns, table=True)
    first = next(rows, None)
    if first is None:
        return
    shape = recognise(first[1], Place(path, first[0]))
    shape = replace(shape, numbered=shape.id not in first[1])
    split = ((line, _labels_split(row, shape.labels)) for line, row in chain([first], rows))
    yield from to_documents(split, shape, path)


def _is_header(cells: Sequence[str]) -> bool:
    names = {folded(cell) for cell in cells}
    return bool(names & {"title", "abstract", "text"}) or len(names & _USUAL) > 1


def _holds_text_below(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the cells are short, all different and above running text, or one is a usual name of a title or text."""
    if not rows or len({*header}) < len(header) or any(len(cell.split()) > LONGEST_NAME for cell in header):
        return False
    records = [dict(zip(header, cells, strict=False)) for cells in rows]
    return bool({folded(cell) for cell in header} & _USUAL) or bool(running_text(records, header))


def _with_header(header: _Row, rows: Iterable[_Row], path: Path, columns_: Columns | None = None) -> Iterator[Located]:
    columns = [" ".join(cell.split()).lower() or f"column {number}" for number, cell in enumerate(header[1], 1)]
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InputError(f"two columns are named {shown(twice)}; name each column once", path, header[0])
    yield from from_rows(_records(columns, rows, path), path, columns_)


def _records(columns: Sequence[str], rows: Iterable[_Row], path: Path) -> Iterator[tuple[int, Record]]:
    for line, cells in rows:
        if len(cells) != len(columns):
            problem = f"has {len(cells)} columns, expected {len(columns)} as in the header ({', '.join(columns)})"
            reject(InputError(problem, path, line))
            continue
        yield line, dict(zip(columns, cells, strict=True))


def _short_text(cells: Sequence[str]) -> Record:
    labels = " ".join(cells[1:])
    several = split_labels(labels)
    return {"text": cells[0], "labels": several if several != [labels] else labels.split()}


def _labels_split(row: Record, key: str) -> Record:
    labels = row.get(key)
    return {**row, key: split_labels(labels)} if isinstance(labels, str) else row
