"""Make a `Document` of a record of any known shape; the only place that checks its fields.

The shapes differ in the names of their fields. What a shape has no name for becomes metadata.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tagwright.core.checked import is_missing, show
from tagwright.core.display import list_first
from tagwright.data.records import to_record
from tagwright.data.subjects import LABEL_SOURCE, source_code
from tagwright.errors import InputError, option
from tagwright.readers.account import say_unused
from tagwright.readers.documents.s2orc import adapt_s2orc, unread_fields
from tagwright.readers.limits import Reading
from tagwright.readers.lines import Place, id_field, ids_field, text_field, texts_field
from tagwright.text.words import clean
from tagwright.types import Document, Section

_log = logging.getLogger(__name__)
_NESTED = (Mapping, list, tuple, bytes)

Record: TypeAlias = Mapping[str, Any]
Numbered: TypeAlias = tuple[int, Record]
"A record and the line or row where it begins."
Located: TypeAlias = tuple[int, Document]
"A document and the line or row where it begins; 0 when it is the whole file."


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The names of the fields in one kind of record."""

    id: str = "id"
    abstract: str = "abstract"
    sections: str = "sections"
    labels: str = "labels"
    needless: frozenset[str] = frozenset()
    "Fields that say nothing of a document, such as the relevances of labels, which are all 1."
    numbered: bool = False
    "A record may be without an id; the document has a blank one, and is called by its line or file."
    adapt: Callable[[Record], Record] = lambda record: record
    "Converts records whose structure differs, not only their names. Errors are left to the checks, or raised."
    unread: Callable[[Record], Iterable[str]] | None = None
    "The fields of a record that `adapt` does not use; of other shapes, those that hold objects or lists of lists."

    @property
    def parts(self) -> frozenset[str]:
        """The fields of the document itself, and the needless ones; every other field is metadata."""
        own = {self.id, "title", self.abstract, "text", self.sections, "metadata", self.labels}
        return self.needless | own


def recognise(fields: Collection[str], place: Place) -> Shape:
    """The shape of records that hold these fields. Raises InputError when they are labels or a run, not documents."""
    if "names" in fields and not {"title", "abstract", "text", "sections"} & set(fields):
        raise place.error("holds labels, expected documents; give this file as the vocabulary")
    if "suggestions" in fields:
        raise place.error(f"holds a run, expected documents; give this file with {option('run', python='read_run')}")
    shape = next((shape for signature, shape in _SIGNATURES if signature.issubset(fields)), SHAPES["jsonl"])
    # a column called labels, or taken for them, comes before Annif's names for them
    of_annif = shape.labels in ("subjects", "subject_uris")
    return replace(shape, labels="labels") if "labels" in fields and of_annif else shape


def to_documents(
    records: Iterable[Numbered], shape: Shape, path: Path | str, reading: Reading, *, says_unused: bool
) -> Iterator[Located]:
    """Each record as a document, with its line. Raises InputError with path and line for a field of a wrong type.

    A line of log counts and names the fields that are not read. says_unused: another one those that are metadata only.
    """
    unread, unused = Counter[str](), Counter[str]()
    for line, record in records:
        try:
            document = to_document(record, shape, Place(path, line))
        except InputError as error:
            reading.reject(error)
        else:
            nested = [*(shape.unread(record) if shape.unread else _find_nested(record, shape.parts))]
            unread.update(nested)
            if says_unused and not shape.unread:
                unused.update(map(clean, record.keys() - shape.parts - {*nested}))
            yield line, document
    say_unused(path, unused, kept=True)
    if unread:
        fields = list_first([f"{field} ({count:,})" for field, count in unread.most_common()], 10)
        _log.warning("%s: not read: %s", path, fields)


def to_document(record: Record, shape: Shape, place: Place) -> Document:
    """Check and clean every field. A `text` is the abstract, or where there is one, a section without heading."""
    try:
        record = shape.adapt(record)
    except ValueError as error:
        raise place.error(str(error)) from None
    numbered = shape.numbered and record.get(shape.id) is None
    abstract, text = text_field(record, shape.abstract, place), text_field(record, "text", place)
    sections = _sections(record, shape.sections, place)
    if abstract and text:
        sections = (Section("", 1, (text,)), *sections)
    return Document(
        id="" if numbered else id_field(record, place, shape.id),
        title=text_field(record, "title", place),
        abstract=abstract or text,
        sections=sections,
        metadata=_metadata(record, shape.parts, place),
        labels=tuple(dict.fromkeys(ids_field(record, shape.labels, place))),
    )


def check_document(document: Document, place: Place) -> Document:
    """A document from memory or from a saved corpus, checked like one from a file. Raises InputError with the place."""
    return to_document(to_record(document), SHAPES["jsonl"], place)


def _sections(record: Record, key: str, place: Place) -> tuple[Section, ...]:
    entries = record.get(key)
    if not entries:
        return ()
    if not isinstance(entries, list):
        raise place.error(f"{key} is {show(entries)}, expected a list of sections")
    sections = [_section(entry, f"{key}[{position}]", place) for position, entry in enumerate(entries)]
    return _join_sections(sections) if key == "paragraphs" else tuple(sections)


def _section(entry: object, name: str, place: Place) -> Section:
    if not isinstance(entry, dict):
        raise place.error(f"{name} is {show(entry)}, expected an object with heading, level, paragraphs")
    if "section" in entry:
        text = text_field(entry, "text", place)
        return Section(text_field(entry, "section", place), 1, (text,) if text else ())
    level = 1 if entry.get("level") is None else entry["level"]
    if type(level) is not int or not 1 <= level <= 1000:
        raise place.error(f"{name}.level is {show(level)}, expected 1 for a top section, 2 for one inside it")
    paragraphs = entry.get("paragraphs")
    if isinstance(paragraphs, str):
        entry = {**entry, "paragraphs": [paragraphs]}
    return Section(text_field(entry, "heading", place), level, texts_field(entry, "paragraphs", place))


def _join_sections(sections: Iterable[Section]) -> tuple[Section, ...]:
    """FuTex names the section of every paragraph: consecutive paragraphs with the same name form one section."""
    runs = groupby(sections, key=lambda section: section.heading)
    return tuple(Section(heading, 1, tuple(text for part in run for text in part.paragraphs)) for heading, run in runs)


def _metadata(record: Record, parts: Collection[str], place: Place) -> dict[str, tuple[str, ...]]:
    given = record.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise place.error(f'metadata is {show(given)}, expected an object like {{"author": ["..."]}}')
    named = dict[str, tuple[str, ...]]()
    for field, values in (given or {}).items():
        if values is not None:
            key, several = f"metadata.{field}", [values] if isinstance(values, str | int | float) else values
            named[clean(field)] = texts_field({key: several}, key, place)
    other = {clean(field): _other_values(value) for field, value in record.items() if field not in parts}
    return {**{field: values for field, values in other.items() if values}, **named}


def _other_values(value: object) -> tuple[str, ...]:
    """The values of an unknown field, one or a list of them; objects are skipped."""
    values = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(part, _NESTED) for part in values):
        return ()
    return tuple(text for text in (clean(str(part)).strip() for part in values if not is_missing(part)) if text)


def _find_nested(record: Record, parts: Collection[str]) -> Iterator[str]:
    """The unknown fields that hold objects or lists of lists, which no metadata can."""
    for field, value in record.items():
        values = value if isinstance(value, list | tuple) else [value]
        if field not in parts and any(isinstance(part, _NESTED) and part for part in values):
            yield clean(field)


def _adapt_annif(record: Record) -> Record:
    """Subjects are objects with uri or label; title and abstract are in the metadata."""
    adapted = dict(record)
    subjects = record.get("subjects")
    if isinstance(subjects, list) and all(isinstance(subject, dict) for subject in subjects):
        named = {subject.get("uri") or subject.get("label"): _scheme(subject) for subject in subjects}
        adapted["subjects"] = list(named)
        adapted |= {LABEL_SOURCE: list(named.values())} if {*named.values()} - {"none"} else {}
    if isinstance(metadata := record.get("metadata"), dict):
        lifted = {field: metadata[field] for field in ("title", "abstract") if field in metadata}
        rest = {field: value for field, value in metadata.items() if field not in lifted}
        adapted = {**lifted, **adapted, "metadata": rest}
    return adapted


def _scheme(subject: Record) -> str:
    """The code of the vocabulary that a subject names, or "none"."""
    named = (subject.get(name) for name in ("scheme", "source", "vocabulary", "authority", "inScheme", "subjectScheme"))
    return source_code(str(next(filter(None, named), ""))) or "none"


def _adapt_micol(record: Record) -> Record:
    """The words of a phrase are joined by underscores, which the authors' own preprocessing replaces with spaces."""
    text = record.get("text")
    return {**record, "text": text.replace("_", " ")} if isinstance(text, str) else record


POSITION = "#"
"""Begins the labels of documents of the Extreme Classification repository, which are positions in the file of labels:
its labels have ids of their own, some of which are numbers too."""


def _adapt_xc(record: Record) -> Record:
    """Labels are positions, from 0."""
    labels = record.get("target_ind")
    return {**record, "target_ind": [f"{POSITION}{label}" for label in labels]} if isinstance(labels, list) else record


Flavour: TypeAlias = Literal["jsonl", "annif", "xc", "micol", "futex", "s2orc"]

SHAPES: Mapping[Flavour, Shape] = {
    "jsonl": Shape(),
    "annif": Shape(id="document_id", labels="subjects", numbered=True, adapt=_adapt_annif),
    "xc": Shape(id="uid", abstract="content", labels="target_ind", needless=frozenset({"target_rel"}), adapt=_adapt_xc),
    "micol": Shape(id="paper", labels="label", adapt=_adapt_micol),
    "futex": Shape(id="paper", labels="label", sections="paragraphs", numbered=True),
    "s2orc": Shape(id="paper_id", adapt=adapt_s2orc, unread=unread_fields),
}

_SIGNATURES: tuple[tuple[frozenset[str], Shape], ...] = (
    (frozenset({"paper", "paragraphs"}), SHAPES["futex"]),
    (frozenset({"paragraphs"}), replace(SHAPES["futex"], id="id")),
    (frozenset({"id", "subject_uris"}), Shape(labels="subject_uris")),
    (frozenset({"id"}), SHAPES["jsonl"]),
    (frozenset({"paper"}), SHAPES["micol"]),
    (frozenset({"paper_id"}), SHAPES["s2orc"]),
    (frozenset({"corpusid"}), SHAPES["s2orc"]),
    (frozenset({"uid"}), SHAPES["xc"]),
    (frozenset({"subject_uris"}), replace(SHAPES["annif"], labels="subject_uris")),
    (frozenset({"subjects"}), SHAPES["annif"]),
    (frozenset({"document_id"}), SHAPES["annif"]),
    (frozenset({"text"}), replace(SHAPES["annif"], id="id", labels="labels")),
    *((frozenset({part}), Shape(numbered=True)) for part in ("title", "abstract", "sections")),
)
"The most specific first: the first whose fields a record has."
