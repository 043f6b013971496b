"""Suggested subjects as fields of MARC 21: 650 with the subject, and 883, linked to it, with where it comes from."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tagwright import __version__
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, option
from tagwright.readers.documents.catalogue import Field
from tagwright.readers.documents.sections import one_line
from tagwright.tagger import Suggestion
from tagwright.types import Run

Suggested = Callable[[str, int], Sequence[Suggestion]]
"Control number and place of a record -> its suggested subjects, best first."


def suggested_by(run: Run, ids: Sequence[str], places: Sequence[int], vocabulary: Vocabulary) -> Suggested:
    """The suggestions of a run over documents with these ids at these places; none for other records.

    A record is found by its place, since numbers may be repeated: the id of a later document is `1#3`.
    """
    rows = {place: row for row, place in enumerate(places)}

    def suggested(number: str, place: int) -> list[Suggestion]:
        row = rows.get(place)
        if row is None or not (ids[row] == number or ids[row].startswith(f"{number}#")):
            return []
        one = run.take([row])
        labels = map(vocabulary.__getitem__, one.labels.tolist())
        sure = [None] * len(one.labels) if one.confidences is None else one.confidences.tolist()
        found = zip(labels, one.scores.tolist(), sure, strict=True)
        return [Suggestion(label.id, label.name, score, confidence) for label, score, confidence in found]

    return suggested


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What the fields say of all subjects. source: the code of the vocabulary, as MARC lists them (gnd, lcsh, stw).

    date: of the suggestions, YYYYMMDD. agency: the code of the library, "" for none. Raises ConfigError.
    """

    source: str
    date: str
    agency: str = ""
    method: str = f"tagwright {__version__}"

    def __post_init__(self) -> None:
        for name, code, of, example in (
            ("source", self.source, "vocabulary", "gnd, or local for one that has none"),
            ("agency", self.agency or "none", "library", "DE-101"),
        ):
            if not re.fullmatch(r"[A-Za-z0-9/.-]{1,30}", code):
                given = f"{option(name)} is {code[:40]!r}"
                raise ConfigError(
                    f"{given}, expected MARC's code of the {of}, of letters and digits, such as {example}"
                )


def fields_of(subjects: Sequence[Suggestion], provenance: Provenance, last_link: int = 0) -> list[Field]:
    r"""The fields to add to a record, those of the subjects first.

    last_link: the highest link number ($8) of the record; each subject and its provenance get the next one.

    >>> bees = Suggestion("http://x.org/1", "Bees", 1.0, confidence=0.825)
    >>> subject, provenance = fields_of([bees], Provenance(source="gnd", date="20260131", method="tagwright"), 2)
    >>> subject.subfields
    (('8', '3\\p'), ('a', 'Bees'), ('0', 'http://x.org/1'), ('2', 'gnd'))
    >>> provenance.subfields
    (('8', '3\\p'), ('a', 'tagwright'), ('c', '0.825'), ('d', '20260131'))
    """
    linked = [(("8", f"{number}\\p"), subject) for number, subject in enumerate(subjects, last_link + 1)]
    fields = [subject_field(subject, provenance.source) for subject in subjects]
    return [
        *(field._replace(subfields=(link, *field.subfields)) for (link, _), field in zip(linked, fields, strict=True)),
        *(Field("883", "0 ", (link, *_origin(subject, provenance))) for link, subject in linked),
    ]


def subject_field(subject: Suggestion, source: str) -> Field:
    r"""The field 650 of a subject. source: the code of the vocabulary.

    >>> mnemonic(subject_field(Suggestion("7", "Bees for $1", 1.0), "gnd"))
    '=650  \\7$aBees for {dollar}1$0(gnd)7$2gnd'
    """
    number = _control_number(subject, source)
    subfields = ("a", one_line(subject.name)), *([("0", number)] if number else []), ("2", source)
    return Field("650", " 7", subfields)


def mnemonic(field: Field) -> str:
    r"""A field as editors of MARC records show it and let it be pasted: `=650  \\7$aBees$2gnd`."""
    subfields = ("".join(("$", code, value.replace("$", "{dollar}"))) for code, value in field.subfields)
    return f"={field.tag}  {field.indicators.replace(' ', chr(92))}{''.join(subfields)}"


def _control_number(subject: Suggestion, source: str) -> str:
    """The id as $0 has it: an address, or a number after its system in parentheses; "" where the name is the id."""
    if subject.id == subject.name:
        return ""
    label_id = one_line(subject.id)
    return label_id if re.match(r"https?://|\(", label_id) else f"({source}){label_id}"


def _origin(subject: Suggestion, provenance: Provenance) -> tuple[tuple[str, str], ...]:
    confidence = [] if subject.confidence is None else [("c", f"{subject.confidence:.4g}")]
    agency = [("q", provenance.agency)] if provenance.agency else []
    return ("a", provenance.method), *confidence, ("d", provenance.date), *agency
