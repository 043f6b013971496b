"""Read MARC 21 records: ISO 2709 (extra `marc`), in UTF-8 or MARC-8, and MARCXML."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element  # of trees built by tagwright.readers.documents.xml

from tagwright.core.extras import require
from tagwright.errors import InputError, one_line_of
from tagwright.readers.documents.catalogue import Field, Record, Subject, to_documents
from tagwright.readers.documents.columns import Columns
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import present, years
from tagwright.readers.documents.xml import read_elements
from tagwright.readers.limits import largest_document, too_large
from tagwright.readers.lines import open_bytes
from tagwright.types import Document, Section

END = b"\x1d"
"The end of a record."

_CHUNK = 1 << 16
_NONFILING = dict.fromkeys(map(ord, "\x88\x89\x98\x9c"))
"Signs around words that are not sorted, such as an article at the beginning of a title."

_SOURCES = {"0": "lcsh", "1": "cyac", "2": "mesh", "3": "nal", "5": "cash", "6": "rvm"}
"Second indicator of a subject -> code of its vocabulary; with 7 it is in $2."

_UNCONTROLLED = "653"
_CHAINS = "689"
"Subject chains of the German authority file, as German libraries have them."

_NAMES = ("100", "110", "111", "700", "710", "711")
_SUBDIVISIONS = "vxyz"
_HEADING = "".join(sorted({*map(chr, range(ord("a"), ord("z") + 1))} - {*_SUBDIVISIONS, *"eiuw"}))
_OTHER_RECORDS = frozenset("quvwxyz")
"Types of record (leader 06) that describe no work: authorities, holdings, classes, information on a community."


def read_marc(path: Path, columns: Columns | None = None, encoding: str = "") -> Iterator[Located]:
    """Read the records of an ISO 2709 file. Their places are their numbers, from 1.

    001 is the id, 245 $a $b $n $p the title, 520 the abstract, 505 (contents) and 545 (biography, history) sections.
    Labels are the subjects (6xx) by $0 and name, and the numbers of 082, 083 and 084; uncontrolled terms (653) are
    keywords. Other metadata: author, year, publisher, venue, language, note. Records that are deleted or describe no
    work are passed over. columns: as in `catalogue.to_documents`, which also says what is raised. encoding: of records
    in neither UTF-8 nor MARC-8.
    """
    require("reading MARC records", "pymarc", path=path)
    return to_documents(_decoded(path, encoding), to_record, path, columns)


def read_marcxml(path: Path, columns: Columns | None = None) -> Iterator[Located]:
    """Read the records of a MARCXML file, also those in answers of OAI-PMH and SRU, as `read_marc` does."""
    return to_documents(enumerate(_of_xml(path), 1), to_record, path, columns)


def split_records(file: IO[bytes]) -> Iterator[bytes]:
    """The records of a file with their ends, and all bytes between them before the next one.

    More of a record than the limit for a document is not kept: such a record is cut, without its end.
    """
    rest, limit = b"", largest_document()
    while block := file.read(_CHUNK):
        *whole, rest = (rest + block).split(END)
        yield from (each + END if len(each) <= limit else each[: limit + 1] for each in whole)
        rest = rest[: limit + _CHUNK]
    if rest:
        yield rest


def is_utf8(record: bytes) -> bool:
    """Whether a record is in UTF-8: by its leader, or by its bytes, where the leader wrongly says MARC-8."""
    if record[9:10] == b"a":
        return True
    try:
        return not record.isascii() and bool(record.decode())
    except UnicodeDecodeError:
        return False


def to_record(fields: Sequence[Field]) -> Record | None:
    """A record with its leader as a field called LDR; None if it is deleted or describes no work."""
    leader = next((each.value for each in fields if each.tag == "LDR"), "")
    if leader[5:6] == "d" or leader[6:7] in _OTHER_RECORDS:
        return None
    return Record(_document(fields), list(_subjects(fields)))


def _decoded(path: Path, encoding: str) -> Iterator[tuple[int, list[Field] | InputError]]:
    with open_bytes(path) as file:
        for number, chunk in enumerate(split_records(file), 1):
            record = chunk.lstrip(b"\r\n \x1a\x00")
            if not record:
                continue
            try:
                yield number, _decode(record, encoding)
            except Exception as error:  # damaged records raise UnicodeDecodeError, ValueError, KeyError and more
                yield number, InputError(_problem(record, error), path, number)


def _problem(record: bytes, error: Exception) -> str:
    if len(record) > largest_document():
        return too_large()
    if not record.endswith(END):
        return "is a MARC record that breaks off"
    if isinstance(error, UnicodeDecodeError):
        return f"is a MARC record whose text is not in {'UTF-8' if is_utf8(record) else 'MARC-8'}, as its leader says"
    return f"is a damaged MARC record ({one_line_of(error)})"


def _decode(record: bytes, encoding: str) -> list[Field]:
    """The fields of a record, in Unicode. Raises any exception for a damaged one."""
    import pymarc

    if not record.endswith(END):
        raise ValueError("no end of record")
    utf8 = not encoding and is_utf8(record)
    if encoding:  # whatever the leader says
        record = record[:9] + b" " + record[10:]
    named = "latin-1" if encoding == "iso8859-1" else encoding or "iso8859-1"  # the library reads this one as MARC-8
    decoded = pymarc.Record(data=record, to_unicode=True, force_utf8=utf8, hide_utf8_warnings=True, file_encoding=named)
    fields = [Field("LDR", "", (("", str(decoded.leader)),))]
    for each in decoded.fields:
        if each.control_field:
            fields.append(Field(each.tag, "", (("", each.data or ""),)))
        else:
            subfields = tuple((one.code, _plain(one.value if utf8 else _resolved(one.value))) for one in each.subfields)
            fields.append(Field(each.tag, "".join(each.indicators or "  "), subfields))
    return fields


def _of_xml(path: Path) -> Iterator[list[Field]]:
    for _, outermost in read_elements(path, "record"):
        for record in outermost.iter("record"):
            if record.find("datafield") is not None:
                yield [_field(each) for each in record if each.tag in ("leader", "controlfield", "datafield")]


def _field(element: Element) -> Field:
    text = "".join(element.itertext())
    if element.tag == "leader":
        return Field("LDR", "", (("", text),))
    tag = element.get("tag", "")
    if element.tag == "controlfield":
        return Field(tag, "", (("", text),))
    subfields = ((each.get("code", ""), _plain("".join(each.itertext()))) for each in element.iterfind("subfield"))
    return Field(tag, element.get("ind1", " ") + element.get("ind2", " "), tuple(subfields))


def _resolved(value: str) -> str:
    """The text with the characters that MARC-8 lacks, which it writes as references."""
    return re.sub(r"&#x([0-9A-Fa-f]{4,5});", lambda found: chr(int(found[1], 16)), value)


def _plain(value: str) -> str:
    return value.translate(_NONFILING)


def _document(fields: Sequence[Field]) -> Document:
    def every(*tags: str) -> list[Field]:
        return [each for each in fields if each.tag in tags]

    title = next((each.joined("abnp") for each in every("245")), "")
    sections = (
        Section("Contents", 1, tuple(each.joined("agrt") for each in every("505"))),
        Section("Biographical or historical note", 1, tuple(each.joined("ab") for each in every("545"))),
    )
    return Document(
        next((each.value.strip() for each in every("001")), ""),
        title.rstrip(" /:;,=").strip(),
        "\n\n".join(filter(None, (each.joined("ab") for each in every("520")))),
        tuple(each for each in sections if each.paragraphs),
        present(
            author=[_bare(each.joined("abcdq")) for each in every(*_NAMES) if not each.values("t")],
            year=_year(every("008"), every("264", "260")),
            publisher=[_bare(name) for each in every("264", "260") for name in each.values("b")],
            venue=[_bare(name) for each in every("773") for name in each.values("t")],
            language=[code for each in every("008") if (code := each.value[35:38].strip(" |"))],
            keyword=[name for each in every(_UNCONTROLLED) for name in each.values("a")],
            note=[each.joined("ab") for each in every("500", "502", "504")],
        ),
    )


def _year(fixed: Sequence[Field], imprints: Sequence[Field]) -> list[str]:
    """The year of publication, by the fixed field or else the imprint."""
    coded = [each.value[7:11] for each in fixed if each.value[7:11].isdecimal()]
    return [*coded, *years(each.joined("c") for each in imprints)][:1]


def _subjects(fields: Sequence[Field]) -> Iterator[Subject]:
    for each in fields:
        if each.tag[:1] == "6" and each.tag != _UNCONTROLLED:
            ids = (re.sub(r"^\(uri\)\s*", "", number) for number in each.values("0"))  # "(uri)" is before addresses
            yield Subject(_source(each), tuple(ids), _heading(each))
        elif each.tag in ("082", "083"):
            yield from (Subject("ddc", (), re.sub("[/']", "", number)) for number in each.values("a"))
        elif each.tag == "084":
            yield from (Subject(each.joined("2").lower(), (), number) for number in each.values("a"))


def _source(subject: Field) -> str:
    if named := subject.joined("2").lower():
        return named
    return "gnd" if subject.tag == _CHAINS else _SOURCES.get(subject.indicators[1:2], "")


def _heading(subject: Field) -> str:
    """The heading with its subdivisions: Bees--Behavior."""
    parts = [subject.joined(_HEADING), *subject.values(_SUBDIVISIONS)]
    return "--".join(_bare(part) for part in parts if part)


def _bare(text: str) -> str:
    """The text without the punctuation that catalogues put at its end; an initial keeps its full stop.

    >>> _bare("Low, Ann,"), _bare("Low, A."), _bare("Insects.")
    ('Low, Ann', 'Low, A.', 'Insects')
    """
    return re.sub(r"(?<=\w{3})\.$", "", text.strip().rstrip(" ,;:/="))
