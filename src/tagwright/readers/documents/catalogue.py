"""Shared by the formats of library catalogues: fields, subjects and how labels refer to them, unreadable records."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from tagwright.core.display import plural
from tagwright.core.progress import note
from tagwright.data.subjects import CHOSEN_SOURCE, LABEL_SOURCE, relabel_document, source_code, write_reference
from tagwright.errors import ConfigError, InputError
from tagwright.readers.account import say_unused
from tagwright.readers.documents.columns import remedy, split_labels
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import one_line
from tagwright.readers.documents.tags import without_markup
from tagwright.readers.limits import Reading, leave_out_unreadable
from tagwright.types import Document, Section

_log = logging.getLogger(__name__)
_Raw = TypeVar("_Raw")
"A record as its format has it: fields of MARC and PICA, an element of Dublin Core."


class Field(NamedTuple):
    """A field of a record. indicators: of MARC, two characters; the occurrence of PICA.

    subfields: (code, value), in order; a control field has one with the code "".
    """

    tag: str
    indicators: str
    subfields: tuple[tuple[str, str], ...]

    def values(self, codes: str) -> list[str]:
        """The values of these subfields in order, cleaned, without blank ones.

        >>> Field("245", "00", (("a", "Bees :"), ("c", "A. Low."), ("b", "how  they fly /"))).values("ab")
        ['Bees :', 'how they fly /']
        """
        lines = (one_line(value) for code, value in self.subfields if code and code in codes)
        return [line for line in lines if line]

    def joined(self, codes: str) -> str:
        """The values of these subfields in one line."""
        return " ".join(self.values(codes))

    @property
    def value(self) -> str:
        """The value of a control field, with all of its characters: some are found by position."""
        return next((value for code, value in self.subfields if not code), "")


def with_tags(fields: Iterable[Field], tags: str) -> list[Field]:
    """The fields of these tags, which spaces separate."""
    wanted = tags.split()
    return [field for field in fields if field.tag in wanted]


def values(fields: Iterable[Field], tags: str, codes: str) -> list[str]:
    """The values of these subfields in all fields of these tags."""
    return [value for field in with_tags(fields, tags) for value in field.values(codes)]


def contents(paragraphs: Iterable[str], heading: str = "Contents") -> tuple[Section, ...]:
    """A section of these paragraphs, if there are any."""
    texts = tuple(paragraphs)
    return (Section(heading, 1, texts),) if texts else ()


class Subject(NamedTuple):
    """A subject of a record. source: code of its vocabulary, "" if unknown; ids: of the heading; name: may be blank."""

    source: str
    ids: tuple[str, ...]
    name: str

    @property
    def label(self) -> str:
        """The subject as a label of a document, from which `Vocabulary.resolve` finds it."""
        return write_reference(self.ids, self.name)

    def several(self, is_label: Callable[[str], bool] | None = None) -> list[Subject]:
        """The subjects that one field holds with `;` between, unless the whole is a label of the vocabulary at hand.

        >>> [each.name for each in Subject("", (), "Bees; Honey").several()]
        ['Bees', 'Honey']
        """
        if self.ids or ";" not in self.name:
            return [self]
        names = (name.strip() for name in split_labels(self.name, is_label))
        return [self._replace(name=name) for name in names if name]


class Remarks:
    """The problems of the records of a file: a line for each, with its first place and its count."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._first, self._last = dict[str, tuple[int, str]](), dict[str, int]()
        self._counts = Counter[str]()

    def add(self, number: int, problem: str, detail: str = "") -> None:
        """Note a problem of a record, in order. detail: what is said of the first record alone."""
        self._first.setdefault(problem, (number, detail))
        self._counts[problem] += self._last.get(problem) != number
        self._last[problem] = number

    def log(self) -> None:
        """Log the lines."""
        for problem, (number, detail) in self._first.items():
            others = self._counts[problem] - 1
            more = f" (and {plural(others, 'other record')})" if others else ""
            _log.warning("%s:%d: %s%s%s", self.path, number, problem, detail, more)


class Record(NamedTuple):
    """A record without its labels, and its subjects. unused: fields that are not read. remark: see `Remarks`."""

    document: Document
    subjects: Sequence[Subject]
    unused: Collection[str] = ()
    remark: str = ""


def to_documents(
    records: Iterable[tuple[int, _Raw] | InputError],
    read: Callable[[_Raw], Record | None],
    path: Path,
    reading: Reading,
    passed_over: str = "is deleted, or describes no work",
) -> Iterator[Located]:
    """Documents of numbered records.

    reading: of its columns, `labels` is the code of the subjects to take, or the field of metadata that holds labels.
    passed_over: what is said of records that are read as None. A damaged record is collected or logged, and the others
    are read. Lines of log count the records that are passed over, those without title and text, and the subjects of
    other vocabularies than the chosen one. Raises InputError if no record can be read, and if no subject is of the
    chosen vocabulary; ConfigError for other columns.
    """
    if other := {*reading.columns} - {"labels"}:
        source = remedy(labels="lcsh")
        raise ConfigError(f"a catalogue record has no column for {min(other)}; only the source of labels: {source}")
    chosen, sources, unused = source_code(reading.columns.get("labels", "")), Counter[str](), Counter[str]()
    remarks = Remarks(path)
    for number, raw in leave_out_unreadable(records, reading):
        if (record := read(raw)) is None:
            remarks.add(number, f"passed over: {passed_over}")
            continue
        document = without_markup(record.document)
        if record.remark:
            remarks.add(number, record.remark)
        if not document.text:
            remarks.add(number, "has no title and no text")
        unused.update(record.unused)
        several = (part for subject in record.subjects for part in subject.several(reading.is_label))
        subjects = [subject for subject in several if subject.label]
        sources.update(subject.source for subject in subjects)
        document = _label_by_subjects(document, subjects, chosen)
        if chosen in document.metadata:  # labels=keyword
            sources.update([chosen])
            kept = {name: values for name, values in document.metadata.items() if name != chosen}
            document = relabel_document(replace(document, metadata=kept), document.metadata[chosen])
        yield number, document
    remarks.log()
    say_unused(path, unused)
    _report(sources, chosen, path)


def _label_by_subjects(document: Document, subjects: Sequence[Subject], chosen: str) -> Document:
    """The document with its subjects as labels; those of other vocabularies than the chosen one are metadata.

    The source of each label is metadata too, if any is known; an unknown one is "none".
    """
    labels = [subject for subject in subjects if chosen in ("", subject.source)]
    others = tuple(dict.fromkeys(subject.name for subject in subjects if subject.name and subject not in labels))
    metadata, sources = {**document.metadata, **({"subject": others} if others else {})}, dict[str, str]()
    for subject in labels:
        sources.setdefault(subject.label, subject.source or "none")
    if any(subject.source for subject in labels):
        metadata[LABEL_SOURCE] = tuple(sources.values())
    if chosen and labels:
        metadata[CHOSEN_SOURCE] = (chosen,)
    return replace(document, labels=tuple(sources), metadata=metadata)


def _report(sources: Counter[str], chosen: str, path: Path) -> None:
    """Log which vocabularies the labels are of, if of several. Raises InputError if the chosen one has none."""
    known = [f"{source} ({count:,})" for source, count in sources.most_common() if source]
    if chosen and sources and not sources[chosen]:
        problem = f"no subject is of the vocabulary {chosen}; there are {', '.join(known) or 'none with a code'}"
        raise InputError(problem, path)
    if chosen and (other := sources.total() - sources[chosen]):
        _log.warning("%s: %s of other vocabularies than %s, which are metadata", path, plural(other, "subject"), chosen)
    if len(sources) > 1 and not chosen and known:
        first = known[0].partition(" ")[0]
        note(f"{path}: labels are subjects of {', '.join(known)}; to take those of one: {remedy(labels=first)}")
