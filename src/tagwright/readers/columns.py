"""Rows of a table or JSON lines in, the same under the field names of documents out: which column is title, text, id.

A column is known by its exact name, by what the user says (`--columns title=Name,text=Body`), by a usual other name
(`ALIASES`), or, if nothing else is text, because it alone holds running text. One line of log names every guess.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from tagwright.errors import ConfigError, option
from tagwright.fields import shown
from tagwright.readers.html import plain_text
from tagwright.readers.lines import Place

Record: TypeAlias = Mapping[str, Any]
Columns: TypeAlias = Mapping[str, str]
"Field of a document (id, title, abstract, text, labels, or any name for metadata) -> the column that holds it."

ALIASES: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "name", "headline", "product name", "product title", "item name", "document title", "subject"),
    "text": ("text", "body", "body html", "content", "full text", "fulltext", "long description", "about product"),
    "abstract": ("abstract", "summary", "description", "product description", "item description", "short description"),
    "labels": ("labels", "label", "label ids"),
    "id": ("id", "identifier", "doc id", "product id", "item id", "sku", "seller sku", "asin", "uniq id", "handle"),
}
"""Field -> usual names of its column, the best first; compared without case, with `_`, `-` and brackets as spaces."""

SAMPLE = 100
"Rows from which the columns of a table are guessed."
RUNNING_TEXT = 10
"The least words per cell, on average, of a column of text."

_TEXTS = frozenset({"text", "abstract", "sections"})
_EXACT: Mapping[str, frozenset[str]] = {
    "title": frozenset({"title"}),
    "text": _TEXTS,
    "abstract": _TEXTS,
    "labels": frozenset({"labels", "subjects", "subject_uris"}),
    "id": frozenset({"id", "document_id"}),
}
_KNOWN = frozenset({"metadata", *(name for names in _EXACT.values() for name in names)})
_FOREIGN = frozenset({"paper", "paper_id", "corpusid", "uid", "paragraphs", "suggestions", "names"})
"Fields that mark other shapes (`records`), whose other fields have their own meanings."
_MARKUP = re.compile(r"</(?:p|div|li|ul|ol|td|table|span|strong|b|em|i|a|h[1-6])\s*>|<br\s*/?>", re.IGNORECASE)


def parse_columns(text: str) -> dict[str, str]:
    """Parse `--columns`. Raises ConfigError, also for a field whose name looks misspelt.

    >>> parse_columns("title=Name,text=Body (HTML, long)")
    {'title': 'Name', 'text': 'Body (HTML, long)'}
    """
    columns: dict[str, str] = {}
    for part in re.split(r",(?=\s*[\w-]+\s*=)", text) if text.strip() else ():
        name, equals, column = (piece.strip() for piece in part.partition("="))
        if not (name and equals and column) or name in columns:
            raise ConfigError(
                f"--columns {shown(text)}: expected each field once, as in title=Name,text=Body,labels=Codes"
            )
        near = get_close_matches(name.lower(), ALIASES, n=1, cutoff=0.8)
        if near and name not in ALIASES:
            raise ConfigError(f"--columns {shown(text)}: a field {shown(name)}; did you mean {shown(near[0])}?")
        columns[name] = column
    return columns


def join_labels(labels: Sequence[str]) -> str:
    """One text from which `split_labels` gives these labels: separated by `|`, or, if one holds that, a list in JSON.

    >>> join_labels(["a", "b"]), join_labels(["a|b"]), join_labels([])
    ('a|b', '["a|b"]', '')
    """
    plain = "|".join(labels)
    return plain if not labels or split_labels(plain) == [*labels] else json.dumps(labels, ensure_ascii=False)


def to_fields(
    rows: Iterable[tuple[int, Record]], path: Path | str, columns: Columns | None = None, *, table: bool
) -> Iterator[tuple[int, Record]]:
    """Each row under the names of fields instead of columns; HTML in the texts of a table is stripped.

    table: rows of CSV, TSV or Parquet; in JSON lines, only texts under names other than our own are stripped. Rows that
    continue the row above (the same id without title and text, as shops export pictures and variants) are left out.
    Raises InputError for a column that does not exist.
    """
    rows = iter(rows)
    sample = list(islice(rows, SAMPLE))
    if not sample:
        return
    plan = _plan([row for _, row in sample], columns or {}, Place(path, sample[0][0]), table)
    if plan.said:
        _log.warning("%s: %s", path, plan.said)
    every = chain(sample, rows)
    yield from plan.apply(every) if plan.fields or plan.markup else every


def split_labels(text: str) -> list[str]:
    """The labels in one text: between angle brackets, as Annif writes `<uri> <uri>`, or else separated by `;` or `|`.

    A URI may hold `;` and `|` itself. Other labels that hold them are written as a list in JSON.

    >>> split_labels("a; b"), split_labels('["a;b", "<c"]')
    (['a', ' b'], ['a;b', '<c'])
    """
    if text.startswith("[") and (listed := _json_texts(text)) is not None:
        return listed
    uris = re.findall(r"<([^<>\s]+)>", text) if text.lstrip().startswith("<") else []
    return uris or re.split(r"[;|]", text)


def _json_texts(text: str) -> list[str] | None:
    """A list of texts in JSON, None for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else None


_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """fields: column -> field. markup: fields that hold HTML. guessed_id: the id column was guessed."""

    fields: Mapping[str, str]
    markup: frozenset[str]
    guessed_id: bool
    said: str = ""
    seen: set[str] = field(default_factory=set)

    def apply(self, rows: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
        before: Any = None
        for line, row in rows:
            record = {self._name(column): value for column, value in row.items()}
            for name in self.markup:
                if isinstance(value := record.get(name), str):
                    record[name] = plain_text(value)
            if "labels" in self.fields.values() and isinstance(value := record.get("labels"), str | int):
                record["labels"] = split_labels(str(value))
            goes_on = self.guessed_id and record.get("id") == before and not any(map(record.get, ("title", *_TEXTS)))
            before = record.get("id")
            if not goes_on:
                yield line, self._with_own_id(record, line) if self.guessed_id else record

    def _name(self, column: str) -> str:
        taken = column in self.fields.values() and column not in self.fields
        return f"column {column}" if taken else self.fields.get(column, column)

    def _with_own_id(self, record: dict[str, Any], line: int) -> Record:
        """A guessed id column may hold an id twice or none: the line number then makes it unique."""
        name = str(record.get("id") or "").strip()
        own = name if name and name not in self.seen else f"{name}#{line}" if name else str(line)
        self.seen.add(own)
        return {**record, "id": own}


def _plan(sample: Sequence[Record], columns: Columns, place: Place, table: bool) -> _Plan:
    there = list(dict.fromkeys(column for row in sample for column in row))
    fields = {_column(column, there, place): name for name, column in columns.items()}
    if len(fields) < len(columns):
        twice = Counter(columns.values()).most_common(1)[0][0]
        raise place.error(f"the column {shown(twice)} is given for two fields; give it for one of them")
    given = dict(fields)
    if not (_FOREIGN & set(there) or any(isinstance(row.get("subjects"), list) for row in sample)):
        fields |= _guesses(there, fields)
        if not {*fields.values(), *there} & _TEXTS and (column := running_text(sample, there, fields)):
            fields[column] = "text"
    named = {fields.get(column, column): column for column in there}
    judged = [name for name in ("title", "text", "abstract") if table or name in fields.values()]
    markup = frozenset(name for name in judged if name in named and _is_markup(sample, named[name]))
    guesses = {column: name for column, name in fields.items() if column not in given}
    return _Plan(
        fields=fields,
        markup=markup,
        guessed_id="id" in guesses.values(),
        said=_said(guesses, markup, fields, there),
    )


def _column(wanted: str, there: Sequence[str], place: Place) -> str:
    """The column of this name, exactly or without regard to case. Raises InputError that lists the columns."""
    found = [column for column in there if column == wanted]
    found = found or [column for column in there if column.strip().casefold() == wanted.casefold()]
    if len(found) != 1:
        raise place.error(f"no column {shown(wanted)}; the columns are {', '.join(map(shown, there))}")
    return found[0]


def _guesses(there: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Guessed columns, by their usual names, of the fields without a column of their exact name or a given one."""
    exact, found = {*there, *given.values()}, dict[str, str]()
    text_is_known = bool(exact & _TEXTS)
    for name, aliases in ALIASES.items():
        if exact & _EXACT[name] or (text_is_known and name in _TEXTS):
            continue
        known = {folded(column): column for column in reversed(there) if column not in {*given, *found}}
        if column := next((known[alias] for alias in aliases if alias in known), ""):
            found[column] = name
    return found


def folded(column: str) -> str:
    """The name of a column as ALIASES has it: "Body (HTML)" is "body html"."""
    return " ".join(re.sub(r"[\W_]+", " ", column).casefold().split())


def running_text(sample: Sequence[Record], there: Collection[str], taken: Collection[str] = ()) -> str:
    """The column with the longest cells, if they are long enough for text, or ""; never one with another meaning."""
    other = {*taken, *(name for names in _EXACT.values() for name in names)}
    sizes = {column: _words(sample, column) for column in there if column not in other}
    longest = max(sizes, key=lambda column: sizes[column], default="")
    return longest if longest and sizes[longest] >= RUNNING_TEXT else ""


def _words(sample: Sequence[Record], column: str) -> float:
    cells = [row[column] for row in sample if isinstance(row.get(column), str) and row[column].strip()]
    return sum(len(cell.split()) for cell in cells) / len(cells) if cells else 0


def _is_markup(sample: Sequence[Record], column: str) -> bool:
    """Whether most cells hold an end tag or line break of HTML: a text about HTML shows them only now and then."""
    cells = [row[column] for row in sample if isinstance(row.get(column), str) and row[column].strip()]
    return 2 * sum(bool(_MARKUP.search(cell)) for cell in cells) > len(cells)


def _said(guesses: Columns, markup: Collection[str], fields: Columns, there: Sequence[str]) -> str:
    """One line on which column was guessed for what; nothing when only the case of the name differs."""
    named = [f"{name} from {shown(column)}" for column, name in guesses.items() if column.strip().casefold() != name]
    notes = [", ".join(named)] if named else []
    if markup:
        notes.append(f"HTML is stripped from {', '.join(sorted(markup))}")
    if not {*fields.values(), *there} & (_TEXTS | {"title"} | _FOREIGN):
        notes.append("no column is recognised as title or text")
    if not notes:
        return ""
    rest = len({*there} - {*fields} - _KNOWN)
    if named and rest:
        notes.append(f"{rest} other column{'s are' if rest > 1 else ' is'} metadata")
    remedy = option("columns", "title=...,text=...", python="title=..., text=...")
    return f"{'; '.join(notes)}; to change this: {remedy}"
