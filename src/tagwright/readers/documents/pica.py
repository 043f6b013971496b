"""Read PICA+ records, as the German National Library and K10plus have them: normalised, binary, plain, or in XML."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile
from pathlib import Path
from typing import TypeAlias

from tagwright.errors import InputError, option
from tagwright.readers.documents.catalogue import Field, Record, Subject, contents, to_documents, values, with_tags
from tagwright.readers.documents.marc import END, split_records
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import keep_present, years
from tagwright.readers.documents.xml import read_elements
from tagwright.readers.limits import PLAIN, Reading, largest_document, too_large
from tagwright.readers.lines import open_bytes, open_lines
from tagwright.types import Document

_AROUND = "\x1d\x1e\r\n "
"Signs around fields, which are no part of them."


def read_pica(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Read the records of a file, in any serialisation of PICA+.

    Binary: each ends with 0x1D. Normalised: each is on a line. Plain: a field is on a line, and a blank line at the
    end of a record. XML: the elements of MARCXML.

    003@ is the id, 021A $a $d the title, 047I the abstract, 046M (the works within) a section. Labels are the subjects
    (041A, 044*, 045*) by $7, or else $9, and name, and the numbers of classifications (045*); 044N are keywords. Other
    metadata: author, responsibility (021A $h), year, publisher, venue, language, note. Authority records are passed
    over. reading: as in `catalogue.to_documents`, which also says what is raised and logged. Places are lines; of
    binary records, their numbers.
    """
    with open_bytes(path) as file:
        start = file.read(1 << 16)
    is_xml = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    read = _of_xml if is_xml else _read_binary if END in start else _lines
    passed_over = "is an authority record, or has no fields"
    return to_documents(_join_records(read(path, reading)), _to_record, path, reading, passed_over)


_Numbered: TypeAlias = tuple[int, list[Field]]


def _read_binary(path: Path, reading: Reading) -> Iterator[_Numbered | InputError]:
    with open_bytes(path) as file:
        records = (record for record in split_records(file) if record.strip(_AROUND.encode()))
        for number, record in enumerate(records, 1):
            if len(record) > largest_document():
                yield InputError(too_large(), path, number)
                continue
            try:
                text = record.decode(reading.encoding or "utf-8-sig")
            except UnicodeDecodeError as error:
                problem = f"byte 0x{record[error.start]:02x} is not UTF-8"
                yield InputError(f"{problem}; {option('encoding', 'cp1252')} names another", path, number)
            else:
                yield _fields(re.split("[\x1e\n]", text), path, number)


def _lines(path: Path, reading: Reading) -> Iterator[_Numbered | InputError]:
    begin, size, lines = 0, 0, list[str]()
    for number, line in chain(open_lines(path, "leave out", reading), [(0, "")]):  # a blank line ends the last record
        if "\x1e" in line:
            yield _fields(line.split("\x1e"), path, number)
        elif line.strip():
            begin, size = (begin, size + len(line)) if lines else (number, len(line))
            if size <= largest_document():
                lines.append(line)
        elif lines:
            is_large = size > largest_document()
            yield InputError(too_large(), path, begin) if is_large else _fields(lines, path, begin)
            lines = []


def _of_xml(path: Path, reading: Reading) -> Iterator[_Numbered]:
    for line, record in read_elements(path, "record", reading=reading):
        fields = list[Field]()
        for element in record.iter():
            if element.tag in ("datafield", "tag"):  # of PICA XML, and of PPXML, whose attributes are others
                codes = (one.get("code") or one.get("id") or "" for one in element)
                texts = (_without_sorting_sign("".join(one.itertext())) for one in element)
                tag, number = element.get("tag") or element.get("id"), element.get("occurrence") or element.get("occ")
                fields.append(Field(tag or "", number or "", tuple(zip(codes, texts, strict=True))))
        yield line, fields


def _join_records(records: Iterable[_Numbered | InputError]) -> Iterator[_Numbered | InputError]:
    """Join and part what has no sign between records.

    Fields of a library and of copies (1.., 2..) belong to the record before them. A record begins where the first tag
    comes again after 003@.
    """
    begin, record, numbered = 0, list[Field](), False
    for part in records:
        fields = [] if isinstance(part, InputError) else part[1]
        if record and (not fields or fields[0].tag.startswith("0")):
            yield begin, record
            record, numbered = [], False
        if isinstance(part, InputError) or not fields:
            yield part
            continue
        for field in fields:
            if numbered and field.tag == record[0].tag:
                yield begin, record
                record, numbered = [], False
            begin = begin if record else part[0]
            record.append(field)
            numbered |= field.tag == "003@"
    if record:
        yield begin, record


def _fields(parts: Sequence[str], path: Path, begin: int) -> _Numbered | InputError:
    """The fields of one record, or what is wrong with it.

    Subfields are separated by 0x1F in normalised PICA+, by ƒ in the cataloguing client, and by $ in plain text, where
    $$ is a $.
    """
    fields = list[Field]()
    # the number of the record, or a comment, may be before its first field
    known = dropwhile(lambda part: not re.search("[\x1f$ƒ]", part), parts)
    for part in filter(None, (part.strip(_AROUND) for part in known)):
        field = re.fullmatch(r"(\d{3}[A-Z@])(?:/(\d{2,3}))? *(?=[\x1f$ƒ])(.*)", part, re.DOTALL)
        if not field:
            problem = f"{part[:40]!r} is no field of PICA+, expected a tag and subfields, such as 021A $aBees"
            return InputError(problem, path, begin)
        separator, text = field[3][0], field[3].replace("$$", "\0") if field[3][0] == "$" else field[3]
        subfields = ((each[0], each[1:].replace("\0", "$")) for each in text.split(separator) if each)
        coded = tuple((code, _without_sorting_sign(value)) for code, value in subfields)
        fields.append(Field(field[1], field[2] or "", coded))
    return begin, fields


def _without_sorting_sign(value: str) -> str:
    """The value without the @ before the first word that is sorted: Die @Bienen."""
    return re.sub(r"(?:^|(?<=\s))@(?=\w)", "", value)


_READ = (
    "002@ 003@ 010@ 011@ 021A 028A 028B 028C 028D 028E 028F 028G 028M 029A 029E 029F 029G 030F 033A 037A 037C 039B "
    "044N 046L 046M 047I"
)
"Fields that are read, or tell of the record; of 041, 044 and 045 all are."


def _to_record(fields: Sequence[Field]) -> Record | None:
    """None for authority records, whose type (002@ $0) begins with T, and for what has no fields."""
    tags = {field.tag for field in fields}
    if not fields or any(field.tag == "002@" and field.joined("0").startswith("T") for field in fields):
        return None
    unused = {tag for tag in tags - {*_READ.split()} if tag[:3] not in ("041", "044", "045")}
    return Record(_document(fields), list(_subjects(fields)), unused)


def _document(fields: Sequence[Field]) -> Document:
    persons = with_tags(fields, "028A 028B 028C 028D 028E 028F 028G 028M")
    names = [(", ".join([*person.values("aA")[:1], *person.values("dD")[:1]]), person) for person in persons]
    # corporate bodies and conferences, with their units
    names += [(field.joined("ab"), field) for field in with_tags(fields, "029A 029E 029F 029G 030F")]
    return Document(
        next(iter(values(fields, "003@", "0")), ""),
        next((" : ".join(field.values("ad")) for field in with_tags(fields, "021A")), ""),
        "\n\n".join(values(fields, "047I", "a")),
        contents(filter(None, map(_read_work, with_tags(fields, "046M")))),
        keep_present(
            author=[name or _expansion(field) for name, field in names],
            responsibility=values(fields, "021A", "h"),
            year=years(values(fields, "011@", "a")[:1]),
            publisher=values(fields, "033A", "n"),
            venue=values(fields, "039B", "t"),
            language=values(fields, "010@", "a"),
            keyword=values(fields, "044N", "a"),
            note=values(fields, "037A 037C 046L", "a"),  # general, on a thesis, on language and script
        ),
    )


def _read_work(field: Field) -> str:
    """A work within another: title : addition / responsibility."""
    return " / ".join(filter(None, (" : ".join(field.values("ad")), field.joined("h"))))


def _expansion(field: Field) -> str:
    """The heading of a linked record, as exports write it out: "Biene ; ID: gnd/4006216-6"."""
    return re.split(r"\s*(?:;\s*ID:|\[)", field.joined("8"))[0]


def _subjects(fields: Sequence[Field]) -> Iterator[Subject]:
    """Headings, and the numbers of classifications, each of the vocabulary that its tag tells."""
    headings = {"041A": "gnd", "044A": "lcsh", "044C": "mesh", "044K": "gnd", "045D": "stw"}
    classifications = {
        "045A": "lcc", "045C": "nlm", "045E": "sdnb", "045F": "ddc", "045G": "sdnb", "045H": "ddc", "045Q": "bkl",
        "045R": "rvk",
    }  # fmt: skip
    for field in fields:
        if source := headings.get(field.tag):
            name = "--".join(field.values("a") + field.values("x")) or _expansion(field)
            yield Subject(source, tuple(field.values("7") or field.values("9")), name)
        elif source := classifications.get(field.tag):
            numbers = field.values("a") or [_expansion(field)]
            yield from (Subject(source, (), number.split(" ")[0] if source == "bkl" else number) for number in numbers)
