"""Read MARC 21 records: ISO 2709 (extra `marc`), in UTF-8 or MARC-8, and MARCXML; and those of UNIMARC.

Libraries in France, Italy, Portugal and Russia have UNIMARC. It shares ISO 2709 and MARCXML, but not the meaning of the
fields: 245 is 200 there.
"""

import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext, redirect_stderr
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias
from xml.etree.ElementTree import Element  # of trees built by tagwright.readers.documents.xml

from tagwright.core.extras import require
from tagwright.data.subjects import source_code
from tagwright.errors import InputError, option
from tagwright.readers.documents.catalogue import Field, Record, Subject, contents, to_documents, values, with_tags
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import keep_present, years
from tagwright.readers.documents.xml import read_elements
from tagwright.readers.limits import PLAIN, Reading, largest_document, too_large
from tagwright.readers.lines import is_utf8, open_bytes
from tagwright.types import Document

END = b"\x1d"
"The end of a record."


def read_marc(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Read the records of an ISO 2709 file. Their places are their numbers, from 1.

    001 is the id, 245 $a $b $f $g $k $n $p $s the title, 520 the abstract, 505 (contents) and 545 (biography, history)
    sections. Labels are the subjects (6xx) by $0 and name, and the numbers of 082, 083 and 084; uncontrolled terms
    (653) are keywords. Other metadata: author, year, publisher, venue, language, note. A field in the original script
    (880) is read as the field that it belongs to, and beside it. Records that are deleted or describe no work are
    passed over.

    Of UNIMARC, 200 $a $e $h $i is the title, 330 the abstract, 327 (contents) a section. Labels are the subjects (600
    to 608) by $3 and name, and the numbers of 675, 676, 680 and 686; uncontrolled terms (610) are keywords. Other
    metadata: author (700 to 712), year, publisher (210, 214), venue (461, 463), language, note (300).

    The encoding of `reading` is that of records that are not UTF-8, in place of MARC-8. The rest is as in
    `catalogue.to_documents`, which also says what is raised and logged.
    """
    require("reading MARC records", "pymarc", path=path)
    return to_documents(_decode_records(path, reading.encoding), _to_record, path, reading)


def read_marcxml(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Read the records of a MARCXML file, also those in answers of OAI-PMH and SRU, as `read_marc` does."""
    return to_documents(_of_xml(path, reading), _to_record, path, reading)


def split_records(file: IO[bytes]) -> Iterator[bytes]:
    """The records of a file with their ends, and all bytes between them before the next one.

    More of a record than the limit for a document is not kept: such a record is cut, without its end.
    """
    pieces, size, limit = list[bytes](), 0, largest_document()  # of the record that has begun
    while block := file.read(1 << 16):
        *ends, begun = block.split(END)
        for end in ends:
            record = b"".join([*pieces, end])
            yield record + END if len(record) <= limit else record[: limit + 1]
            pieces, size = [], 0
        if size <= limit:
            pieces.append(begun)
            size += len(begun)
    if size:
        yield b"".join(pieces)


def has_utf8(record: bytes) -> bool:
    """Whether a record is in UTF-8: by its leader, or by its bytes, where the leader wrongly says MARC-8."""
    return record[9:10] == b"a" or (not record.isascii() and is_utf8(record))


def is_unimarc(tags: Collection[str]) -> bool:
    """Whether a record with fields of these tags has the title of UNIMARC, and none of MARC 21."""
    return "200" in tags and "245" not in tags


_READ = "LDR 001 003 005 008 082 083 084 100 110 111 245 260 264 500 502 504 505 520 545 700 710 711 773 880"
"Fields of MARC 21 that are read, or tell of the record; of 6XX all are."
_READ_OF_UNIMARC = (
    "LDR 001 003 005 100 101 200 210 214 300 327 330 461 463 600 601 602 604 605 606 607 608 610 675 676 680 686 700 "
    "701 702 710 711 712"
)


_Fields: TypeAlias = tuple[Sequence[Field], str]
"Those of a record, with its leader as a field called LDR, and what is to be said of their text."


def _to_record(raw: _Fields) -> Record | None:
    """A record; None if it is deleted or describes no work.

    Those are authorities, holdings, classes, and information on a community, by the type of the record (leader 06).
    """
    fields, remark = raw
    leader, tags = next((field.value for field in fields if field.tag == "LDR"), ""), {field.tag for field in fields}
    if not tags or leader[5:6] == "d" or (leader[6:7] in tuple("quvwxyz") and "245" not in tags):
        return None
    if is_unimarc(tags):
        subjects = [subject for field in fields for subject in _subjects_of_unimarc(field)]
        unused = tags - {*_READ_OF_UNIMARC.split()}
        return Record(_of_unimarc(fields), subjects, unused, "is UNIMARC, and read as such")
    unused = {tag for tag in tags - {*_READ.split()} if tag[:1] != "6"}
    fields = [*fields, *_in_original_script(fields)]
    return Record(_document(fields), list(_subjects(fields)), unused, remark)


def _decode_records(path: Path, encoding: str = "") -> Iterator[tuple[int, _Fields] | InputError]:
    with open_bytes(path) as file:
        for number, chunk in enumerate(split_records(file), 1):
            record = chunk.lstrip(b"\r\n \x1a\x00")
            if not record:
                continue
            remarks = list[str]()
            try:
                fields = _decode(record, encoding, remarks.append)
            except Exception as error:  # damaged records raise UnicodeDecodeError, ValueError, KeyError and more
                yield InputError(_problem(record, encoding, error), path, number)
                continue
            known = encoding or record.isascii() or has_utf8(record)
            if not known and is_unimarc({field.tag for field in fields}):
                remedy = f"export it as UTF-8, or name its encoding: {option('encoding', 'cp1251')}"
                yield InputError(f"is UNIMARC whose text is not in UTF-8; {remedy}", path, number)
            else:
                yield number, (fields, "".join(remarks[:1]))


def _problem(record: bytes, encoding: str, error: Exception) -> str:
    if len(record) > largest_document():
        return too_large()
    if not record.endswith(END):
        return "is a MARC record that breaks off"
    if isinstance(error, UnicodeDecodeError):
        if encoding:
            return f"is a MARC record whose text is not in {encoding}"
        return f"is a MARC record whose text is not in {'UTF-8' if has_utf8(record) else 'MARC-8'}, as its leader says"
    return "is a damaged MARC record: the lengths in its leader or directory do not fit"


def _decode(record: bytes, encoding: str, remark: Callable[[str], None]) -> list[Field]:
    """The fields of a record, in Unicode. Raises any exception for a damaged one.

    Where a length in the directory is wrong, as programs that count characters write them, each field is read to its
    end. remark: gets a line on text that is in another encoding.
    """
    base = int(record[12:17])
    directory = record[24 : base - 1].decode("ascii")
    entries = [directory[at : at + 12] for at in range(0, len(directory), 12)]
    if not record.endswith(END) or int(record[:5]) > len(record) or not entries or len(directory) != base - 25:
        raise ValueError("its lengths do not fit")
    places = [(start := base + int(entry[7:]), start + int(entry[3:7]) - 1) for entry in entries]
    contents = [record[start:end] for start, end in places]
    if any(record[end : end + 1] != b"\x1e" for _, end in places):
        contents = record[base:-1].split(b"\x1e")[:-1]
    if is_utf8(record) if encoding else has_utf8(record):
        encoding = "utf-8"
    decode = partial(str, encoding=encoding) if encoding else partial(from_marc8, remark=remark)
    fields = [Field("LDR", "", (("", record[:24].decode("ascii")),))]
    for tag, content in zip((entry[:3] for entry in entries), contents, strict=True):
        first, *subfields = content.split(b"\x1f")
        if tag < "010" and tag.isdigit():
            fields.append(Field(tag, "", (("", decode(first)),)))
        else:
            coded = tuple(_subfield(subfield, decode) for subfield in subfields if subfield)
            fields.append(Field(tag, f"{first.decode('ascii', 'replace')}  "[:2], coded))
    return fields


def _subfield(subfield: bytes, decode: Callable[[bytes], str]) -> tuple[str, str]:
    """The code and the value of a subfield; a damaged code may take several bytes of UTF-8."""
    value = subfield[1:] if subfield[0] < 0x80 else subfield[1:].lstrip(bytes(range(0x80, 0xC0)))
    return subfield[:1].decode("ascii", "replace"), _without_sorting_signs(decode(value))


def from_marc8(text: bytes, remark: Callable[[str], object] = lambda _: None) -> str:
    """Text in MARC-8, which writes the characters that it lacks as references.

    remark: gets a line where bytes are none, which become spaces.
    """
    from pymarc.marc8 import marc8_to_unicode

    escaped = b"\x1b" in text
    with redirect_stderr(io.StringIO()) if escaped else nullcontext():  # it writes where Chinese text breaks off
        decoded = str(marc8_to_unicode(text, True))
    if not escaped and decoded.count(" ") > text.count(b" "):
        remedy = option("encoding", "cp1252")
        remark(f"text is not in MARC-8, as the leader says; if another encoding is meant, name it: {remedy}")
    return re.sub(r"&#x([0-9A-Fa-f]{4,5});", lambda number: chr(int(number[1], 16)), decoded)


def _of_xml(path: Path, reading: Reading) -> Iterator[tuple[int, _Fields]]:
    number = 0
    for _, outermost in read_elements(path, "record", reading=reading):
        records = [record for record in outermost.iter("record") if record.find("datafield") is not None]
        if not records:  # a harvest says of a deleted record that it was there
            yield number + 1, ([], "")
        for record in records:
            number += 1
            parts = (part for part in record if part.tag in ("leader", "controlfield", "datafield"))
            yield number, (list(map(_field, parts)), "")


def _field(element: Element) -> Field:
    tag, subfields = element.get("tag", "LDR"), element.findall("subfield")
    if element.tag != "datafield":
        return Field(tag, "", (("", "".join(element.itertext())),))
    coded = ((part.get("code", ""), _without_sorting_signs("".join(part.itertext()))) for part in subfields)
    return Field(tag, element.get("ind1", " ") + element.get("ind2", " "), tuple(coded))


def _without_sorting_signs(value: str) -> str:
    """The value without the signs around words that are not sorted, such as an article at the beginning of a title."""
    return re.sub("[\x88\x89\x98\x9c]", "", value)


def _document(fields: Sequence[Field]) -> Document:
    names = with_tags(fields, "100 110 111 700 710 711")
    return Document(
        next((field.value.strip() for field in with_tags(fields, "001")), ""),
        " = ".join(filter(None, map(_title, with_tags(fields, "245")))),
        "\n\n".join(filter(None, (field.joined("ab") for field in with_tags(fields, "520")))),
        (
            *contents(field.joined("agrt") for field in with_tags(fields, "505")),
            *contents((field.joined("ab") for field in with_tags(fields, "545")), "Biographical or historical note"),
        ),
        keep_present(
            author=[_without_end_punctuation(field.joined("abcdq")) for field in names if not field.values("t")],
            year=_year(with_tags(fields, "008"), with_tags(fields, "264 260")),
            publisher=list(map(_without_end_punctuation, values(fields, "264 260", "b"))),
            venue=list(map(_without_end_punctuation, values(fields, "773", "t"))),
            language=[field.value[35:38].strip(" |") for field in with_tags(fields, "008")],
            keyword=values(fields, "653", "a"),
            note=[field.joined("ab") for field in with_tags(fields, "500 502 504")],
        ),
    )


def _in_original_script(fields: Sequence[Field]) -> Iterator[Field]:
    """The fields 880 under the tags of the romanised ones that they belong to, which $6 names: 245-01/$1."""
    for field in fields:
        if field.tag == "880" and (link := re.match(r"\d{3}", field.joined("6"))):
            yield field._replace(tag=link[0])


def _title(field: Field) -> str:
    """The title without the punctuation at its end; of archives, its form and dates ($k $f $g) are part of it."""
    title = field.joined("abfgknps").rstrip(" /:;,=").strip()
    return title.rstrip(".") if field.values("fgk") else title


def _year(fixed: Sequence[Field], imprints: Sequence[Field]) -> list[str]:
    """The year of publication, by the fixed field or else the imprint."""
    coded = [field.value[7:11] for field in fixed if field.value[7:11].isdecimal()]
    return [*coded, *years(field.joined("c") for field in imprints)][:1]


def _subjects(fields: Sequence[Field]) -> Iterator[Subject]:
    for field in fields:
        if field.tag[:1] == "6" and field.tag != "653":
            ids = (re.sub(r"^\(uri\)\s*", "", number) for number in field.values("0"))  # "(uri)" is before addresses
            yield Subject(_source(field), tuple(ids), _heading(field))
        elif field.tag in ("082", "083"):
            yield from (Subject("ddc", (), re.sub("[/']", "", number)) for number in field.values("a"))
        elif field.tag == "084":
            yield from (Subject(_source(field), (), number) for number in field.values("a"))


def _source(subject: Field) -> str:
    """The code of the vocabulary: in $2, or else by the second indicator; 689 has subject chains of the GND."""
    if code := source_code(next(iter(subject.values("2")), "")):
        return code
    if subject.tag[:1] != "6":
        return ""
    by_indicator = {"0": "lcsh", "1": "cyac", "2": "mesh", "3": "nal", "5": "cash", "6": "rvm"}
    return "gnd" if subject.tag == "689" else by_indicator.get(subject.indicators[1:2], "")


def _heading(subject: Field) -> str:
    """The heading with its subdivisions: Bees--Behavior."""
    parts = [subject.joined("abcdfghjklmnopqrst"), *subject.values("vxyz")]
    return "--".join(_without_end_punctuation(part) for part in parts if part)


def _without_end_punctuation(text: str) -> str:
    """The text without the punctuation that catalogues put at its end; an initial keeps its full stop.

    >>> _without_end_punctuation("Low, Ann,"), _without_end_punctuation("Low, A."), _without_end_punctuation("Insects.")
    ('Low, Ann', 'Low, A.', 'Insects')
    """
    return re.sub(r"(?<=\w{3})\.$", "", text.strip().rstrip(" ,;:/="))


def _of_unimarc(fields: Sequence[Field]) -> Document:
    coded = [value[9:13] for value in values(fields, "100", "a") if value[9:13].isdecimal()]
    persons = [", ".join(field.values("ab")) for field in with_tags(fields, "700 701 702")]
    return Document(
        next((field.value.strip() for field in with_tags(fields, "001")), ""),
        " = ".join(filter(None, map(_title_of_unimarc, with_tags(fields, "200")))),
        "\n\n".join(values(fields, "330", "a")),
        contents(values(fields, "327", "a")),
        keep_present(
            author=[*persons, *(field.joined("ab") for field in with_tags(fields, "710 711 712"))],
            year=[*coded, *years(values(fields, "210 214", "d"))][:1],
            publisher=values(fields, "210 214", "c"),
            venue=values(fields, "461 463", "t"),
            language=values(fields, "101", "a"),
            keyword=values(fields, "610", "a"),
            note=values(fields, "300", "a"),
        ),
    )


def _title_of_unimarc(field: Field) -> str:
    """Title : other title. Number of the part, its name."""
    part = ", ".join(field.values("hi"))
    return ". ".join(filter(None, (" : ".join(field.values("ae")), part)))


def _subjects_of_unimarc(field: Field) -> list[Subject]:
    source = source_code(next(iter(field.values("2")), ""))
    if field.tag in ("600", "601", "602", "604", "605", "606", "607", "608"):
        main = ", ".join(field.values("ab")) if field.tag == "600" else field.joined("ab")
        return [Subject(source, tuple(field.values("3")), "--".join(filter(None, (main, *field.values("jxyz")))))]
    classification = {"675": "udc", "676": "ddc", "680": "lcc", "686": source}
    numbers = field.values("a") if field.tag in classification else []
    return [Subject(classification[field.tag], (), number) for number in numbers]
