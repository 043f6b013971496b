"""Make labels of records and of the rows of tables in memory: which column holds names, ids and descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tagwright.core.checked import shown
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.columns import folded
from tagwright.readers.labels.tables import bare_id, distinct_names
from tagwright.readers.lines import Place, text_field
from tagwright.types import Label

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "uri", "identifier", "key", "code", "label id", "category id"),
    "name": ("name", "label", "category", "title", "term", "tag", "topic", "class", "subject", "preflabel"),
    "names": ("names", "synonyms", "other names", "aliases", "altlabels", "altlabel"),
    "description": ("description", "definition", "scope note", "text", "about", "explanation"),
    "broader": ("broader", "parent", "parents", "parent id", "broader id"),
    "notation": ("notation",),
}
"Field of a label -> usual names of its column, the best first, as `folded` writes them."


def read_label_rows(rows: Iterable[tuple[int, Mapping[str, Any]]], columns: Mapping[str, str]) -> Iterator[Label]:
    """The labels of rows. columns: field -> column, of id, name, names, description, broader, notation.

    Columns that are not given are known by usual names; without one of ids, the name is the id. names and broader may
    hold lists, or texts separated by `|` or `;`. Raises InputError with the row, ConfigError for an unknown field.
    """
    fields: Mapping[str, str] | None = None
    for row, record in rows:
        place = Place("labels", row)
        fields = _fields(list(map(str, record)), columns) if fields is None else fields
        yield _label(_Row(record, fields, place))


class _Row(NamedTuple):
    record: Mapping[str, Any]
    fields: Mapping[str, str]
    place: Place

    def text(self, field: str) -> str:
        value = self.record.get(self.fields.get(field, ""))
        return "" if value != value else text_field({field: value}, field, self.place)  # NaN is an empty cell

    def texts(self, field: str) -> list[str]:
        value = self.record.get(self.fields.get(field, ""))
        if isinstance(value, list | tuple):
            return [text_field({field: each}, field, self.place) for each in value]
        text = self.text(field)
        return [part.strip() for part in text.split("|" if "|" in text else ";")]


def _label(row: _Row) -> Label:
    names = distinct_names([row.text("name"), *row.texts("names")])
    label_id = bare_id(row.text("id")) if "id" in row.fields else "".join(names[:1])
    if not names or not label_id:
        missing = "name" if not names else "id"
        column = row.fields.get(missing, row.fields.get("names", missing))
        raise row.place.error(f"has no {missing}; fill in the column {shown(column)}")
    broader = tuple(bare_id(each) for each in row.texts("broader") if each)
    return Label(label_id, names, row.text("description"), broader, notation=row.text("notation"))


def _fields(found: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """Field -> column: the given ones, else those of usual names. Raises InputError without one of names."""
    unknown = [field for field in given if field not in _ALIASES]
    if unknown:
        raise ConfigError(f"a label has no field {shown(unknown[0])}; the fields are {', '.join(_ALIASES)}")
    absent = [column for column in given.values() if column not in found]
    columns = ", ".join(map(shown, found))
    if absent:
        raise InputError(f"the labels have no column {shown(absent[0])}; the columns are {columns}")
    free = {folded(column): column for column in reversed(found) if column not in given.values()}
    usual = {field: [free[name] for name in names if name in free][:1] for field, names in _ALIASES.items()}
    fields = {**{field: columns[0] for field, columns in usual.items() if columns}, **given}
    if "name" not in fields and "names" not in fields:
        raise InputError(
            f"the labels have the columns {columns}, and none is called name; say which holds the names: "
            f"Vocabulary.of(labels, name={shown(found[0])})"
        )
    return fields
