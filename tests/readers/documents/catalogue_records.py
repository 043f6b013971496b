"""For the tests of catalogue formats: records written by pymarc, in both encodings and in XML."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pymarc

Values = str | tuple[str, ...]
"The data of a control field, or indicators and subfields with their codes: 00, aBees, bhow they fly."


def marc_record(fields: Sequence[tuple[str, Values]], leader: str = "00000nam a2200000 a 4500") -> pymarc.Record:
    record = pymarc.Record(to_unicode=leader[9] == "a", leader=leader)
    for tag, values in fields:
        if isinstance(values, str):
            record.add_field(pymarc.Field(tag=tag, data=values))  # type: ignore[no-untyped-call]
        else:
            indicators, *subfields = values
            coded = [pymarc.Subfield(code=each[0], value=each[1:]) for each in subfields]
            record.add_field(pymarc.Field(tag=tag, indicators=pymarc.Indicators(*indicators), subfields=coded))  # type: ignore[no-untyped-call]
    return record


def utf8(*records: pymarc.Record) -> bytes:
    return b"".join(record.as_marc() for record in records)


def in_xml(*records: pymarc.Record) -> bytes:
    stream = io.BytesIO()
    writer = pymarc.XMLWriter(stream)
    for record in records:
        writer.write(record)
    writer.close(close_fh=False)
    return stream.getvalue()


def iso2709(fields: Sequence[tuple[str, bytes]], leader: bytes = b"nam  22") -> bytes:
    """A record of fields as they stand, indicators and delimiters included: for MARC-8, which pymarc does not write."""
    directory, data = b"", b""
    for tag, content in fields:
        directory += f"{tag}{len(content) + 1:04}{len(data):05}".encode()
        data += content + b"\x1e"
    base = 24 + len(directory) + 1
    start = b"%05d%s%05d a 4500" % (base + len(data) + 1, leader, base)
    return start + directory + b"\x1e" + data + b"\x1d"


BEES: list[tuple[str, Values]] = [
    ("001", "990001"),
    ("008", "200101s2019    gw ||||| |||| 00| ||eng d"),
    ("082", ("04", "a595.79/9", "222")),
    ("084", ("  ", "aWV 4000", "2rvk")),
    ("100", ("1 ", "aLow, Ann,", "d1970-", "eauthor.")),
    ("245", ("10", "aBees :", "bhow they fly.", "nPart 2,", "pWings /", "cAnn Low.")),
    ("264", (" 1", "aBerlin :", "bHive Press,", "c2019.")),
    ("500", ("  ", "aIncludes index.")),
    ("505", ("0 ", "aSpirals -- Circles.")),
    ("520", ("3 ", "aIn spirals.", "bAnd why.")),
    ("650", (" 0", "aBees", "xBehavior.")),
    ("650", (" 7", "aBienen", "0(DE-588)4006216-6", "2gnd")),
    ("650", (" 2", "aInsect Flight", "0https://id.nlm.nih.gov/mesh/D005416")),
    ("653", ("  ", "aspirals")),
    ("700", ("1 ", "aBee, Bo.")),
    ("700", ("12", "aOther, O.", "tAnother work.")),
]  # fmt: skip
