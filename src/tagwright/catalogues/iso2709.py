"""Add fields to a record in ISO 2709, or take some out. All other bytes stay, but for two lengths in the leader."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise

from tagwright.readers.documents.catalogue import Field
from tagwright.readers.documents.marc import END, from_marc8, has_utf8


def read_fields(record: bytes) -> tuple[str, list[Field]]:
    """The control number of a record, "" for none, and its fields of data in their order.

    Subjects and their origins are decoded; of other fields, only ASCII. Raises ValueError for a damaged record, and one
    that is no MARC 21.
    """
    entries, data = _parts(record)
    in_utf8 = has_utf8(record)
    number, fields = "", list[Field]()
    for tag, start, end in map(_place, entries):
        if tag < "010":
            if tag == "001" and not number:
                number = data[start:end].rstrip(b"\x1e").decode("utf-8" if in_utf8 else "ascii").strip()
            continue
        first, *rest = data[start:end].rstrip(b"\x1e").split(b"\x1f")
        in_marc8 = not in_utf8 and (tag[:1] == "6" or tag == "883")
        subfields = (
            (each[:1], from_marc8(each[1:]) if in_marc8 else each[1:].decode("utf-8", "replace")) for each in rest
        )
        coded = tuple((code.decode("ascii", "replace"), value) for code, value in subfields)
        fields.append(Field(tag, f"{first.decode('ascii', 'replace')}  "[:2], coded))
    return number, fields


def with_changes(record: bytes, removed: Collection[int], added: Sequence[Field]) -> bytes:
    """The record without some fields of data, and with more, each behind those of its hundred. The others stay.

    removed: places among the fields of data. Raises ValueError if the record is damaged or gets too long.
    """
    encode = str.encode if has_utf8(record) else to_marc8
    entries, data = _parts(record)
    entries, data = _remove_fields(removed, entries, data)
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


def _remove_fields(removed: Collection[int], entries: list[bytes], data: bytes) -> tuple[list[bytes], bytes]:
    """The directory and the data without some fields of data. Raises ValueError where fields overlap."""
    if not removed:
        return entries, data
    places = [_place(entry) for entry in entries]
    spans = sorted(place[1:] for place in places)
    if any(end > start for (_, end), (start, _) in pairwise(spans)):
        raise ValueError("its lengths do not fit")
    in_data = [number for number, (tag, _, _) in enumerate(places) if tag >= "010"]
    gone = {in_data[place] for place in removed}
    cuts = sorted(places[number][1:] for number in gone)
    kept = [
        b"%s%04d%05d" % (entry[:3], end - start, start - sum(end - at for at, end in cuts if at < start))
        for number, (entry, (_, start, end)) in enumerate(zip(entries, places, strict=True))
        if number not in gone
    ]
    for start, end in reversed(cuts):
        data = data[:start] + data[end:]
    return kept, data


def _place(entry: bytes) -> tuple[str, int, int]:
    """The tag of a field, and where its data begin and end."""
    start = int(entry[7:])
    return entry[:3].decode("ascii", "replace"), start, start + int(entry[3:7])


def _parts(record: bytes) -> tuple[list[bytes], bytes]:
    """The entries of the directory and the data of a record, checked as far as writing needs it."""
    if record[20:24] != b"4500":  # the digits of lengths and starts in its directory
        raise ValueError("it is no MARC 21 record")
    base = int(record[12:17]) if (record[:5] + record[12:17]).isdigit() else 0
    directory, data = record[24 : base - 1], record[base:-1]
    ended = base and record[base - 1 : base] == data[-1:] == b"\x1e"
    entries = [directory[at : at + 12] for at in range(0, len(directory), 12)]
    if not ended or int(record[:5]) != len(record) or not all(re.fullmatch(rb"...\d{9}", entry) for entry in entries):
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
    table = _read_ansel_table()
    letter, *marks = tuple(unicodedata.normalize("NFD", cluster))
    if len(marks) and all(sign in table for sign in (letter, *marks)):
        return b"".join(table[sign] for sign in (*marks, letter))
    return b"".join(
        table[sign] if sign in table and not unicodedata.combining(sign) else f"&#x{ord(sign):04X};".encode()
        for sign in cluster
    )


@cache
def _read_ansel_table() -> dict[str, bytes]:
    """Character -> its byte in ASCII or ANSEL."""
    from pymarc.marc8_mapping import CODESETS

    ascii_ = {chr(code): bytes([code]) for code in range(0x20, 0x7F)}
    return {chr(sign): bytes([code]) for code, (sign, _) in CODESETS[0x45].items() if code > 0x9F} | ascii_
