"""Read PICA+ records, as the German National Library and K10plus have them: normalised, binary, plain, or in XML."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import TypeAlias

from tagwright.errors import InputError, option
from tagwright.readers.documents.catalogue import Field, Record, Remarks, Subject, to_documents
from tagwright.readers.documents.columns import Columns
from tagwright.readers.documents.marc import END, split_records
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import present, years
from tagwright.readers.documents.xml import read_elements
from tagwright.readers.limits import largest_document, too_large
from tagwright.readers.lines import open_bytes, open_lines
from tagwright.types import Document, Section

_ID = "003@"
_AROUND = "\x1d\x1e\r\n "
"Signs around fields, which are no part of them."

_BOM_AND_SPACE = b"\xef\xbb\xbf \t\r\n"
_FIELD = re.compile(r"(\d{3}[A-Z@])(?:/(\d{2,3}))? *(?=[\x1f$ƒ])(.*)", re.DOTALL)
_SEPARATOR = re.compile("[\x1f$ƒ]")
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
    """Read the records of a file, in any serialisation of PICA+.

    Binary: each ends with 0x1D. Normalised: each is on a line. Plain: a field is on a line, and a blank line at the
    end of a record. XML: the elements of MARCXML.

    003@ is the id, 021A $a $d the title, 047I the abstract, 046M (the works within) a section. Labels are the subjects
    (041A, 044*, 045*) by $7, or else $9, and name, and the numbers of classifications (045*); 044N are keywords. Other
    metadata: author, responsibility (021A $h), year, publisher, venue, language, note. Authority records are passed
    over. columns: as in `catalogue.to_documents`, which also says what is raised and logged. Places are lines; of
    binary records, their numbers.
    """
    with open_bytes(path) as file:
        start = file.read(1 << 16)
    read = _of_xml if start.lstrip(_BOM_AND_SPACE).startswith(b"<") else _binary if END in start else _lines
    return to_documents(
        _whole(read(path)), _to_record, Remarks(path), columns, "is an authority record, or has no fields"
    )


_Located: TypeAlias = tuple[int, Sequence[Field] | InputError]


def _binary(path: Path) -> Iterator[_Located]:
    with open_bytes(path) as file:
        number = 0
        for record in split_records(file):
            if not record.strip(_AROUND.encode()):
                continue
            number += 1
            if len(record) > largest_document():
                yield number, InputError(too_large(), path, number)
                continue
            try:
                text = record.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                problem = f"byte 0x{record[error.start]:02x} is not UTF-8"
                yield number, InputError(f"{problem}; {option('encoding', 'cp1252')} names another", path, number)
            else:
                yield number, _fields(re.split("[\x1e\n]", text), path, number, lines=False)


def _lines(path: Path) -> Iterator[_Located]:
    begin, size, lines = 0, 0, list[str]()
    for number, line in open_lines(path, "leave out"):
        if "\x1e" in line:
            yield (
                number,
                _fields(
                    line[0 if _FIELD.match(line) else line.find("\x1e") :].split("\x1e"), path, number, lines=False
                ),
            )
        elif line.strip():
            begin, size = (begin, size + len(line)) if lines else (number, len(line))
            if size <= largest_document():
                lines.append(line)
        elif lines:
            yield begin, _bounded(lines, size, path, begin)
            lines = []
    if lines:
        yield begin, _bounded(lines, size, path, begin)


def _of_xml(path: Path) -> Iterator[_Located]:
    for line, record in read_elements(path, "record"):
        fields = list[Field]()
        for each in record.iter():
            if each.tag in ("datafield", "tag"):  # of PICA XML, and of PPXML, whose attributes are others
                coded = ((one.get("code") or one.get("id") or "", _plain("".join(one.itertext()))) for one in each)
                tag, number = each.get("tag") or each.get("id"), each.get("occurrence") or each.get("occ")
                fields.append(Field(tag or "", number or "", tuple(coded)))
        yield line, fields


def _whole(records: Iterable[_Located]) -> Iterator[_Located]:
    """Join and part what has no sign between records.

    Fields of a library and of copies (1.., 2..) belong to the record before them. A record begins where the first tag
    comes again after 003@.
    """
    begin, found = 0, list[Field]()
    for number, fields in records:
        if found and (isinstance(fields, InputError) or not fields or fields[0].tag.startswith("0")):
            yield begin, found
            found = []
        if isinstance(fields, InputError) or not fields:
            yield number, fields
            continue
        for each in fields:
            if found and each.tag == found[0].tag and any(field.tag == _ID for field in found):
                yield begin, found
                found = []
            begin = begin if found else number
            found.append(each)
    if found:
        yield begin, found


def _bounded(lines: Sequence[str], size: int, path: Path, begin: int) -> list[Field] | InputError:
    """The fields of a record on several lines, unless it is above the limit for a document."""
    if size > largest_document():
        return InputError(too_large(), path, begin)
    return _fields(lines, path, begin)


def _fields(parts: Sequence[str], path: Path, begin: int, *, lines: bool = True) -> list[Field] | InputError:
    """The fields of one record, or what is wrong with it, at its own line where each is on one."""
    if not lines:  # the number of the record, or a comment, may be before its first field
        parts = list(dropwhile(lambda part: not _SEPARATOR.search(part), parts))
    found = list[Field]()
    for place, part in enumerate(parts, begin):
        part = part.strip(_AROUND)
        if not part:
            continue
        field = _FIELD.fullmatch(part)
        if not field:
            problem = f"{part[:40]!r} is no field of PICA+, expected a tag and subfields, such as 021A $aBees"
            return InputError(problem, path, place if lines else begin)
        separator = field[3][0]
        subfields = _SUBFIELDS[separator].findall(field[3])
        values = ((code, value.replace("$$", "$") if separator == "$" else value) for code, value in subfields)
        found.append(Field(field[1], field[2] or "", tuple((code, _plain(value)) for code, value in values)))
    return found


def _plain(value: str) -> str:
    """The value without the @ before the first word that is sorted: Die @Bienen."""
    return re.sub(r"(?:^|(?<=\s))@(?=\w)", "", value)


def _to_record(fields: Sequence[Field]) -> Record | None:
    """None for authority records, whose type (002@ $0) begins with T, and for what has no fields."""
    if not fields or any(each.tag == "002@" and each.joined("0").startswith("T") for each in fields):
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
        next(iter(values("0", _ID)), ""),
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
