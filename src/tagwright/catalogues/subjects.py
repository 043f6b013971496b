"""Subjects as fields of MARC 21: 650 with the subject, and 883, linked to it, with where it comes from."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from tagwright.data.subjects import SOURCES, number_in, source_code
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, option
from tagwright.readers.documents.catalogue import Field
from tagwright.readers.documents.sections import one_line
from tagwright.types import Label, Run, list_or_nones
from tagwright.version import __version__

Assigned: TypeAlias = Literal["0", "1", "2"]
"The first indicator of 883: by a machine alone, by a machine and a person who accepted it, or by a person alone."


class NewSubject(NamedTuple):
    """A subject to add. date: when it was assigned, YYYYMMDD, "" for the date of the copy; language: of the name.

    kept: whether a reviewer only left it, as the record had it: it is no news of the record.
    """

    id: str
    name: str
    confidence: float | None = None
    assigned: Assigned = "0"
    date: str = ""
    language: str = ""
    kept: bool = False

    @classmethod
    def of(
        cls, label: Label, confidence: float | None = None, assigned: Assigned = "0", date: str = "", names_in: str = ""
    ) -> "NewSubject":
        """A label by its preferred name. names_in: its language, where the name is the same in several.

        >>> radio = Label("1", ("radio",), languages=(("en", "radio"), ("fi", "radio")))
        >>> NewSubject.of(radio).language, NewSubject.of(radio, names_in="fi").language
        ('en', 'fi')
        """
        codes = [code for code, name in label.languages if name == label.name]
        language = names_in if names_in in codes else next(iter(codes), "")
        return cls(label.id, label.name, confidence, assigned, date, language)


OfRow: TypeAlias = Callable[[int], Sequence[NewSubject] | None]
"A row of a corpus -> the subjects of this document, best first; None to leave its record as it is."

Suggested: TypeAlias = Callable[[str, int], Sequence[NewSubject] | None]
"The same by control number and place of a record."


def suggested_by(of_row: OfRow, ids: Sequence[str], places: Sequence[int]) -> Suggested:
    """The subjects of documents with these ids at these places; None for other records.

    A record is found by its place, since numbers may be repeated: the id of a later document is `1#3`.
    """
    rows = {place: row for row, place in enumerate(places)}

    def suggested(number: str, place: int) -> Sequence[NewSubject] | None:
        row = rows.get(place)
        if row is None or not (ids[row] == number or ids[row].startswith(f"{number}#")):
            return None
        return of_row(row)

    return suggested


def of_run(run: Run, vocabulary: Vocabulary, names_in: str = "") -> Callable[[int], list[NewSubject]]:
    """The suggestions of a run, by row. names_in: the code of the language of the names, if one was asked for."""
    language = names_in or vocabulary.language_of_names

    def of_row(row: int) -> list[NewSubject]:
        one = run.take([row])
        confidences = list_or_nones(one.confidences, len(one.labels))
        labels = map(vocabulary.__getitem__, one.labels.tolist())
        return [
            NewSubject.of(label, confidence, names_in=language)
            for label, confidence in zip(labels, confidences, strict=True)
        ]

    return of_row


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The origin of all subjects. source: the code of the vocabulary, as MARC lists them (gnd, lcsh, stw).

    date: of the copy, YYYYMMDD. agency: the code of the library, "" for none. Raises ConfigError.
    """

    source: str
    date: str
    agency: str = ""
    method: str = f"tagwright {__version__}"

    def __post_init__(self) -> None:
        _check_code("source", self.source, "vocabulary", "gnd, or local for one that has none")
        if self.agency:
            _check_code("agency", self.agency, "library", "DE-101")


def _check_code(name: str, code: str, of: str, example: str) -> None:
    """Raise ConfigError for a code with characters that are no part of MARC's codes and could break a field."""
    if not re.fullmatch(r"[A-Za-z0-9/.-]{1,30}", code):
        given = f"{option(name)} is {code[:40]!r}"
        raise ConfigError(f"{given}, expected MARC's code of the {of}, of letters and digits, such as {example}")


def fields_of(
    subjects: Sequence[NewSubject], provenance: Provenance, record: Sequence[Field] = (), earlier: Sequence[Field] = ()
) -> list[Field]:
    r"""The fields to add to a record, those of the subjects first.

    record: its other fields. A subject that one of them has is left out, and links ($8) begin above theirs. earlier:
    fields of an earlier copy, which these replace: what is the same keeps its date, so that a copy of a copy is equal.
    A subject that was only kept is written again where the earlier copy wrote it, and not where the record has it.

    >>> bees = NewSubject("http://x.org/1", "Bees", confidence=0.825)
    >>> subject, origin = fields_of([bees], Provenance(source="zoo", date="20260131", method="tagwright"))
    >>> subject.subfields
    (('8', '1\\p'), ('a', 'Bees'), ('0', 'http://x.org/1'), ('2', 'zoo'))
    >>> origin
    Field(tag='883', indicators='0 ', subfields=(('8', '1\\p'), ('a', 'tagwright'), ('c', '0.825'), ('d', '20260131')))
    """
    dates = _dates(earlier)
    link = max(map(int, _links(record, r"(\d{1,9}).*")), default=0)
    fields = list[Field]()
    origins = list[Field]()
    for subject in subjects:
        field = subject_field(subject.id, subject.name, provenance.source, subject.language)
        if _has_subject(record, field) or (subject.kept and not _has_subject(earlier, field)):
            continue
        link += 1
        earlier_date = dates.get((_remove_link(field), _remove_link(_origin(subject, provenance, ""))))
        origin = _origin(subject, provenance, subject.date or earlier_date or provenance.date)
        fields.append(_linked_field(field, link))
        origins.append(_linked_field(origin, link))
    return [*fields, *origins]


def written_before(fields: Sequence[Field]) -> set[int]:
    """The places of the fields that an earlier copy added: 883 with our name, and each 650 that is linked to one.

    A 650 without its link ($8), or with one to the 883 of others too, is a cataloguer's.
    """
    origins = {place for place, field in enumerate(fields) if field.tag == "883"}
    ours = {place for place in origins if _is_ours(fields[place])}
    links = _links(fields[place] for place in ours) - _links(fields[place] for place in origins - ours)
    subjects = {place: _links([field]) for place, field in enumerate(fields) if field.tag == "650"}
    return ours | {place for place, linked in subjects.items() if linked and linked <= links}


def _is_ours(origin: Field) -> bool:
    """Whether an 883 names Tagwright, of any version, as what has assigned its subject."""
    return any(name.lower().split()[0] == "tagwright" for name in origin.values("a"))


def subject_field(label_id: str, name: str, source: str, language: str = "") -> Field:
    r"""The field 650 of a subject. source: the code of the vocabulary. language: of the name, where codes differ by it.

    >>> mnemonic(subject_field("7", "Bees for $1", "zoo"))
    '=650  \\7$aBees for {dollar}1$0(zoo)7$2zoo'
    >>> mnemonic(subject_field("http://d-nb.info/gnd/4058047-7", "Sonne", "gnd"))
    '=650  \\7$aSonne$0(DE-588)4058047-7$2gnd'
    >>> mnemonic(subject_field("D001516", "Bees", "mesh"))
    '=650  \\2$aBees$0http://id.nlm.nih.gov/mesh/D001516'
    >>> mnemonic(subject_field("http://www.yso.fi/onto/yso/p3147", "bin", "yso", "sv"))
    '=650  \\7$abin$0http://www.yso.fi/onto/yso/p3147$2yso/swe'
    """
    suffix = {"fi": "/fin", "sv": "/swe", "en": "/eng", "se": "/sme"}.get(language, "")
    number = "" if label_id == name else _control_number(one_line(label_id), source)
    indicator = SOURCES[source].indicator if source in SOURCES else "7"
    code = f"{source}{suffix}" if source in ("yso", "kauno") else source
    subfields = [("a", one_line(name)), ("0", number), ("2", code if indicator == "7" else "")]
    return Field("650", f" {indicator}", tuple((each, value) for each, value in subfields if value))


def mnemonic(field: Field) -> str:
    r"""A field as editors of MARC records show it and let it be pasted: `=650  \\7$aBees$2gnd`."""
    subfields = ("".join(("$", code, value.replace("$", "{dollar}"))) for code, value in field.subfields)
    indicators = field.indicators.replace(" ", "\\")
    return f"={field.tag}  {indicators}{''.join(subfields)}"


def _control_number(label_id: str, source: str) -> str:
    """The id as $0 has it: a number after the code of its agency in parentheses, or an address."""
    code = source.partition("/")[0]
    if code in SOURCES and (number := number_in(label_id, code)):
        known = SOURCES[code]
        if code == "fast":
            number = f"fst{number.removeprefix('fst').lstrip('0'):0>8}"
        if known.agency:
            return f"({known.agency}){number}"
        return label_id if label_id.startswith("http") else f"http://{known.address}{number}"
    return label_id if re.match(r"https?://|\(", label_id) else f"({source}){label_id}"


def _origin(subject: NewSubject, provenance: Provenance, date: str) -> Field:
    """The field 883 of a subject, without its link."""
    confidence = [] if subject.confidence is None else [("c", f"{subject.confidence:.4f}".rstrip("0").rstrip("."))]
    agency = [("q", provenance.agency)] if provenance.agency else []
    return Field("883", f"{subject.assigned} ", (("a", provenance.method), *confidence, ("d", date), *agency))


def _linked_field(field: Field, link: int) -> Field:
    """The field with a link ($8) in front: a 650 and an 883 with the same number belong together."""
    return field._replace(subfields=(("8", f"{link}\\p"), *field.subfields))


def _links(fields: Iterable[Field], pattern: str = r"(\d+\\p)") -> set[str]:
    """Return the matches of a pattern in the links of these fields."""
    matches = (re.fullmatch(pattern, value) for field in fields for value in field.values("8"))
    return {match[1] for match in matches if match}


def _remove_link(field: Field) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A field but for its link, and the date of an origin."""
    kept = ((code, unicodedata.normalize("NFC", value)) for code, value in field.subfields)
    without = "8d" if field.tag == "883" else "8"
    return field.indicators, tuple((code, value) for code, value in kept if code not in without)


def _dates(earlier: Sequence[Field]) -> dict[tuple[object, object], str]:
    """A subject and its origin -> the date of the origin."""
    subjects = {link: field for field in earlier if field.tag == "650" for link in field.values("8")}
    origins = ((field, link) for field in earlier if field.tag == "883" for link in field.values("8"))
    return {
        (_remove_link(subjects[link]), _remove_link(origin)): "".join(origin.values("d")[:1])
        for origin, link in origins
        if link in subjects
    }


def _has_subject(record: Collection[Field], new: Field) -> bool:
    """Whether a field of the record is this subject, by its number or, without subdivisions, by its name."""

    def name(field: Field) -> tuple[str, str, list[str]]:
        """What two fields with the same subject have in common: the vocabulary, and the name as it is compared."""
        source = source_code(field.joined("2"))
        texts = [unicodedata.normalize("NFC", value).rstrip(" .,") for value in field.values("abcdvxyz")]
        return field.indicators[1:], source, texts

    numbers = {*new.values("0")}
    new_name = name(new)
    return any(numbers & {*field.values("0")} or name(field) == new_name for field in record if field.tag[:1] == "6")
