"""Find out which column of a table, or key of JSON lines, holds the title, text, id and labels of a document.

A column is known by its exact name, by what the user says (`--columns title=Name,text=Body`), or by a usual other name
(`readers.headers`), and never by what it holds. A line of log names the columns that are known by other names, and
those that are not used. Subject headings of a catalogue are labels and never text: read as a text, they would give the
labels away.
"""

import ast
import contextlib
import json
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from tagwright.core.checked import find_nearest, show
from tagwright.core.display import list_first, plural
from tagwright.data.subjects import CHOSEN_SOURCE, LABEL_SOURCE, SOURCES
from tagwright.data.texts import Columns
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, option
from tagwright.readers.account import say
from tagwright.readers.documents.records import Numbered, Record
from tagwright.readers.documents.tags import FORMATTING, plain_text, without_tags
from tagwright.readers.headers import (
    DOCUMENT,
    LIKE_LABELS,
    MORE_LABELS,
    is_among_words,
    of_web_of_science,
    recognise_columns,
)
from tagwright.readers.limits import Reading
from tagwright.readers.lines import Place
from tagwright.types import Document

SAMPLE = 100
"Rows that tell the columns of a table, and whether a column holds HTML."

_TEXTS = frozenset({"text", "abstract", "sections"})
_EXACT: Mapping[str, frozenset[str]] = {
    "title": frozenset({"title"}),
    "text": _TEXTS,
    "abstract": _TEXTS,
    "labels": frozenset({"labels", "subject_uris"}),
    "id": frozenset({"id", "document_id"}),
}
_KNOWN = frozenset({"metadata", "subjects", *(name for names in _EXACT.values() for name in names)})
_FOREIGN = frozenset({"paper", "paper_id", "corpusid", "uid", "paragraphs", "suggestions", "names"})
"Fields that mark other shapes (`records`), whose other fields have their own meanings."
_MARKUP = re.compile(
    r"</(?:p|div|li|ul|ol|td|table|span|strong|b|em|i|a|h[1-6]|su[bp]|u|small)\s*>|<br\s*/?>", re.IGNORECASE
)
_WRAPPED = re.compile(r"\s*<(?:p|div|ul|ol|dl|table|h[1-6])\b[^<>]*>.*</\w+>\s*", re.IGNORECASE | re.DOTALL)
_log = logging.getLogger(__name__)


def parse_columns(text: str) -> dict[str, str]:
    """Parse `--columns`. Raises ConfigError, also for a field whose name looks misspelt.

    >>> parse_columns("title=Name,text=Body (HTML, long)")
    {'title': 'Name', 'text': 'Body (HTML, long)'}
    """
    columns: dict[str, str] = {}
    for part in re.split(r",(?=\s*[\w-]+\s*=)", text) if text.strip() else ():
        name, equals, column = (piece.strip() for piece in part.partition("="))
        near = None if name in DOCUMENT else find_nearest(name.lower(), DOCUMENT, cutoff=0.8)
        if near or not (name and equals and column) or name in columns:
            expected = "expected each field once, as in title=Name,text=Body,labels=Codes"
            slip = f"a field {show(name)}; did you mean {show(near)}?"
            raise ConfigError(f"--columns {show(text)}: {slip if near else expected}")
        columns[name] = column
    return columns


def join_labels(labels: Sequence[str]) -> str:
    """One text from which `split_labels` gives these labels: separated by `|`, or, if one holds that, a list in JSON.

    >>> join_labels(["a", "b"]), join_labels(["a|b"]), join_labels([])
    ('a|b', '["a|b"]', '')
    """
    plain = "|".join(labels)
    return plain if not labels or split_labels(plain) == [*labels] else format_list(labels)


def to_fields(rows: Iterable[Numbered], path: Path | str, reading: Reading, *, table: bool) -> Iterator[Numbered]:
    """Each row under the names of fields instead of columns; HTML in the texts of a table is stripped.

    table: rows of CSV, TSV, Parquet or Arrow; in JSON lines, only texts under names other than our own are stripped.
    Rows that continue the row above (the same id without title and text, as shops export pictures and variants) are
    left out.
    Raises InputError for a column that does not exist, for a table without title and text, and
    where a guess would confuse titles with labels, or labels with each other.
    """
    rows = iter(rows)
    sample = list(islice(rows, SAMPLE))
    if not sample:
        return
    plan = _plan([row for _, row in sample], reading.columns, Place(path, sample[0][0]), table)
    if plan.said:
        say(f"{path}: {plan.said}", warn=plan.guessed)
    before, seen, continued, blank = None, set[str](), list[int](), list[int]()
    for line, row in chain(sample, rows):
        record = plan.apply(row, Place(path, line), reading.is_label)
        is_blank = not any((value := record.get(name)) and value == value for name in plan.texts)
        goes_on = plan.guessed_id and record.get("id") == before and is_blank
        before = record.get("id")
        if is_blank and plan.texts:
            (continued if goes_on else blank).append(line)
        if goes_on:
            continue
        if plan.guessed_id:  # such a column may hold an id twice or none: the number of the line makes it unique
            name = str(before or "").strip()
            record["id"] = name if name and name not in seen else f"{name}#{line}" if name else str(line)
            seen.add(record["id"])
        yield line, record
    for lines, problem in (
        (continued, "left out, with the id of the row above and no text"),
        (blank if table else [], "without title and text"),
    ):
        if lines:
            _log.warning("%s: %s %s: %s", path, plural(len(lines), "row"), problem, list_first(list(map(str, lines))))


def subject_columns(sample: Sequence[Record], columns: Columns, place: Place) -> dict[str, str]:
    """Return column of subjects -> the code of their vocabulary, "" where it does not tell it. Raises as `to_fields`.

    sample: rows of a table. columns: those that the user names; of columns for labels, that is the only one.
    """
    fields, is_named = _plan(sample, columns, place, table=True).fields, "labels" in columns
    usual = ("labels", "subject_uris", "subjects", "label")
    return {
        column: _source_of_column(column)
        for column in dict.fromkeys(column for row in sample for column in row)
        if fields.get(column) == "labels" or (not is_named and (column in usual or _source_of_column(column)))
    }


def split_labels(text: str, is_label: Callable[[str], bool] | None = None) -> list[str]:
    """The labels in one text: URIs between white space, as Annif writes `<uri> <uri>`, or between `;`, `|`, line ends.

    A URI may hold `;` and `|` itself. Other labels that hold them are written as a list (`parse_list`), or are labels
    of the vocabulary at hand (`is_label`). Commas without a space separate labels where a part is in this vocabulary,
    and not the whole.

    >>> split_labels("a; b"), split_labels('["a;b", "<c"]'), split_labels("http://e/1 <http://e/2;x>")
    (['a', ' b'], ['a;b', '<c'], ['http://e/1', 'http://e/2;x'])
    """
    if (labels := parse_list(text)) is not None:
        return labels
    if re.fullmatch(r"\[\s*\d+(?:[\s,]+\d+)*\s*\]", text.strip()):
        return re.findall(r"\d+", text)
    if "||" in text:  # as DSpace exports and imports several values, which may hold the other separators
        return text.split("||")
    words = text.split()
    uri = r"<[^<>\s]+>|[A-Za-z][\w+.-]*:[^\s<>]*[^\s<>;|,]"
    if len(words) > 1 and all(re.fullmatch(uri, word) for word in words):
        return [word.strip("<>") for word in words]
    if text.lstrip().startswith("<") and (uris := re.findall(r"<([^<>\s]+)>", text)):
        return uris
    if is_label and is_label(text):
        return [text]
    if not re.search(r"[;|\r\n]", text):
        parts = text.split(",") if is_label and re.fullmatch(r"[^,]+(?:,[^,\s][^,]*)+", text) else [text]
        return parts if is_label and any(map(is_label, parts)) else [text]
    return re.split(r"[;|\r\n]", text)


def labels_in(cell: str | int, place: Place, is_label: Callable[[str], bool] | None = None) -> list[str]:
    """The labels in a cell of a column of labels; also those of Label Studio's CSV, `{"choices": ["a", "b"]}`.

    Raises InputError for other objects in JSON, such as marked spans.

    >>> labels_in('{"choices": ["a", "b"]}', Place("x.csv", 2)), labels_in('{"taxonomy": [["a", "b"]]}', Place("x.csv"))
    (['a', 'b'], ['b'])
    """
    text = str(cell)
    if not re.match(r"\s*(?:\{|\[\s*[\[{])", text):
        return split_labels(text, is_label)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return split_labels(text, is_label)
    results = value if isinstance(value, list) else [value]
    if all(isinstance(each, Mapping) and len(each) == 1 and {*each} <= {"choices", "taxonomy"} for each in results):
        results = [part for result in results for named in result.values() if isinstance(named, list) for part in named]
    chosen = [result[-1] if isinstance(result, list) and result else result for result in results]
    if not all(isinstance(choice, str) for choice in chosen):
        raise place.error(f"the labels are {show(text)}, expected names or ids; export the annotations as JSON instead")
    return chosen


def format_list(texts: Iterable[str]) -> str:
    """Return the cell that `parse_list` reads as these texts, also where the reader composes an accent with an escape.

    >>> format_list(["é", "a"])
    '["é", "a"]'
    """
    listed = [*texts]
    cell = json.dumps(listed, ensure_ascii=False)
    return cell if unicodedata.is_normalized("NFC", cell) else json.dumps(listed)


def parse_list(text: str) -> list[str] | None:
    """The texts of a list that is written in one cell, in JSON or as Python and NumPy print it; None for anything else.

    >>> parse_list('["a", "b"]'), parse_list("['a' 'b']"), parse_list("[a, b]")
    (['a', 'b'], ['a', 'b'], None)
    """
    if not text.lstrip().startswith(("[", "(", "{")):
        return None
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        return value if isinstance(value, list) and all(isinstance(part, str) for part in value) else None
    quoted = r"""'(?:[^'\\\n]|\\[\\'"nrtxuU])*'|"(?:[^"\\\n]|\\[\\'"nrtxuU])*\""""
    if not re.fullmatch(rf"[\[({{]\s*(?:{quoted})(?:[\s,]+(?:{quoted}))*,?\s*[\])}}]", text.strip()):
        return None
    try:
        return [ast.literal_eval(part) for part in re.findall(quoted, text)]
    except (ValueError, SyntaxError):  # as of half an escape
        return None


class _Plan(NamedTuple):
    """How rows become records.

    fields: column -> field. markup: fields that hold HTML; formatted: those of which some texts may hold elements that
    format. texts: fields without which a row is blank. table: as in `to_fields`. said: of the columns; guessed: as some
    are known by other names. sources: field or column with subjects -> the code of their vocabulary, where columns tell
    it; chosen: that of the column that the user has named.
    """

    fields: Mapping[str, str]
    markup: frozenset[str]
    formatted: frozenset[str]
    texts: frozenset[str]
    table: bool
    said: str
    guessed: bool
    guessed_id: bool
    sources: Mapping[str, str]
    chosen: str

    def apply(self, row: Record, place: Place, is_label: Callable[[str], bool] | None) -> dict[str, Any]:
        """The row under the names of fields, its texts without HTML and its labels apart."""
        taken = self.fields.values() - self.fields.keys()
        names = (f"column {column}" if column in taken else self.fields.get(column, column) for column in row)
        record = dict(zip(names, row.values(), strict=True))
        for name in self.formatted & record.keys():
            if isinstance(value := record[name], str):
                # a text of a table that is within an element is HTML even where the others of its field are not
                is_html = name in self.markup or (self.table and _WRAPPED.fullmatch(value))
                record[name] = plain_text(value) if is_html else without_tags(value, FORMATTING)
            elif name == "labels" and isinstance(value, list):
                record[name] = [without_tags(each, FORMATTING) if isinstance(each, str) else each for each in value]
        if "labels" in self.fields.values() and isinstance(value := record.get("labels"), str | int):
            record["labels"] = labels_in(value, place, is_label)
        if not self.sources:
            return record
        labels = dict[str, str]()
        for name, code in {"labels": "none", **self.sources}.items():
            value = record.pop(name, None)
            text = "" if value is None else str(value)
            parts = value if isinstance(value, list | tuple) else split_labels(text, is_label)
            for part in filter(None, map(str.strip, map(str, parts))):
                labels.setdefault(part, code)
        told = {LABEL_SOURCE: list(labels.values()), **({CHOSEN_SOURCE: self.chosen} if self.chosen else {})}
        return {**record, "labels": list(labels), **(told if labels else {})}


def _plan(sample: Sequence[Record], columns: Columns, place: Place, table: bool) -> _Plan:
    there = list(dict.fromkeys(column for row in sample for column in row))
    given = {_column(column, there, place): name for name, column in columns.items()}
    if len(given) < len(columns):
        twice = Counter(columns.values()).most_common(1)[0][0]
        raise place.error(f"the column {show(twice)} is given for two fields; give it for one of them")
    is_other = bool(_FOREIGN & set(there)) or any(map(_is_annif, sample))
    known = {} if is_other else _recognise(sample, there, given, place)
    fields = given | known
    of_user = next((column for column, name in given.items() if name == "labels"), "")
    sources = {column: code for column in ([of_user] if of_user else there) if (code := _source_of_column(column))}
    sources = {} if "labels" in there else sources
    named = {fields.get(column, column): column for column in there}
    judged = [name for name in ("title", "text", "abstract") if table or name in fields.values()]
    markup = frozenset(name for name in judged if name in named and _is_markup(sample, named[name]))
    names = {*fields.values(), *there}
    _check_text(sample, there, fields, place, table)
    said = _describe(known | dict.fromkeys(sources, "labels"), markup)
    unused = [column for column in there if table and column not in {*fields, *sources, *_KNOWN, *_FOREIGN}]
    lacking = "" if names & (_TEXTS | _FOREIGN) else "no column is text; "
    there_unused = f"{lacking}not used: {list_first(unused, 20)} (kept as metadata)" if unused else ""
    return _Plan(
        fields=fields,
        markup=markup,
        formatted=markup | ((names if table else {"title", "text", "abstract", "labels", *known.values()}) - {"id"}),
        texts=frozenset({"title", *_TEXTS}) & names,
        table=table,
        said="; ".join(filter(None, [*said, there_unused, f"to change this: {remedy()}" if said else ""])),
        guessed=bool(said),
        guessed_id="id" in known.values(),
        sources={fields.get(column, column): code for column, code in sources.items()},
        chosen=sources.get(of_user, ""),
    )


def _source_of_column(column: str) -> str:
    """The code of the vocabulary of a column of subjects, as DSpace and PubMed name them; else "".

    >>> _source_of_column("dc.subject.lcsh[en]"), _source_of_column("dc.subject"), _source_of_column("dc.subject.other")
    ('lcsh', '', '')
    """
    of_dspace, of_pubmed = r"(?:dc|dcterms)[.:]subject[.:](?=\w+(?:\[\w*\])?$)", r"(?=mesh (?:terms|headings)$)"
    match = re.match(rf"(?:{of_dspace}|{of_pubmed})(\w+)", column.strip().casefold())
    return match[1] if match and match[1] in SOURCES else ""


def _check_text(sample: Sequence[Record], there: Sequence[str], fields: Columns, place: Place, table: bool) -> None:
    """Raise InputError where no column is title or text: of a table always, of records if one of them may be.

    A table of ids, or of ids and labels, is what a run is scored with: it has no column that could be a text.
    """
    names = {*fields.values(), *there}
    if names & ({"title"} | _TEXTS | _FOREIGN) or (not table and names & {"metadata", "subjects"}):
        return
    free = [column for column in there if column not in {*fields, *_KNOWN}]
    if any(table or isinstance(row.get(column), str) for column in free for row in sample):
        columns, how = ", ".join(map(show, there)), remedy(text=free[0]) if len(free) == 1 else remedy()
        raise place.error(f"no column is recognised as title or text; the columns are {columns}; say which: {how}")


def _column(wanted: str, there: Sequence[str], place: Place) -> str:
    """The column of this name, exactly or without regard to case. Raises InputError that lists the columns."""
    matches = [column for column in there if column == wanted]
    matches = matches or [column for column in there if column.strip().casefold() == wanted.casefold()]
    if len(matches) != 1:
        raise place.error(f"no column {show(wanted)}; the columns are {', '.join(map(show, there))}")
    return matches[0]


def _is_annif(row: Record) -> bool:
    """Whether the subjects of a record are those of Annif's JSON lines, which are read as they are."""
    subjects = row.get("subjects")
    return isinstance(subjects, list) and ("document_id" in row or any(isinstance(part, Mapping) for part in subjects))


def _recognise(sample: Sequence[Record], there: Sequence[str], given: Columns, place: Place) -> dict[str, str]:
    """Columns, by their usual names, of the fields without a column of their exact name or a given one.

    Raises InputError where one column may be title or labels, or several may be the labels.
    """
    free = [column for column in there if column not in given]
    if tags := of_web_of_science(free):
        return {column: name for column, name in tags.items() if name not in given.values()}
    exact = {*there, *given.values()}
    known = {"labels", *(name for name, names in _EXACT.items() if exact & names)}
    parts = recognise_columns(free, {name: words for name, words in DOCUMENT.items() if name not in known})
    labels = list[str]()
    if not exact & _EXACT["labels"]:
        labels = [column for column in free if is_among_words(column, DOCUMENT["labels"])]
        labels = labels or [column for column in free if is_among_words(column, MORE_LABELS)]
    if "title" not in {*exact, *parts}:
        _check_subject(sample, free, labels, place)
    best = next((column for column in labels if is_among_words(column, ["labels"])), "")
    if len(labels) > 1 and not best:
        names = f"{', '.join(map(show, labels[:-1]))} and {show(labels[-1])}"
        raise place.error(f"{names} may each hold the labels, expected one; say which: {remedy(labels='...')}")
    if labels:
        parts["labels"] = best or labels[0]
    return {column: name for name, column in parts.items()}


def _check_subject(sample: Sequence[Record], free: Sequence[str], labels: Sequence[str], place: Place) -> None:
    """Refuse to guess whether "subject", without a title beside it, is the title of a message or the labels."""
    subject = next((column for column in free if column.strip().casefold() == "subject"), "")
    if not subject or any(isinstance(row.get(subject), list) for row in sample):
        return
    of_messages = ("body", "message", "body html", "from", "sender", "to", "recipient", "recipients")
    message = next((column for column in free if is_among_words(column, of_messages)), "")
    if message or subject in labels:
        remedies = " or ".join(remedy(**{name: subject}) for name in ("title", "labels"))
        beside = f"is beside {show(message)}" if message else "is without a title beside it"
        raise place.error(f"{show(subject)} {beside}: the title of a message, or its labels; say which: {remedies}")


def hint_at_labels(documents: Sequence[Document], vocabulary: Vocabulary) -> None:
    """Warn of metadata that look like labels, by their name or their values, if no document has a label."""
    if any(document.labels for document in documents):
        return
    held = dict[str, list[str]]()
    for document in islice(documents, SAMPLE):
        for name, values in document.metadata.items():
            held.setdefault(name, []).extend(values)
    like = (name for name, values in held.items() if is_among_words(name, LIKE_LABELS) or vocabulary.has_all(values))
    if name := next(like, ""):
        problem = "none of %s has a label; the metadata %s looks like labels: %s"
        _log.warning(problem, plural(len(documents), "document"), name, remedy(labels=name))


def _is_markup(sample: Sequence[Record], column: str) -> bool:
    """Whether most cells hold an end tag or line break of HTML: a text about HTML shows them only now and then."""
    cells = [row[column] for row in sample if isinstance(row.get(column), str) and row[column].strip()]
    return 2 * sum(bool(_MARKUP.search(cell)) for cell in cells) > len(cells)


def _describe(known: Columns, markup: Collection[str]) -> list[str]:
    """Describe the columns known by other names; those of which only the case of the name differs are left out."""
    named = [f"{name} from {show(column)}" for column, name in known.items() if column.strip().casefold() != name]
    said = [f"columns: {', '.join(named)}"] if named else []
    return [*said, f"HTML is stripped from {', '.join(sorted(markup))}"] if markup else said


def remedy(**columns: str) -> str:
    """How columns are named, for all messages of readers. columns: field -> its column, or "..." for any.

    >>> remedy(text="data"), remedy(labels="...")
    ('Corpus.of(documents, text="data")', 'Corpus.of(documents, labels=...)')
    """
    named = columns or dict.fromkeys(("title", "text", "labels"), "...")
    python = ", ".join(f"{field}={column if column == '...' else show(column)}" for field, column in named.items())
    flag = ",".join(f"{field}={column}" for field, column in named.items())
    return option("columns", flag, python=f"Corpus.of(documents, {python})")
