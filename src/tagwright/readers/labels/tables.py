"""Read labels from TSV, CSV and Excel workbooks, from records and tables in memory, and write them as tables.

`Vocabulary.read` and `Vocabulary.of` list the forms; columns are known by the words of `readers.headers`.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from tagwright.core.checked import is_missing, show
from tagwright.core.display import list_first, plural
from tagwright.data.records import LISTS, by_code
from tagwright.data.subjects import bare_id
from tagwright.data.vocabulary import find_unambiguous
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.columns import format_list, parse_list
from tagwright.readers.headers import DOCUMENT, LABEL, is_among_words, language_of, recognise_columns
from tagwright.readers.labels.jsonl import REPLACED_BY, in_place_of
from tagwright.readers.labels.languages import by_language
from tagwright.readers.labels.term_lists import read_names
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import ENDS, Place, csv_rows, text_field, tsv_rows
from tagwright.readers.workbooks import workbook_rows
from tagwright.text.words import clean
from tagwright.types import Label

_ONE = frozenset({"id", "name", "notation"})
"Parts of a label that are one text."

_log = logging.getLogger(__name__)


def read_label_table(
    path: Path, file_format: str, reading: Reading = PLAIN
) -> tuple[Iterable[tuple[int, Label]], Sequence[str]]:
    """The labels of a table (tsv, csv, xlsx), each with its line; the languages of its columns. Raises InputError."""
    if file_format == "xlsx":
        rows = workbook_rows(
            path, lambda cells: bool(recognise_columns([cell.strip().casefold() for cell in cells], LABEL))
        )
    else:
        rows = tsv_rows(path, reading=reading) if file_format == "tsv" else csv_rows(path, reading)
    first = next(rows, None)
    if first is None:
        return (), ()
    header = [cell.strip().casefold() for cell in first[1]]
    while len(header) > 1 and not header[-1]:  # separators may end a row
        header.pop()
    usual = ("name", "names", "label", "labels", "term", "terms", "category", "subject", "tag", "title")
    if len(header) == 1 and header[0] not in usual:  # the line is itself a label
        if file_format == "tsv":
            return read_names(path, reading), ()
        header, rows = ["name"], itertools.chain([first], rows)
    if file_format == "tsv" and len(header) > 1 and not _is_header(header):
        header, rows = ["id", "name", "notation"], itertools.chain([first], rows)
    columns = _columns(header, {}, Place(path, first[0]))
    labels = _labels(_with_header(rows, header, path), columns, path)
    tags = {column: tag for part in ("name", "names") for column, tag in columns.get(part, ()) if tag}
    return labels, [*dict.fromkeys(tags[name] for name in header if name in tags)]


def read_label_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]], given: Mapping[str, str]
) -> Iterator[tuple[int, Label]]:
    """The labels of records, or of the rows of a table in memory, each with its number.

    given: part -> column, of id, name, names, description, broader, notation; other columns are known as in a file.
    Several values are a list, or a text as in a file. Rows whose names are null or NaN are counted and left out. Raises
    InputError with the row, ConfigError for an unknown part.
    """
    if unknown := [part for part in given if part not in LABEL]:
        raise ConfigError(f"a label has no field {show(unknown[0])}; the fields are {', '.join(LABEL)}")
    every = [(row, {str(key): value for key, value in record.items()}) for row, record in rows]
    if not every:
        return
    header = list(dict.fromkeys(column for _, record in every for column in record))
    names = ", ".join(map(show, header))
    if absent := [column for column in given.values() if column not in header]:
        raise InputError(f"the labels have no column {show(absent[0])}; the columns are {names}")
    columns = _columns(header, given, Place("labels"))
    named = [column for part in ("name", "names") for column, _ in columns.get(part, ())]
    cells = ((row, [record[column] for column in named if column in record]) for row, record in every)
    if nameless := {row for row, texts in cells if texts and all(map(is_missing, texts))}:
        numbers = list_first([str(row) for row in sorted(nameless)])
        _log.warning("labels: %s without a name left out: %s", plural(len(nameless), "row"), numbers)
        every = [(row, record) for row, record in every if row not in nameless]
    yield from _labels(every, columns, "labels")


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


_Columns: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"Part of a label -> its columns, each with the tag of the language that its name says."


def _is_header(cells: Sequence[str]) -> bool:
    """Whether the first line of a TSV names columns: those of ids, or two parts of a label."""
    return not {"id", "uri"}.isdisjoint(cells) or len(recognise_columns(cells, LABEL)) > 1


def _columns(header: Sequence[str], given: Mapping[str, str], place: Place) -> _Columns:
    """Find the columns; those of no use are logged. Raises InputError where none holds names."""
    if len(header) == 1 and place.line is not None:
        return {"names" if header == ["names"] else "name": [(header[0], "")]}
    parts = {part: [(column, "")] for part, column in given.items()}
    free = [column for column in header if column not in given.values()]
    tagged = {column: language for column in free if (language := _language(column))[0]}
    plain = [column for column in free if column not in tagged]
    if [*tagged] == ["label_id"] and "id" not in {*parts, *recognise_columns(plain, LABEL)}:  # no names in Indonesian
        tagged, plain = {}, free
    own = {*parts, *plain, *(part for part, _ in tagged.values())}
    words = dict(LABEL)
    if own & {"name", "names", "label"}:  # then no other word is the name
        words["name"] = ("name", "label")
    if own & {"description", "descriptions"}:
        words["description"] = ("description",)
    together = {"id": ("id", "uri"), "name": ("name", "label")}  # columns that may stand beside each other
    for part, column in recognise_columns(plain, {part: words[part] for part in words if part not in parts}).items():
        also = [other for other in together.get(part, ()) if other in plain and other != column]
        parts[part] = [(name, "") for name in (column, *also)]
    for column, (part, tag) in tagged.items():
        parts.setdefault(part, []).append((column, tag))
    _check(parts, header, given, place)
    used = {column for columns in parts.values() for column, _ in columns}
    if left := [column for column in header if column and column not in used]:
        _log.warning("%s: columns left out: %s", place.path, ", ".join(left))
    return parts


def _language(column: str) -> tuple[str, str]:
    """The part and the tag of a column for one language; of `label_`, `names_` and `description_` any tag is taken."""
    if column in ("languages", "descriptions"):
        return ("names" if column == "languages" else column), ""
    kind, _, tag = column.casefold().partition("_")
    if tag and kind in ("label", "names", "description") and (tag == "id" or not _is_usual(column)):
        return {"label": "name"}.get(kind, kind), tag
    return ("", "") if _is_usual(column) else language_of(column, LABEL)


def _is_usual(column: str) -> bool:
    return any(is_among_words(column, words) for words in LABEL.values())


def _check(found: _Columns, header: Sequence[str], given: Mapping[str, str], place: Place) -> None:
    """Raise InputError unless the columns are those of labels."""
    names = [column for part in ("name", "names") for column, _ in found.get(part, ())]
    titles = [
        column for column in names if is_among_words(column, DOCUMENT["title"]) and not is_among_words(column, ["name"])
    ]
    beside_titles = ("abstract", "labels", "subjects", "subject headings", "subject uris", "keywords")
    documents = [column for column in header if is_among_words(column, beside_titles)]
    if documents and not given and titles == names:
        raise place.error(f"the columns are those of documents ({', '.join(header)}), expected labels")
    if len(set(header)) < len(header) or not names:
        wanted = 'once each, among them "name", "names" or "label_LANGUAGE", and for ids of their own "id" or "uri"'
        how = f"; or say which holds the names: Vocabulary.of(labels, name={show(header[0])})"
        raise place.error(f"the columns are {show(header)}, expected {wanted}{how if place.line is None else ''}")


def _with_header(
    rows: Iterable[tuple[int, list[str]]], header: Sequence[str], path: Path
) -> Iterator[tuple[int, dict[str, str]]]:
    for line, cells in rows:
        if any(map(str.strip, cells[len(header) :])):
            raise Place(path, line).error(f"has {len(cells)} columns, expected {len(header)}: {', '.join(header)}")
        yield line, dict(zip(header, cells, strict=False))


def _labels(
    rows: Iterable[tuple[int, Mapping[str, Any]]], columns: _Columns, path: Path | str
) -> Iterator[tuple[int, Label]]:
    """The label of each row; a URI without any name is a concept out of use, which is left out and counted.

    So is a concept that another is in the place of, see `in_place_of`.
    """
    count, unused, labels, out_of_use = 0, list[str](), list[tuple[int, Label]](), dict[str, list[str]]()
    for count, (line, row) in enumerate(rows, 1):  # noqa: B007
        place = Place(path, line)
        texts = {
            part: [text for column, tag in found for text in _values(row, column, tag, part, place)]
            for part, found in columns.items()
        }
        if new := [bare_id(text) for _, text in texts.get(REPLACED_BY, ())]:
            out_of_use[bare_id("".join(text for _, text in texts.get("id", ())[:1]))] = new
            continue
        label = _label(texts, columns, place)
        if label.names or label.languages:
            labels.append((line, label))
        else:
            unused.append(label.id)
    if unused:
        _log.warning(
            "%s: %d of %d labels are deprecated (a URI without a name) and left out: %s",
            path, len(unused), count, list_first(unused),
        )  # fmt: skip
    yield from in_place_of(labels, out_of_use, path)


def _label(texts: Mapping[str, Sequence[tuple[str, str]]], columns: _Columns, place: Place) -> Label:
    named, raw_id = [*texts.get("name", ()), *texts.get("names", ())], next((id_ for _, id_ in texts.get("id", ())), "")
    label_id = bare_id(raw_id) if "id" in columns else "".join(name for _, name in named[:1])
    if not label_id or not (named or re.match(r"<.+>$|[A-Za-z][\w+.-]*://", raw_id)):
        missing = ["id"] if named else ["name", "names"]
        fitting = [show(column) for part in missing for column, _ in columns.get(part, ())]
        whose = f"label {show(label_id)} " if label_id else ""
        raise place.error(f"{whose}has no {missing[0]}; fill in the column {' or '.join(fitting)}")
    tagged = (pair for pair in texts.get("description", ()) if pair[0])
    described = by_language((*tagged, *texts.get("descriptions", ())))
    one = [text for tag, text in texts.get("description", ()) if not tag]
    if not any(not tag for _, tag in columns.get("description", ())):
        one = [text for _, text in described]
    return Label(
        label_id,
        tuple(dict.fromkeys(name for tag, name in named if name and not tag)),
        "".join(one[:1]),
        languages=by_language((tag, name) for tag, name in named if tag),
        notation="".join(text for _, text in texts.get("notation", ())[:1]),
        descriptions=described,
        translated=tuple(text for _, text in texts.get("translated", ())),
        **{field: tuple(bare_id(text) for _, text in texts.get(field, ())) for field in ("broader", *LISTS)},
    )


def _values(row: Mapping[str, Any], column: str, tag: str, part: str, place: Place) -> Iterator[tuple[str, str]]:
    """The texts of a cell, each with the tag of its language: of a column for one, or the key of a mapping."""
    value = row.get(column)
    if isinstance(value, Mapping) and part in ("names", "descriptions"):
        for code in value:
            yield from _values(value, code, str(code).lower(), part, place)
        return
    if part in _ONE or not isinstance(value, list | tuple):
        text = text_field(row, column, place)
        texts = (
            [text] if part in _ONE else split_texts(text, None if part in ("description", "descriptions") else "|;\n")
        )
    else:
        texts = [text_field({column: item}, column, place) for item in value]
    yield from ((tag, text) for text in texts if text)


def split_texts(cell: str, separators: str | None = "|;\n") -> list[str]:
    """The texts in a cell: a list (`parse_list`), or separated by the first of these separators that it holds.

    >>> split_texts("Birds; Aves"), split_texts("a;b|c"), split_texts("['Birds', 'Aves']")
    (['Birds', 'Aves'], ['a;b', 'c'], ['Birds', 'Aves'])
    """
    if (texts := parse_list(cell)) is None:
        mark = next((each for each in separators or "" if each in cell), None)
        texts = cell.split(mark) if mark else [cell]
    return [text for each in texts if (text := clean(each).strip())]


def _row(label: Label, one_line: bool) -> dict[str, str]:
    """The cells of a label by column; those of other fields and languages than it has are empty or missing."""
    names, described = map(by_code, (label.languages, label.descriptions))
    return {
        "id": label.id,
        "names": _cell(label.names, one_line),
        "description": _cell([label.description] if label.description else [], one_line, None),
        "notation": label.notation,
        **{field: _cell(getattr(label, field), one_line) for field in ("broader", "translated", *LISTS)},
        **{f"names_{code}": _cell(texts, one_line) for code, texts in names.items()},
        **{
            f"description_{code}" if code else "descriptions": _cell(texts, one_line, None)
            for code, texts in described.items()
        },
    }


def _cell(texts: Sequence[str], one_line: bool, separators: str | None = "|;\n") -> str:
    """Return a cell that `split_texts` reads as these texts."""
    plain = "|".join(texts)
    if separators and len(texts) == 1 and ";" in plain:
        plain += "|"
    is_plain = split_texts(plain, separators) == [*texts] and not (one_line and ENDS.search(plain))
    return plain if is_plain else format_list(texts)


def with_parents(labels: Iterable[tuple[int, Label]], path: Path | str) -> Iterator[tuple[int, Label]]:
    """The labels, each with its line, with the ids of their parents where these are given by notation or name.

    A notation or name counts if one label alone has it. Parents that are no label are kept, counted and logged.

    >>> zoo = [Label("Birds", ("Birds",), notation="59"), Label("Owls", ("Owls",), broader=("59",))]
    >>> [label.broader for _, label in with_parents(enumerate(zoo), "zoo.csv")]
    [(), ('Birds',)]
    """
    every = list(labels)
    ids = {label.id for _, label in every}
    if all(parent in ids for _, label in every for parent in label.broader):
        return iter(every)
    known = find_unambiguous(
        (name, label.id) for _, label in every for name in (*label.names[:1], *(text for _, text in label.languages))
    )
    known |= find_unambiguous((label.notation, label.id) for _, label in every if label.notation)
    missing, count, resolved = list[str](), 0, list[tuple[int, Label]]()
    for line, label in every:
        others = ((parent, known.get(parent)) for parent in label.broader)
        named = [parent if parent in ids else other if other != label.id else None for parent, other in others]
        missing += [parent for parent, name in zip(label.broader, named, strict=True) if not name]
        count += len(named)
        broader = tuple(name or parent for parent, name in zip(label.broader, named, strict=True))
        resolved.append((line, label if broader == label.broader else replace(label, broader=broader)))
    if missing:
        _log.warning(
            "%s: %d of %d parents are no label: %s", path, len(missing), count, list_first([*dict.fromkeys(missing)])
        )
    return iter(resolved)
