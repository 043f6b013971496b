"""Add fields to a record in ISO 2709. All of its bytes stay, but for its two lengths in the leader."""

import re
from collections.abc import Sequence

from tagwright.catalogues.marc8 import to_marc8
from tagwright.readers.documents.catalogue import Field
from tagwright.readers.documents.marc import END, is_utf8

_FIELD, _SUBFIELD = b"\x1e", b"\x1f"
_LEADER, _ENTRY = 24, 12
_LONGEST, _LONGEST_FIELD = 99_999, 9_999
_SIZES = b"4500"
"How many digits the directory has for lengths and starts; no other record is MARC 21."


def described(record: bytes) -> tuple[str, int, set[str]]:
    """The control number of a record, "" for none, its highest link number ($8), and the tags of its fields.

    Raises ValueError for a damaged record, and one that is no MARC 21.
    """
    directory, data = _parts(record)
    entries, number = _entries(directory), ""
    for tag, length, start in entries:
        if tag == b"001" and not number:
            number = data[start : start + length].rstrip(_FIELD).decode("utf-8" if is_utf8(record) else "ascii").strip()
    link = max(map(int, re.findall(rb"\x1f8(\d{1,9})", record)), default=0)
    return number, link, {tag.decode("ascii", "replace") for tag, *_ in entries}


def with_fields(record: bytes, added: Sequence[Field]) -> bytes:
    """The record with more fields, each behind those of its hundred. The other fields stay where they are.

    Raises ValueError if the record is damaged or gets too long.
    """
    encode = str.encode if is_utf8(record) else to_marc8
    directory, data = _parts(record)
    entries = [directory[at : at + _ENTRY] for at in range(0, len(directory), _ENTRY)]
    for field in added:
        content = field.indicators.encode() + b"".join(
            _SUBFIELD + code.encode() + encode(value) for code, value in field.subfields
        )
        content += _FIELD
        if len(content) > _LONGEST_FIELD:
            most = f"at most {_LONGEST_FIELD:,} are possible"
            raise ValueError(f"field {field.tag} would have {len(content):,} bytes, {most}")
        place = next((at for at in range(len(entries), 0, -1) if entries[at - 1][:1] <= field.tag[:1].encode()), 0)
        entries.insert(place, b"%s%04d%05d" % (field.tag.encode(), len(content), len(data)))
        data += content
    directory = b"".join(entries) + _FIELD
    base = _LEADER + len(directory)
    length = base + len(data) + 1
    if length > _LONGEST:
        raise ValueError(f"it would have {length:,} bytes, at most {_LONGEST:,} are possible")
    return b"%05d%s%05d%s" % (length, record[5:12], base, record[17:_LEADER]) + directory + data + END


def _parts(record: bytes) -> tuple[bytes, bytes]:
    """The directory and the data of a record, checked as far as writing needs it."""
    if record[20:_LEADER] != _SIZES:
        raise ValueError("it is no MARC 21 record")
    base = int(record[12:17]) if (record[:5] + record[12:17]).isdigit() else 0
    directory, data = record[_LEADER : base - 1], record[base:-1]
    whole = base and record[base - 1 : base] == _FIELD and data.endswith(_FIELD) and int(record[:5]) == len(record)
    if not whole or len(directory) % _ENTRY:
        raise ValueError("its lengths do not fit")
    return directory, data


def _entries(directory: bytes) -> list[tuple[bytes, int, int]]:
    places = range(0, len(directory), _ENTRY)
    return [
        (directory[at : at + 3], int(directory[at + 3 : at + 7]), int(directory[at + 7 : at + 12])) for at in places
    ]
