"""Read labels from TSV and CSV, in the forms that `Vocabulary.read` lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tagwright.core.checked import shown
from tagwright.readers.labels.languages import choose_languages
from tagwright.readers.labels.term_lists import read_names
from tagwright.readers.lines import Place, csv_rows, tsv_rows
from tagwright.text.words import clean
from tagwright.types import Label

_NAMES_ALONE = frozenset({"name", "names", "label", "labels", "term", "terms", "category", "subject", "tag", "title"})
"Names of the only column of a table; any other first line is itself a label."


def read_label_table(
    path: Path, language: str | None, likely: str, file_format: Literal["tsv", "csv"]
) -> Iterator[tuple[int, Label]]:
    """The labels of a table, each with its line. language, likely: as in `Vocabulary.read`. Raises InputError."""
    rows = tsv_rows(path) if file_format == "tsv" else csv_rows(path)
    first = next(rows, None)
    if first is None:
        return
    header = [cell.strip().casefold() for cell in first[1]]
    if len(header) == 1 and header[0] not in _NAMES_ALONE:
        if file_format == "tsv":
            yield from read_names(path)
            return
        header, rows = ["name"], itertools.chain([first], rows)
    if file_format == "tsv" and len(header) > 1 and {"id", "uri"}.isdisjoint(header):
        header, rows = ["id", "name", "notation"], itertools.chain([first], rows)
    columns = _Columns.of(header, language, likely, Place(path, first[0]))
    for line, cells in rows:
        place = Place(path, line)
        if any(cells[len(header) :]):
            raise place.error(f"has {len(cells)} columns, expected {len(header)}: {', '.join(header)}")
        row = {column: clean(cell).strip() for column, cell in zip(header, cells, strict=False)}
        yield line, _row_label(row, columns, place)


class _Columns(NamedTuple):
    """The columns that hold names, the one to prefer first. languages: tag -> its column; chosen: those to search."""

    names: Sequence[str]
    languages: Mapping[str, str]
    chosen: Sequence[str]

    @classmethod
    def of(cls, header: Sequence[str], language: str | None, likely: str, place: Place) -> _Columns:
        """Find them. Raises InputError for an unusable header."""
        languages = {column[6:]: column for column in header if column.startswith("label_")}
        columns = [column for column in ("name", "label", "names") if column in header]
        if len(header) == 1:
            return cls(list(header), {}, ())
        if not (languages or columns) or len(set(header)) < len(header):
            wanted = 'once each, among them "name", "names" or "label_LANGUAGE", and for ids of their own "id" or "uri"'
            raise place.error(f"the columns are {shown(header)}, expected {wanted}")
        if not languages:
            return cls(columns, {}, ())
        chosen = choose_languages(list(languages), language, place.path, likely)
        first = [*chosen, *(tag for tag in languages if tag not in chosen)]
        return cls([languages[tag] for tag in first], languages, chosen)


def _row_label(row: Mapping[str, str], columns: _Columns, place: Place) -> Label:
    names = distinct_names(name for column in columns.names for name in _cells(row, column))
    has_ids = "id" in row or "uri" in row
    label_id = bare_id(row.get("id") or row.get("uri") or "") if has_ids else "".join(names[:1])
    if has_ids and not label_id:
        raise place.error('has no id; fill in the column "id" or "uri"')
    if not names:
        wanted = " or ".join(map(shown, columns.names))
        raise place.error(f"label {shown(label_id)} has no name; fill in the column {wanted}")
    tagged = [(tag, row[column]) for tag, column in columns.languages.items() if row.get(column)]
    if tagged:
        names = distinct_names(row[columns.languages[tag]] for tag in columns.chosen) or names[:1]
    languages = tuple(tagged) if len(columns.languages) > 1 else ()
    return Label(
        label_id, names, row.get("description", ""), tuple(map(bare_id, _cells(row, "broader"))), languages=languages
    )


def distinct_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Names without empty and repeated ones."""
    return tuple(dict.fromkeys(text for text in texts if text))


def bare_id(label_id: str) -> str:
    """An id without the angle brackets that Annif's files put around a URI."""
    return label_id[1:-1] if label_id.startswith("<") and label_id.endswith(">") else label_id


def _cells(row: Mapping[str, str], column: str) -> list[str]:
    """The values of a cell; several, separated by `|` or else by `;`, only in columns that may hold several."""
    text = row.get(column, "")
    if column not in ("names", "broader"):
        return [text]
    return [part.strip() for part in text.split("|" if "|" in text else ";") if part.strip()]
