"""Recognise records of UNIMARC, which libraries in France, Italy, Portugal and Russia have, and read their fields.

The formats share ISO 2709 and MARCXML, which `marc` reads, but not the meaning of the fields: 245 is 200 here.
"""

from collections.abc import Collection, Sequence

from tagwright.readers.documents.catalogue import Field, Record, Subject, source_code
from tagwright.readers.documents.sections import present, years
from tagwright.types import Document, Section

_PERSONS = ("700", "701", "702")
_BODIES = ("710", "711", "712")
_NUMBERS = {"675": "udc", "676": "ddc", "680": "lcc"}
"Tag -> code of the classification; that of 686 is in $2."

_HEADINGS = ("600", "601", "602", "604", "605", "606", "607", "608")
_UNCONTROLLED = "610"


def is_unimarc(tags: Collection[str]) -> bool:
    """Whether a record with fields of these tags has the title of UNIMARC, and none of MARC 21."""
    return "200" in tags and "245" not in tags


def to_record(fields: Sequence[Field]) -> Record:
    """001 is the id, 200 $a $e $h $i the title, 330 the abstract, 327 (contents) a section.

    Labels are the subjects (600 to 608) by $3 and name, and the numbers of 675, 676, 680 and 686; uncontrolled terms
    (610) are keywords. Other metadata: author (700 to 712), year, publisher (210, 214), venue (461, 463), language,
    note (300).
    """
    return Record(_document(fields), [each for field in fields for each in _subjects(field)])


def _document(fields: Sequence[Field]) -> Document:
    def every(*tags: str) -> list[Field]:
        return [each for each in fields if each.tag in tags]

    def values(codes: str, *tags: str) -> list[str]:
        return [value for each in every(*tags) for value in each.values(codes)]

    contents = tuple(values("a", "327"))
    coded = [value[9:13] for value in values("a", "100") if value[9:13].isdecimal()]
    return Document(
        next((each.value.strip() for each in every("001")), ""),
        " = ".join(filter(None, map(_title, every("200")))),
        "\n\n".join(values("a", "330")),
        (Section("Contents", 1, contents),) if contents else (),
        present(
            author=[*map(_person, every(*_PERSONS)), *(each.joined("ab") for each in every(*_BODIES))],
            year=[*coded, *years(values("d", "210", "214"))][:1],
            publisher=values("c", "210", "214"),
            venue=values("t", "461", "463"),
            language=values("a", "101"),
            keyword=values("a", _UNCONTROLLED),
            note=values("a", "300"),
        ),
    )


def _title(field: Field) -> str:
    """Title : other title. Number of the part, its name."""
    part = ", ".join(field.values("hi"))
    return ". ".join(filter(None, (" : ".join(field.values("ae")), part)))


def _person(field: Field) -> str:
    return ", ".join(field.values("ab"))


def _subjects(field: Field) -> list[Subject]:
    source = source_code(next(iter(field.values("2")), ""))
    if field.tag in _HEADINGS:
        main = _person(field) if field.tag == "600" else field.joined("ab")
        return [Subject(source, tuple(field.values("3")), "--".join(filter(None, (main, *field.values("jxyz")))))]
    if field.tag in _NUMBERS or field.tag == "686":
        return [Subject(_NUMBERS.get(field.tag, source), (), number) for number in field.values("a")]
    return []
