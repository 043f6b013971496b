"""Read TSV, CSV, Excel, Parquet and Arrow files: a row is a record with columns named as in JSON lines.

Parquet and Arrow need pyarrow, of the extra `parquet`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tagwright.core.checked import show
from tagwright.core.display import unescape_formula
from tagwright.core.extras import require
from tagwright.data.texts import Columns
from tagwright.errors import InputError
from tagwright.readers.documents.columns import SAMPLE, labels_in, remedy, split_labels, to_fields
from tagwright.readers.documents.records import SHAPES, Flavour, Located, Numbered, Record, recognise, to_documents
from tagwright.readers.headers import DOCUMENT, MORE_LABELS, is_among_words, of_web_of_science
from tagwright.readers.limits import PLAIN, Reading, largest_document, too_large
from tagwright.readers.lines import Place, csv_rows, tsv_rows
from tagwright.readers.workbooks import workbook_rows

if TYPE_CHECKING:
    import pyarrow as pa

_Row: TypeAlias = tuple[int, Sequence[str]]

_USUAL = (*chain.from_iterable(DOCUMENT.values()), *MORE_LABELS)


def read_tsv(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Tab-separated text, nothing quoted, plain or gzip.

    With a header, the columns of `read_csv`; the first line is a header if it holds the name of a text column or two of
    the usual other names, or when `columns` are given. Without a header, Annif's short texts: the text, a tab, and the
    label ids, as `<uri>`s or separated by spaces, tabs, `;` or `|`; a line without a tab has no labels; the id is the
    line number. Raises InputError with path and line, also where the lines look like a table of other columns.
    """
    rows = ((line, list(map(unescape_formula, cells))) for line, cells in tsv_rows(path, "leave out", reading))
    return _of_cells(rows, path, reading, short_texts=True)


def read_csv(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Comma- or semicolon-separated text with a header, plain or gzip.

    Columns: id (without one, the number of the line), title, abstract or text, labels (ids separated by `;` or `|`, or
    a list in JSON), or Annif's document_id, text, subject_uris; those that `columns` name; or usual other names
    (`readers.headers`). Any other column is metadata. An apostrophe before a cell that would be a formula is no part of
    it. Raises InputError with path and line.
    """
    rows = ((line, list(map(unescape_formula, cells))) for line, cells in csv_rows(path, reading))
    return _of_cells(rows, path, reading)


def read_xlsx(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """A sheet of an Excel workbook, with the columns of `read_csv`; which sheet says `workbook_rows`.

    Raises InputError with path and row.
    """
    return _of_cells(workbook_rows(path, header_of(reading.columns), reading=reading), path, reading)


def header_of(columns: Columns) -> Callable[[Sequence[str]], bool]:
    """Tells a header: the columns that the user names, or usual ones."""
    wanted = {column.casefold() for column in columns.values()}
    return lambda cells: wanted <= {cell.strip().casefold() for cell in cells} if wanted else _is_header(cells)


def recognise_table(start: str) -> str:
    r"""The format of a text that begins with two usual names of columns, as its second line has as many; else "".

    >>> recognise_table("id;title\n1;Bees\n"), recognise_table("Title, text\nBees, wasps")
    ('csv', '')
    """
    head, *below = [line.rstrip("\r") for line in start.split("\n")[:10] if line.strip()] or [""]
    for separator in "\t;,":  # a sentence has spaces behind its commas
        names = [re.sub(r'^"(.*)"$', r"\1", name) for name in head.split(separator)]
        is_table = below and len(below[0].split(separator)) >= len(names) and names == [*map(str.strip, names)]
        if is_table and _is_header(names, least=2):
            return "tsv" if separator == "\t" else "csv"
    return ""


def table_rows(path: Path, file_format: str, reading: Reading) -> Iterator[_Row]:
    """The header and the rows of CSV, TSV or a workbook that was read, as their cells stand there.

    Raises InputError for TSV without a header.
    """
    if file_format == "xlsx":
        return workbook_rows(path, header_of(reading.columns), says_others=False)
    rows = csv_rows(path, reading) if file_format == "csv" else tsv_rows(path, "leave out", reading)
    first = next(rows)
    if file_format == "tsv" and not reading.columns and not _is_header(first[1]):
        raise _no_header(first[1], path)
    return chain([first], rows)


def read_parquet(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """The columns of `read_csv` or of the JSON lines shape; labels as text or list. Places are rows, from 1.

    Raises InputError with path and row; a row above the limit for a document is logged and left out.
    """
    yield from from_rows(_parquet_rows(path, reading), path, reading)


def read_arrow(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """An Arrow or Feather file, read in the same way as Parquet."""
    yield from from_rows(_arrow_rows(path, reading), path, reading)


def from_rows(
    rows: Iterable[Numbered], path: Path | str, reading: Reading, *, table: bool = True, flavour: Flavour | None = None
) -> Iterator[Located]:
    """Documents of the rows of a table, which all have the same columns, or of records.

    Labels of a table may be one text, separated by `;` or `|`. Without an id column, the id is the row number. flavour:
    of records, unless the first tells. Raises InputError with path and row.
    """
    rows = to_fields(rows, path, reading, table=table)
    first = next(rows, None)
    if first is None:
        return
    shape = SHAPES[flavour] if flavour else recognise(first[1], Place(path, first[0]))
    rows = chain([first], rows)
    if table:
        shape = replace(shape, numbered=shape.id not in first[1])
        rows = ((line, _with_labels_apart(row, shape.labels, Place(path, line), reading)) for line, row in rows)
    yield from to_documents(rows, shape, path, reading, says_unused=not table)


def _with_labels_apart(row: Record, key: str, place: Place, reading: Reading) -> Record:
    labels = row.get(key)
    return {**row, key: labels_in(labels, place, reading.is_label)} if isinstance(labels, str) else row


def _of_cells(rows: Iterator[_Row], path: Path, reading: Reading, *, short_texts: bool = False) -> Iterator[Located]:
    """The documents of a table whose first row is its header.

    short_texts: where the first row has no usual names of columns, all are texts with labels, unless they look like a
    table of other columns.
    """
    first = next(rows, None)
    if first is None:
        return
    records: Iterable[Numbered]
    if not short_texts or reading.columns or _is_header(first[1]):
        columns = column_names(first[1])
        if len(set(columns)) < len(columns):
            twice = next(column for column in columns if columns.count(column) > 1)
            raise InputError(f"two columns are named {show(twice)}; name each column once", path, first[0])
        records = _records(columns, rows, path, reading)
    else:
        sample = list(islice(rows, SAMPLE))
        if _is_other_table([first[1], *(cells for _, cells in sample)]):
            raise _no_header(first[1], path)
        records = ((line, _short_text(cells, reading)) for line, cells in chain([first], sample, rows))
    yield from from_rows(records, path, reading)


def _is_header(cells: Sequence[str], least: int = 1) -> bool:
    """Whether the cells are names of columns: two usual ones, or one that tells a header even alone if it may."""
    sure = (
        "title", "abstract", "text", "titel", "zusammenfassung", "nimeke", "tiivistelmä", "teksti", "sammanfattning",
        "titre", "résumé", "texte",
    )  # fmt: skip
    is_sure = least < 2 and any(is_among_words(cell, sure) for cell in cells)
    return is_sure or sum(is_among_words(cell, _USUAL) for cell in cells) > 1 or bool(of_web_of_science(cells))


def _is_other_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the lines are no short texts with labels.

    Either all have the same three cells or more, and the first is a header: it has words over a column of numbers or
    empty cells; or most have one word before the tab and several behind it, as names have. A `<uri>` tells labels.
    """
    if len(rows) < 2 or any(cell.startswith("<") for cells in rows for cell in cells[1:]):
        return False
    if len(rows[0]) > 2 and len({len(cells) for cells in rows}) == 1:
        first, *columns = ([_are_words(cell) for cell in column] for column in zip(*rows, strict=True))
        return first[0] and all(column[0] for column in columns) and any(not any(column[1:]) for column in columns)
    named = [name for text, *labels in rows if " " in (name := " ".join(labels).strip()) and " " not in text.strip()]
    return 2 * sum(map(_are_words, named)) > len(rows)


def _are_words(cell: str) -> bool:
    return bool(cell.strip()) and not re.search(r"[\d;|:]", cell)


def _no_header(cells: Sequence[str], path: Path) -> InputError:
    texts = "short texts as Annif has them: a text, a tab, labels as <uri> or with ; between"
    expected = f"names of columns, or {texts}; or say which they are: {remedy()}"
    return InputError(f"the first line is {show(', '.join(cells))}, expected {expected}", path, 1)


def column_names(header: Sequence[str]) -> list[str]:
    """The names of columns as a header gives them, without case."""
    return [" ".join(cell.split()).lower() or f"column {number}" for number, cell in enumerate(header, 1)]


def _records(columns: Sequence[str], rows: Iterable[_Row], path: Path, reading: Reading) -> Iterator[Numbered]:
    least = max((number for number, name in enumerate(columns, 1) if name != f"column {number}"), default=0)
    for line, cells in rows:
        if len(cells) < least or any(map(str.strip, cells[len(columns) :])):  # empty cells may end a row
            problem = f"has {len(cells)} columns, expected {len(columns)} as in the header ({', '.join(columns)})"
            reading.reject(InputError(problem, path, line))
            continue
        yield line, dict(zip(columns, cells, strict=False))


def _short_text(cells: Sequence[str], reading: Reading) -> Record:
    labels = " ".join(cells[1:])
    several = split_labels(labels, reading.is_label)
    return {"text": cells[0], "labels": several if several != [labels] else labels.split()}


def _parquet_rows(path: Path, reading: Reading) -> Iterator[Numbered]:
    """Numbered rows, from 1. Raises InputError for a file that is not Parquet, and without pyarrow.

    A file of a few kilobytes may unpack to any size: only a process with bounded memory is safe from that, such as the
    one that reads uploads.
    """
    with _explain_arrow_errors("Parquet", path):
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            rows = _number_rows(file.iter_batches(1_000), path, reading)
            yield from with_class_names(rows, file.schema_arrow.metadata, path)


def _arrow_rows(path: Path, reading: Reading) -> Iterator[Numbered]:
    """The same of an Arrow or Feather file, memory-mapped, or of a stream, as Hugging Face's `save_to_disk` writes."""
    with _explain_arrow_errors("Arrow", path):
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            opened: Any = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source)
            batches = map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened
            yield from with_class_names(_number_rows(batches, path, reading), opened.schema.metadata, path)


def _class_names(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """Column -> the names of its classes, where Hugging Face has put them into the metadata of a schema.

    >>> _class_names({b"huggingface": b'{"info": {"features": {"y": {"names": ["bees"], "_type": "ClassLabel"}}}}'})
    {'y': ['bees']}
    """
    try:
        features = json.loads((metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
        return {column: names for column, feature in features.items() if (names := _names_of(feature))}
    except (ValueError, LookupError, TypeError, AttributeError):
        return {}


def _names_of(feature: Any) -> list[str]:
    """The names of the classes of a ClassLabel, or of a list of them, which is written in several ways."""
    while isinstance(feature, list) or (isinstance(feature, Mapping) and "feature" in feature):
        feature = next(iter(feature), None) if isinstance(feature, list) else feature["feature"]
    names = feature.get("names") if isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel" else None
    return list(map(str, names or ()))


def with_class_names(
    rows: Iterable[Numbered], metadata: Mapping[bytes, bytes] | None, path: Path | str
) -> Iterator[Numbered]:
    """The rows with the names of classes for their numbers; -1 is no label. metadata: of a schema.

    Raises InputError for a number that is none of the classes.
    """
    if not (names := _class_names(metadata)):
        return iter(rows)
    return ((line, {**row, **_named_classes(row, names, Place(path, line))}) for line, row in rows)


def _named_classes(row: Record, classes: Mapping[str, Sequence[str]], place: Place) -> Record:
    named = dict[str, Any]()
    for column, names in classes.items():
        value: Any = row.get(column)
        value = value.tolist() if hasattr(value, "tolist") else value  # of a dataset in the format of NumPy
        numbers = [number for number in (value if isinstance(value, list) else [value]) if number is not None]
        if not all(isinstance(number, int) and -1 <= number < len(names) for number in numbers):
            raise place.error(f"{column} is {show(value)}, expected numbers of its {len(names)} classes, from 0")
        known = [names[number] for number in numbers if number >= 0]
        named[column] = known if isinstance(value, list) else next(iter(known), None)
    return named


@contextmanager
def _explain_arrow_errors(kind: str, path: Path) -> Iterator[None]:
    """Raise InputError for any error of Arrow, and if it is not installed."""
    require(f"reading {kind}", "pyarrow", path=path)
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        first_line = str(error).partition("\n")[0]  # a page of details follows
        raise InputError(f"is no {kind} file, or a damaged one ({first_line})", path) from None


def _number_rows(batches: Iterable[pa.RecordBatch], path: Path, reading: Reading) -> Iterator[Numbered]:
    """The rows, but for those above the limit for a document, which are logged."""
    number = 0
    for batch in batches:
        batch.validate(full=True)  # of a damaged file, which may crash the process later
        for start in range(0, batch.num_rows, 100):
            for row in batch.slice(start, 100).to_pylist(maps_as_pydicts="strict"):
                number += 1
                if _size(row) > largest_document():
                    reading.leave_out(InputError(too_large(), path, number))
                else:
                    yield number, row


def _size(value: Any) -> int:
    """The characters in a value, lists and mappings included."""
    if isinstance(value, list | dict):
        return sum(map(_size, value.values() if isinstance(value, dict) else value))
    return len(value) if isinstance(value, str) else 0
