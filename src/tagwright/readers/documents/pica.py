"""Read PICA+ records, as the German National Library and K10plus have them: normalised, or plain with `$`."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tagwright.errors import InputError
from tagwright.readers.documents.catalogue import Field, Record, Subject, to_documents
from tagwright.readers.documents.columns import Columns
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import present, years
from tagwright.readers.limits import largest_document, too_large
from tagwright.readers.lines import open_lines
from tagwright.types import Document, Section

_FIELD = re.compile(r"(\d{3}[A-Z@])(?:/(\d{2,3}))? *(?=[\x1f$ƒ])(.*)", re.DOTALL)
_SUBFIELDS = {
    "\x1f": re.compile("\x1f([^\x1f])([^\x1f]*)"),
    "ƒ": re.compile("ƒ([^ƒ])([^ƒ]*)"),
    "$": re.compile(r"\$([^$])((?:[^$]|\$\$)*)"),
}
"Separator -> subfields: the one of normalised PICA+, of the cataloguing client, and of plain text, where $$ is a $."

_HEADINGS = {"041A": "gnd", "044A": "lcsh", "044C": "mesh", "044K": "gnd", "045D": "stw"}
_NUMBERS = {
    "045A": "lcc", "045C": "nlm", "045E": "sdnb", "045F": "ddc", "045G": "sdnb", "045H": "ddc", "045Q": "bkl",
    "045R": "rvk",
}  # fmt: skip
"Tag -> code of the vocabulary of its subjects: headings, and the numbers of a classification."

_UNCONTROLLED = "044N"
_PERSONS = ("028A", "028B", "028C", "028D", "028E", "028F", "028G", "028M")
_BODIES = ("029A", "029E", "029F", "029G", "030F")
_NOTES = ("037A", "037C", "046L")  # general, on a thesis, on language and script


def read_pica(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """Read the records of a file, each on a line (normalised) or with a field on a line and a blank line at its end.

    003@ is the id, 021A $a $d the title, 047I the abstract, 046M (the works within) a section. Labels are the subjects
    (041A, 044*, 045*) by $7, or else $9, and name, and the numbers of classifications (045*); 044N are keywords. Other
    metadata: author, responsibility (021A $h), year, publisher, venue, language, note. Authority records are passed
    over. columns: as in `catalogue.to_documents`, which also says what is raised. Places are lines.
    """
    return to_documents(_records(path), _to_record, path, columns)


def _records(path: Path) -> Iterator[tuple[int, Sequence[Field] | InputError]]:
    begin, size, lines = 0, 0, list[str]()
    for number, line in open_lines(path, "leave out"):
        if "\x1f" in line:
            yield number, _fields(line.split("\x1e"), path, number)
        elif line.strip():
            begin, size = (begin, size + len(line)) if lines else (number, len(line))
            if size <= largest_document():
                lines.append(line)
        elif lines:
            yield begin, _whole(lines, size, path, begin)
            lines = []
    if lines:
        yield begin, _whole(lines, size, path, begin)


def _whole(lines: Sequence[str], size: int, path: Path, begin: int) -> list[Field] | InputError:
    """The fields of a record on several lines, unless it is above the limit for a document."""
    return _fields(lines, path, begin) if size <= largest_document() else InputError(too_large(), path, begin)


def _fields(lines: Sequence[str], path: Path, begin: int) -> list[Field] | InputError:
    """The fields of one record, or what is wrong with it, at its own line where each field has one."""
    found = list[Field]()
    for place, line in enumerate(lines, begin):
        if not line.strip("\x1d\r\n "):
            continue
        field = _FIELD.fullmatch(line.strip("\x1d\r\n "))
        if not field:
            problem = f"{line[:40]!r} is no field of PICA+, expected a tag and subfields, such as 021A $aBees"
            return InputError(problem, path, begin if "\x1f" in "".join(lines) else place)
        separator = field[3][0]
        subfields = _SUBFIELDS[separator].findall(field[3])
        values = ((code, value.replace("$$", "$") if separator == "$" else value) for code, value in subfields)
        found.append(Field(field[1], field[2] or "", tuple((code, _plain(value)) for code, value in values)))
    return found


def _plain(value: str) -> str:
    """The value without the @ before the first word that is sorted: Die @Bienen."""
    return re.sub(r"(?:^|(?<=\s))@(?=\w)", "", value)


def _to_record(fields: Sequence[Field]) -> Record | None:
    """None for authority records, whose type (002@ $0) begins with T."""
    if any(each.tag == "002@" and each.joined("0").startswith("T") for each in fields):
        return None
    return Record(_document(fields), list(_subjects(fields)))


def _document(fields: Sequence[Field]) -> Document:
    def every(*tags: str) -> list[Field]:
        return [each for each in fields if each.tag in tags]

    def values(codes: str, *tags: str) -> list[str]:
        return [value for each in every(*tags) for value in each.values(codes)]

    title = next((" : ".join(each.values("ad")) for each in every("021A")), "")
    contents = tuple(filter(None, map(_work, every("046M"))))
    return Document(
        next(iter(values("0", "003@")), ""),
        title,
        "\n\n".join(values("a", "047I")),
        (Section("Contents", 1, contents),) if contents else (),
        present(
            author=[*map(_person, every(*_PERSONS)), *map(_body, every(*_BODIES))],
            responsibility=values("h", "021A"),
            year=years(values("a", "011@")[:1]),
            publisher=values("n", "033A"),
            venue=values("t", "039B"),
            language=values("a", "010@"),
            keyword=values("a", _UNCONTROLLED),
            note=values("a", *_NOTES),
        ),
    )


def _work(field: Field) -> str:
    """A work within another: title : addition / responsibility."""
    return " / ".join(filter(None, (" : ".join(field.values("ad")), field.joined("h"))))


def _body(field: Field) -> str:
    """A corporate body or conference with its unit; the expansion of a linked record where the name is not there."""
    return field.joined("ab") or _expansion(field)


def _person(field: Field) -> str:
    """Low, Ann; the expansion of a linked record where the name itself is not there."""
    name = ", ".join([*field.values("aA")[:1], *field.values("dD")[:1]])
    return name or _expansion(field)


def _expansion(field: Field) -> str:
    """The heading of a linked record, as exports write it out: "Biene ; ID: gnd/4006216-6"."""
    return re.split(r"\s*(?:;\s*ID:|\[)", field.joined("8"))[0]


def _subjects(fields: Sequence[Field]) -> Iterator[Subject]:
    for each in fields:
        ids = tuple(each.values("7") or each.values("9"))
        if source := _HEADINGS.get(each.tag):
            name = "--".join(each.values("a") + each.values("x")) or _expansion(each)
            yield Subject(source, ids, name)
        elif source := _NUMBERS.get(each.tag):
            numbers = each.values("a") or [_expansion(each)]
            yield from (Subject(source, (), number.split(" ")[0] if source == "bkl" else number) for number in numbers)
