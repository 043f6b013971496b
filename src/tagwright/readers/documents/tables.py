"""Read TSV, CSV, Parquet and Arrow files: a row is a record with columns named as in JSON lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

from tagwright.core.checked import shown
from tagwright.errors import InputError
from tagwright.readers.documents.arrow import arrow_rows, parquet_rows
from tagwright.readers.documents.columns import SAMPLE, Columns, remedy, running_text, split_labels, to_fields
from tagwright.readers.documents.records import Located, Record, recognise, to_documents
from tagwright.readers.headers import DOCUMENT, MORE_LABELS, among, of_web_of_science
from tagwright.readers.limits import reject
from tagwright.readers.lines import Place, csv_rows, tsv_rows, unescape_formula

_Row: TypeAlias = tuple[int, Sequence[str]]

_USUAL = (*chain.from_iterable(DOCUMENT.values()), *MORE_LABELS)


def read_tsv(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """Tab-separated text, nothing quoted, plain or gzip.

    With a header, the columns of `read_csv`; the first line is a header if it holds the name of a text column or two of
    the usual other names, or when `columns` are given. Without a header, Annif's short texts: the text, a tab, and the
    label ids, as `<uri>`s or separated by spaces, tabs, `;` or `|`; a line without a tab has no labels; the id is the
    line number. Raises InputError with path and line, also where the lines look like a table of other columns.
    """
    rows = tsv_rows(path, "leave out")
    first = next(rows, None)
    if first is None:
        return
    if columns or _is_header(first[1]):
        yield from _with_header(first, rows, path, columns)
        return
    sample = [first, *islice(rows, SAMPLE)]
    if _is_other_table([cells for _, cells in sample]):
        short_texts = "short texts as Annif has them: a text, a tab, labels as <uri> or with ; between"
        raise _no_header(first[1], f"names of columns, or {short_texts}", path)
    yield from from_rows(((line, _short_text(cells)) for line, cells in chain(sample, rows)), path)


def read_csv(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """Comma- or semicolon-separated text with a header, plain or gzip.

    Columns: id (without one, the number of the line), title, abstract or text, labels (ids separated by `;` or `|`, or
    a list in JSON), or Annif's document_id, text, subject_uris; those that `columns` name; or usual other names
    (`readers.headers`). Any other column is metadata. An apostrophe before a cell that would be a formula is no part of
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
        raise _no_header(first[1], "the names of columns: id, title, text, labels", path)
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
    """Whether the cells are names of columns: two usual ones, or one that tells a header even alone."""
    sure = ("title", "abstract", "text", "titel", "zusammenfassung", "nimeke", "tiivistelmä", "teksti")
    sure += ("sammanfattning", "titre", "résumé", "texte")
    known = sum(among(cell, _USUAL) for cell in cells)
    return known > 1 or any(among(cell, sure) for cell in cells) or bool(of_web_of_science(cells))


def _is_other_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the lines are no short texts with labels.

    Either all have the same three cells or more, and the first is a header: it has words over a column of numbers or
    empty cells; or most have one word before the tab and several behind it, as names have. A `<uri>` tells labels.
    """
    if len(rows) < 2 or any(cell.startswith("<") for cells in rows for cell in cells[1:]):
        return False
    if len(rows[0]) > 2 and len({len(cells) for cells in rows}) == 1:
        first, *columns = ([_are_words(cell) for cell in column] for column in zip(*rows, strict=True))
        return first[0] and all(each[0] for each in columns) and any(not any(each[1:]) for each in columns)
    named = [name for text, *labels in rows if " " in (name := " ".join(labels).strip()) and " " not in text.strip()]
    return 2 * sum(map(_are_words, named)) > len(rows)


def _are_words(cell: str) -> bool:
    return bool(cell.strip()) and not re.search(r"[\d;|:]", cell)


def _no_header(cells: Sequence[str], expected: str, path: Path) -> InputError:
    got = shown(", ".join(cells))
    return InputError(f"the first line is {got}, expected {expected}; or say which they are: {remedy()}", path, 1)


def _holds_text_below(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the cells are short, all different and above running text, or one is a usual name of a title or text."""
    if not rows or len({*header}) < len(header) or any(len(cell.split()) > 6 for cell in header):
        return False
    records = [dict(zip(header, cells, strict=False)) for cells in rows]
    return any(among(cell, _USUAL) for cell in header) or bool(running_text(records, header))


def _with_header(header: _Row, rows: Iterable[_Row], path: Path, columns_: Columns | None = None) -> Iterator[Located]:
    columns = [" ".join(cell.split()).lower() or f"column {number}" for number, cell in enumerate(header[1], 1)]
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InputError(f"two columns are named {shown(twice)}; name each column once", path, header[0])
    yield from from_rows(_records(columns, rows, path), path, columns_)


def _records(columns: Sequence[str], rows: Iterable[_Row], path: Path) -> Iterator[tuple[int, Record]]:
    least = max((number for number, name in enumerate(columns, 1) if name != f"column {number}"), default=0)
    for line, cells in rows:
        if len(cells) < least or any(map(str.strip, cells[len(columns) :])):  # empty cells may end a row
            problem = f"has {len(cells)} columns, expected {len(columns)} as in the header ({', '.join(columns)})"
            reject(InputError(problem, path, line))
            continue
        yield line, dict(zip(columns, cells, strict=False))


def _short_text(cells: Sequence[str]) -> Record:
    labels = " ".join(cells[1:])
    several = split_labels(labels)
    return {"text": cells[0], "labels": several if several != [labels] else labels.split()}


def _labels_split(row: Record, key: str) -> Record:
    labels = row.get(key)
    return {**row, key: split_labels(labels)} if isinstance(labels, str) else row
