"""Add fields to a MARC 21 record in ISO 2709, or remove some.

A record is a leader of 24 bytes, a directory with an entry for each field, and the data of the fields. An entry has 12
bytes: the tag, the length of the field and where it starts in the data. What is not changed stays byte for byte.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache, partial
from itertools import pairwise

from tagwright.readers.documents.catalogue import Field
from tagwright.readers.documents.marc import END, from_marc8, has_utf8

FIELD_END, SUBFIELD = b"\x1e", b"\x1f"  # what ends the directory and each field, and what begins a subfield


def read_fields(record: bytes) -> tuple[str, list[Field]]:
    """Return the control number of a record, "" for none, and its data fields in their order.

    In MARC-8, subjects (6XX) and their provenance (883) are decoded in full, of other fields only what is ASCII.
    Raises ValueError for a damaged record, and one that is not MARC 21.
    """
    entries, data = _split(record)
    in_utf8 = has_utf8(record)
    control_number, fields = "", list[Field]()
    for tag, start, end in map(_parse_entry, entries):
        if tag < "010":
            if tag == "001" and not control_number:
                control_number = data[start:end].rstrip(FIELD_END).decode("utf-8" if in_utf8 else "ascii").strip()
            continue
        indicators, *subfields = data[start:end].rstrip(FIELD_END).split(SUBFIELD)
        in_marc8 = not in_utf8 and (tag[:1] == "6" or tag == "883")
        decode = from_marc8 if in_marc8 else partial(str, encoding="utf-8", errors="replace")
        decoded = tuple((subfield[:1].decode("ascii", "replace"), decode(subfield[1:])) for subfield in subfields)
        fields.append(Field(tag, f"{indicators.decode('ascii', 'replace')}  "[:2], decoded))
    return control_number, fields


def with_changes(record: bytes, removed: Collection[int], added: Sequence[Field]) -> bytes:
    """Return the record without some data fields and with new ones, in order of the first digit of the tags.

    removed: positions among the data fields. Raises ValueError if the record is damaged or gets too long.
    """
    encode = str.encode if has_utf8(record) else to_marc8
    entries, data = _split(record)
    entries, data = _remove_fields(removed, entries, data)
    for field in added:
        subfields = (SUBFIELD + code.encode() + encode(value) for code, value in field.subfields)
        content = field.indicators.encode() + b"".join(subfields) + FIELD_END
        if len(content) > 9_999:
            raise ValueError(f"field {field.tag} would have {len(content):,} bytes, at most 9,999 are possible")
        place = next((at for at in range(len(entries), 0, -1) if entries[at - 1][:1] <= field.tag[:1].encode()), 0)
        entries.insert(place, _format_entry(field.tag.encode(), len(data), len(content)))
        data += content
    directory = b"".join(entries) + FIELD_END
    base = 24 + len(directory)
    length = base + len(data) + 1
    if length > 99_999:
        raise ValueError(f"it would have {length:,} bytes, at most 99,999 are possible")
    return b"%05d%s%05d%s" % (length, record[5:12], base, record[17:24]) + directory + data + END


def _remove_fields(removed: Collection[int], entries: list[bytes], data: bytes) -> tuple[list[bytes], bytes]:
    """Return directory and data without some data fields. Raises ValueError where fields overlap."""
    if not removed:
        return entries, data
    parsed = [_parse_entry(entry) for entry in entries]
    spans = sorted((start, end) for _, start, end in parsed)
    if any(end > start for (_, end), (start, _) in pairwise(spans)):
        raise ValueError("its lengths do not fit")
    data_fields = [number for number, (tag, _, _) in enumerate(parsed) if tag >= "010"]
    removed_numbers = {data_fields[place] for place in removed}
    cuts = sorted(parsed[number][1:] for number in removed_numbers)
    kept = list[bytes]()
    for number, (entry, (_, start, end)) in enumerate(zip(entries, parsed, strict=True)):
        if number not in removed_numbers:
            cut_before = sum(cut_end - cut_start for cut_start, cut_end in cuts if cut_start < start)
            kept.append(_format_entry(entry[:3], start - cut_before, end - start))
    for start, end in reversed(cuts):
        data = data[:start] + data[end:]
    return kept, data


def _split(record: bytes) -> tuple[list[bytes], bytes]:
    """Return the entries of the directory of a record, and its data, checked as far as writing needs it."""
    if record[20:24] != b"4500":  # the numbers of digits that lengths and starts have in the directory
        raise ValueError("it is no MARC 21 record")
    base = int(record[12:17]) if (record[:5] + record[12:17]).isdigit() else 0
    directory, data = record[24 : base - 1], record[base:-1]
    is_ended = base and record[base - 1 : base] == data[-1:] == FIELD_END
    entries = [directory[at : at + 12] for at in range(0, len(directory), 12)]
    are_entries = all(re.fullmatch(rb"...\d{9}", entry) for entry in entries)
    if not is_ended or int(record[:5]) != len(record) or not are_entries:
        raise ValueError("its lengths do not fit")
    return entries, data


def _parse_entry(entry: bytes) -> tuple[str, int, int]:
    """Return the tag of a field, and where it begins and ends in the data."""
    start = int(entry[7:])
    return entry[:3].decode("ascii", "replace"), start, start + int(entry[3:7])


def _format_entry(tag: bytes, start: int, length: int) -> bytes:
    return b"%s%04d%05d" % (tag, length, start)


def to_marc8(text: str) -> bytes:
    r"""Encode text in MARC-8, the older encoding of MARC 21: ASCII and the Latin letters of ANSEL, accents before them.

    Other characters are written as references, `&#x0411;`, the lossless form of the Library of Congress.

    >>> to_marc8("Bär"), to_marc8("Łódź"), to_marc8("Б")
    (b'B\xe8ar', b'\xa1\xe2od\xe2z', b'&#x0411;')
    """
    marks = "\u0300-\u036f\ufe20-\ufe2f"
    clusters = re.findall(f"[^{marks}][{marks}]*|.", unicodedata.normalize("NFC", text), re.DOTALL)
    return b"".join(map(_encode, clusters))


def _encode(cluster: str) -> bytes:
    """Encode a character with its combining marks."""
    table = _read_ansel_table()
    letter, *marks = tuple(unicodedata.normalize("NFD", cluster))
    if marks and all(sign in table for sign in (letter, *marks)):
        return b"".join(table[sign] for sign in (*marks, letter))
    return b"".join(
        table[sign] if sign in table and not unicodedata.combining(sign) else f"&#x{ord(sign):04X};".encode()
        for sign in cluster
    )


@cache
def _read_ansel_table() -> dict[str, bytes]:
    """Return the byte of each character of ASCII and ANSEL."""
    from pymarc.marc8_mapping import CODESETS

    ascii_ = {chr(code): bytes([code]) for code in range(0x20, 0x7F)}
    ansel = CODESETS[0x45]  # byte -> code point, whether it is a combining mark
    return {chr(sign): bytes([code]) for code, (sign, _) in ansel.items() if code > 0x9F} | ascii_
