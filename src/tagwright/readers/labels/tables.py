"""Read labels from TSV and CSV, in the forms that `Vocabulary.read` lists, and write them as such."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tagwright.core.checked import shown
from tagwright.readers.documents.columns import json_texts
from tagwright.readers.labels.jsonl import LISTS, by_code
from tagwright.readers.labels.languages import by_language, chosen_names
from tagwright.readers.labels.term_lists import read_names
from tagwright.readers.lines import ENDS, Place, csv_rows, tsv_rows
from tagwright.text.words import clean
from tagwright.types import Label

_NAMES_ALONE = frozenset({"name", "names", "label", "labels", "term", "terms", "category", "subject", "tag", "title"})
"Names of the only column of a table; any other first line is itself a label."

_SEVERAL = frozenset({"broader", "translated", *LISTS})
"Columns whose cells may hold several values, beside those of names."


def read_label_table(
    path: Path, language: str | None, likely: Callable[[], str], file_format: Literal["tsv", "csv"]
) -> Iterator[tuple[int, Label]]:
    """The labels of a table, each with its line. language, likely: as in `Vocabulary.read`. Raises InputError."""
    rows = tsv_rows(path) if file_format == "tsv" else csv_rows(path)
    first = next(rows, None)
    if first is None:
        return iter(())
    header = [cell.strip().casefold() for cell in first[1]]
    if len(header) == 1 and header[0] not in _NAMES_ALONE:
        if file_format == "tsv":
            return read_names(path)
        header, rows = ["name"], itertools.chain([first], rows)
    if file_format == "tsv" and len(header) > 1 and {"id", "uri"}.isdisjoint(header):
        header, rows = ["id", "name", "notation"], itertools.chain([first], rows)
    columns = _Columns.of(header, Place(path, first[0]))
    labels = ((line, _row_label(cells, columns, Place(path, line))) for line, cells in rows)
    return chosen_names(labels, language, likely, path, list(columns.languages))


def to_table(labels: Sequence[Label], *, one_line: bool = False) -> Iterator[list[str]]:
    """A header and a row for each label: only the columns that some label needs. Read back, they are equal.

    one_line: texts with tabs and line ends are lists in JSON; ids and notations stay as they are.

    >>> bees, wasps = Label("1", ("Bees", "Apoidea"), notation="59"), Label("2", ("Wasps; hornets",), broader=("1",))
    >>> list(to_table([bees, wasps]))
    [['id', 'names', 'broader', 'notation'], ['1', 'Bees|Apoidea', '', '59'], ['2', 'Wasps; hornets|', '1', '']]
    """
    used = dict.fromkeys(column for label in labels for column, cell in _row(label, one_line).items() if cell)
    if any(column.startswith("description") for column in used):
        used["description"] = None  # without it, the first of the descriptions would be read as the one
    order = ("id", "names", "description", "broader", "notation", "translated", *LISTS)

    def place(column: str) -> int:
        return order.index(column) if column in order else len(order) + column.startswith("description")

    yield (header := sorted(used, key=place))
    for label in labels:
        row = _row(label, one_line)
        yield [row.get(column, "") for column in header]


class _Columns(NamedTuple):
    """The columns of a table. names: those of names whose language is not said; languages: tag -> its columns.

    descriptions: column -> tag.
    """

    header: Sequence[str]
    names: Sequence[str]
    languages: Mapping[str, Sequence[str]]
    descriptions: Mapping[str, str]

    @classmethod
    def of(cls, header: Sequence[str], place: Place) -> _Columns:
        """Find them. Raises InputError for an unusable header."""
        languages: dict[str, list[str]] = {}
        for column in header:
            kind, _, tag = column.partition("_")
            if kind in ("label", "names") and tag:
                languages.setdefault(tag, []).append(column)
        descriptions = {column: column[12:] for column in header if column.startswith("description_")}
        names = list(header) if len(header) == 1 else [each for each in ("name", "label", "names") if each in header]
        if not (languages or names) or len(set(header)) < len(header):
            wanted = 'once each, among them "name", "names" or "label_LANGUAGE", and for ids of their own "id" or "uri"'
            raise place.error(f"the columns are {shown(header)}, expected {wanted}")
        return cls(header, names, languages, descriptions | {"descriptions": ""})


def _row_label(cells: Sequence[str], columns: _Columns, place: Place) -> Label:
    header = columns.header
    if any(cells[len(header) :]):
        raise place.error(f"has {len(cells)} columns, expected {len(header)}: {', '.join(header)}")
    row = {column: clean(cell).strip() for column, cell in zip(header, cells, strict=False)}
    names = distinct_names(name for column in columns.names for name in _cells(row, column))
    tagged = [(tag, name) for tag, places in columns.languages.items() for each in places for name in _cells(row, each)]
    has_ids = "id" in row or "uri" in row
    first = [*names, *(name for _, name in tagged)][:1]
    label_id = bare_id(row.get("id") or row.get("uri") or "") if has_ids else "".join(first)
    if has_ids and not label_id:
        raise place.error('has no id; fill in the column "id" or "uri"')
    if not first:
        wanted = " or ".join(
            map(shown, [*columns.names, *(each for some in columns.languages.values() for each in some)])
        )
        raise place.error(f"label {shown(label_id)} has no name; fill in the column {wanted}")
    described = by_language(
        (tag, text) for column, tag in columns.descriptions.items() for text in _texts(row.get(column, ""))
    )
    return Label(
        label_id,
        names,
        "".join(_texts(row["description"])[:1] if "description" in row else [text for _, text in described[:1]]),
        languages=by_language((tag, name) for tag, name in tagged if name),
        translated=tuple(_cells(row, "translated")),
        notation=row.get("notation", ""),
        descriptions=described,
        **{field: tuple(map(bare_id, _cells(row, field))) for field in ("broader", *LISTS)},
    )


def distinct_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Names without empty and repeated ones."""
    return tuple(dict.fromkeys(text for text in texts if text))


def bare_id(label_id: str) -> str:
    """An id without the angle brackets that Annif's files put around a URI."""
    return label_id[1:-1] if label_id.startswith("<") and label_id.endswith(">") else label_id


def _cells(row: Mapping[str, str], column: str) -> list[str]:
    """The values of a cell. Columns that may hold several separate them by `|` or `;`, or hold a list in JSON."""
    text = row.get(column, "")
    if not column.startswith("names") and column not in _SEVERAL:
        return [text] if text else []
    if (found := _json_list(text)) is not None:
        return found
    return [part.strip() for part in text.split("|" if "|" in text else ";") if part.strip()]


def _texts(cell: str) -> list[str]:
    """The texts of a description: one, or a list in JSON."""
    found = _json_list(cell)
    return found if found is not None else [cell] if cell else []


def _json_list(cell: str) -> list[str] | None:
    """The texts of a list in JSON, cleaned; None for anything else."""
    found = json_texts(cell) if cell.startswith('["') else None
    return None if found is None else [text for each in found if (text := clean(each).strip())]


def _row(label: Label, one_line: bool) -> dict[str, str]:
    """The cells of a label by column; those of other fields and languages than it has are empty or missing."""
    names, described = map(by_code, (label.languages, label.descriptions))
    return {
        "id": label.id,
        "names": _cell(label.names, one_line),
        "description": _text_cell([label.description], one_line),
        "notation": label.notation,
        **{field: _cell(getattr(label, field), one_line) for field in ("broader", "translated", *LISTS)},
        **{f"names_{code}": _cell(texts, one_line) for code, texts in names.items()},
        **{
            f"description_{code}" if code else "descriptions": _text_cell(texts, one_line)
            for code, texts in described.items()
        },
    }


def _cell(texts: Sequence[str], one_line: bool) -> str:
    """What `_cells` reads as these texts."""
    joined = "|".join(texts)
    if joined.startswith('["') or any("|" in text for text in texts) or (one_line and ENDS.search(joined)):
        return json.dumps(texts, ensure_ascii=False)
    return f"{joined}|" if len(texts) == 1 and ";" in joined else joined


def _text_cell(texts: Sequence[str], one_line: bool) -> str:
    """What `_texts` reads as these texts."""
    plain = len(texts) == 1 and not texts[0].startswith('["') and not (one_line and ENDS.search(texts[0]))
    return texts[0] if plain else json.dumps(texts, ensure_ascii=False) if texts else ""
