"""Add fields to a record in ISO 2709. All of its bytes stay, but for its two lengths in the leader."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from tagwright.readers.documents.catalogue import Field
from tagwright.readers.documents.marc import END, has_utf8


def described(record: bytes) -> tuple[str, int, set[str]]:
    """The control number of a record, "" for none, its highest link number ($8), and the tags of its fields.

    Raises ValueError for a damaged record, and one that is no MARC 21.
    """
    entries, data = _parts(record)
    places = [(int(entry[7:]), int(entry[3:7])) for entry in entries if entry[:3] == b"001"]
    number = next((data[start : start + length].rstrip(b"\x1e") for start, length in places), b"")
    link = max(map(int, re.findall(rb"\x1f8(\d{1,9})", record)), default=0)
    tags = {entry[:3].decode("ascii", "replace") for entry in entries}
    return number.decode("utf-8" if has_utf8(record) else "ascii").strip(), link, tags


def with_fields(record: bytes, added: Sequence[Field]) -> bytes:
    """The record with more fields, each behind those of its hundred. The other fields stay where they are.

    Raises ValueError if the record is damaged or gets too long.
    """
    encode = str.encode if has_utf8(record) else to_marc8
    entries, data = _parts(record)
    for field in added:
        subfields = (b"\x1f" + code.encode() + encode(value) for code, value in field.subfields)
        content = field.indicators.encode() + b"".join(subfields) + b"\x1e"
        if len(content) > 9_999:
            raise ValueError(f"field {field.tag} would have {len(content):,} bytes, at most 9,999 are possible")
        place = next((at for at in range(len(entries), 0, -1) if entries[at - 1][:1] <= field.tag[:1].encode()), 0)
        entries.insert(place, b"%s%04d%05d" % (field.tag.encode(), len(content), len(data)))
        data += content
    directory = b"".join(entries) + b"\x1e"
    base = 24 + len(directory)
    length = base + len(data) + 1
    if length > 99_999:
        raise ValueError(f"it would have {length:,} bytes, at most 99,999 are possible")
    return b"%05d%s%05d%s" % (length, record[5:12], base, record[17:24]) + directory + data + END


def _parts(record: bytes) -> tuple[list[bytes], bytes]:
    """The entries of the directory and the data of a record, checked as far as writing needs it."""
    if record[20:24] != b"4500":  # the digits of lengths and starts in its directory
        raise ValueError("it is no MARC 21 record")
    base = int(record[12:17]) if (record[:5] + record[12:17]).isdigit() else 0
    directory, data = record[24 : base - 1], record[base:-1]
    ended = base and record[base - 1 : base] == data[-1:] == b"\x1e"
    entries = [directory[at : at + 12] for at in range(0, len(directory), 12)]
    if not ended or int(record[:5]) != len(record) or not all(re.fullmatch(rb"...\d{9}", each) for each in entries):
        raise ValueError("its lengths do not fit")
    return entries, data


def to_marc8(text: str) -> bytes:
    r"""The text in MARC-8, the older encoding of MARC 21: ASCII and the Latin letters of ANSEL, accents before them.

    Other characters are references, `&#x0411;`, as the Library of Congress writes them where nothing may be lost.

    >>> to_marc8("Bär"), to_marc8("Łódź"), to_marc8("Б")
    (b'B\xe8ar', b'\xa1\xe2od\xe2z', b'&#x0411;')
    """
    marks = "\u0300-\u036f\ufe20-\ufe2f"
    clusters = re.findall(f"[^{marks}][{marks}]*|.", unicodedata.normalize("NFC", text), re.DOTALL)
    return b"".join(map(_encode, clusters))


def _encode(cluster: str) -> bytes:
    """A character with its combining marks."""
    table = _table()
    letter, *marks = tuple(unicodedata.normalize("NFD", cluster))
    if len(marks) and all(sign in table for sign in (letter, *marks)):
        return b"".join(table[sign] for sign in (*marks, letter))
    return b"".join(
        table[sign] if sign in table and not unicodedata.combining(sign) else f"&#x{ord(sign):04X};".encode()
        for sign in cluster
    )


@cache
def _table() -> dict[str, bytes]:
    """Character -> its byte in ASCII or ANSEL."""
    from pymarc.marc8_mapping import CODESETS

    ascii_ = {chr(code): bytes([code]) for code in range(0x20, 0x7F)}
    return {chr(sign): bytes([code]) for code, (sign, _) in CODESETS[0x45].items() if code > 0x9F} | ascii_
