"""Copy MARCXML with fields added to its records; every other byte stays."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from tagwright.readers.documents.catalogue import Field
from tagwright.readers.limits import largest_document, too_large

Add = Callable[[str, int, int, Collection[str]], Sequence[Field]]
"""The fields to add to a record, by its control number, its place in the file, as reading counts, its highest link
number and the tags of its fields."""


def copy_with_fields(source: IO[bytes], target: IO[bytes], add: Add) -> None:
    """Copy the file. Raises ValueError for what is not XML, declares entities, or is not in an encoding like ASCII."""
    copier = _Copier(add)
    for chunk in iter(lambda: source.read(1 << 16), b""):
        target.writelines(copier.take(chunk))
    target.writelines(copier.take(b""))


@dataclass(kw_only=True)
class _Record:
    """An open element `record`. depth: of it; ends: hundred of a tag -> where its last field ends, in bytes.

    place: its number among the elements that hold fields of data, as reading counts them; 0 for others. number, link,
    tags: as in `Add`.
    """

    depth: int
    number: str = ""
    place: int = 0
    link: int = 0
    tags: set[str] = field(default_factory=set)
    ends: dict[str, int] = field(default_factory=dict)
    indent: bytes = b""
    prefix: bytes = b""


class _Copier:
    """Parses as it copies: the bytes of a record are held back until it ends."""

    def __init__(self, add: Add) -> None:
        self._add = add
        self._raw, self._base, self._encoding = b"", 0, "utf-8"
        self._open: list[_Record] = []
        self._places = 0
        self._depth, self._tag, self._code, self._text = 0, "", "", ""
        self._inserts: list[tuple[int, bytes]] = []
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.UseForeignDTD(True)
        parser.XmlDeclHandler, parser.EntityDeclHandler = self._declared, _refuse_entity
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters

    def take(self, chunk: bytes) -> Iterator[bytes]:
        """Parse the next bytes, b"" at the end, and yield what can be written."""
        if not self._base and not self._raw and chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError("it is in UTF-16; save it as UTF-8")
        self._raw += chunk
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise ValueError(f"it is not XML ({expat.ErrorString(error.code)})") from None
        for place, text in sorted(self._inserts, key=lambda insert: insert[0]):
            yield from (self._until(place), text)
        self._inserts.clear()
        if not chunk:
            yield self._until(None)
        elif not self._open:  # what is not parsed yet may begin a record
            yield self._until(max(self._base, self._parser.CurrentByteIndex))
        elif len(self._raw) > 2 * largest_document():
            raise ValueError(f"a record {too_large()}")

    def _until(self, place: int | None) -> bytes:
        """The held bytes before a place, None for all."""
        size = len(self._raw) if place is None else place - self._base
        done, self._raw = self._raw[:size], self._raw[size:]
        self._base += size
        return done

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._encoding = "utf-8" if (encoding or "utf-8").lower() in ("utf-8", "utf8") else "ascii"

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        name, self._text = _local(name), ""
        if name == "record":
            self._open.append(_Record(depth=self._depth))
        elif self._is_field(name):
            self._tag = attributes.get("tag", "")
            if name == "datafield":
                self._note_shape(self._open[-1])
        elif name == "subfield":
            self._code = attributes.get("code", "")

    def _note_shape(self, record: _Record) -> None:
        """Remember how a field of the record is written, the space before it and the prefix of its name; count it."""
        if not record.place:
            self._places += 1
            record.place = self._places
        start = self._parser.CurrentByteIndex - self._base
        before = self._raw[max(0, start - 200) : start]
        prefix = re.compile(rb"<([^\s:>]+:)?").match(self._raw, start)
        record.indent, record.prefix = before[len(before.rstrip()) :], (prefix[1] if prefix else None) or b""

    def _end(self, name: str) -> None:
        name, record = _local(name), self._open[-1] if self._open else None
        if record and name == "record" and record.depth == self._depth:
            self._open.pop()
            self._insert(record)
        elif record and self._is_field(name):
            end = self._raw.index(b">", self._parser.CurrentByteIndex - self._base) + 1 + self._base
            record.tags.add(self._tag)
            record.ends[self._tag[:1] if name != "leader" else "0"] = end
            if name == "controlfield" and self._tag == "001":
                record.number = " ".join(self._text.split())
        elif (
            record and name == "subfield" and self._code == "8" and (number := re.match(r"\d{1,9}", self._text.strip()))
        ):
            record.link = max(record.link, int(number[0]))
        self._depth -= 1

    def _is_field(self, name: str) -> bool:
        """Whether an element is a field of the innermost open record."""
        is_one = name in ("leader", "controlfield", "datafield")
        return is_one and bool(self._open) and self._open[-1].depth == self._depth - 1

    def _characters(self, text: str) -> None:
        self._text += text

    def _insert(self, record: _Record) -> None:
        """Note where the fields to add to a record go: each behind those of its hundred."""
        added = self._add(record.number, record.place, record.link, record.tags) if record.place else ()
        for each in added:
            place = max(end for hundred, end in record.ends.items() if hundred <= each.tag[:1])
            self._inserts.append((place, record.indent + self._written(each, record.prefix.decode())))

    def _written(self, added: Field, prefix: str) -> bytes:
        first, second = tuple(added.indicators)
        subfields = "".join(
            f"<{prefix}subfield code={quoteattr(code)}>{escape(value)}</{prefix}subfield>"
            for code, value in added.subfields
        )
        text = f'<{prefix}datafield tag="{added.tag}" ind1="{first}" ind2="{second}">{subfields}</{prefix}datafield>'
        return text.encode(self._encoding, "xmlcharrefreplace")


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"it declares the XML entity {name[:40]!r}, which is never resolved")


def _local(name: str) -> str:
    return name.rpartition(":")[2]
