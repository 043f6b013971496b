"""Copy MARCXML with fields added to its records, or taken out; every other byte stays."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, TypeAlias
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from tagwright.readers.documents.catalogue import Field
from tagwright.readers.limits import largest_document, too_large

Change: TypeAlias = Callable[[str, int, Sequence[Field]], tuple[Collection[int], Sequence[Field]]]
"""Control number of a record, its number in the file, as reading counts, and its fields of data -> the places of those
to take out, and the fields to add."""


def copy_with_changes(source: IO[bytes], target: IO[bytes], change: Change) -> None:
    """Copy the file. Raises ValueError for what is not XML, declares entities, or is not in an encoding like ASCII."""
    copier = _Copier(change)
    for chunk in iter(lambda: source.read(1 << 16), b""):
        target.writelines(copier.take(chunk))
    target.writelines(copier.take(b""))


@dataclass(kw_only=True)
class _Record:
    """An open element `record`. depth: of it. ends: hundred of a tag, "0" for the leader -> the end of its last field.

    spans: where each field of data begins, with the space before it, and ends, in bytes of the file. indent, prefix:
    what stands before its last field, and before the names of its elements ("marc:").
    place: its number among the elements that hold fields of data, as reading counts them; 0 for others.
    """

    depth: int
    number: str = ""
    place: int = 0
    fields: list[Field] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)
    indent: bytes = b""
    prefix: str = ""


class _Copier:
    """Parses as it copies: the bytes of a record are held back until it ends."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._raw, self._base, self._encoding = b"", 0, "utf-8"
        self._open: list[_Record] = []
        self._places = 0
        self._depth, self._tag, self._code, self._text = 0, "", "", ""
        self._indicators, self._subfields, self._begin = "  ", list[tuple[str, str]](), 0
        self._edits: list[tuple[int, int, bytes]] = []  # from, to, and what comes in its place
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
        except (expat.ExpatError, LookupError) as error:  # the latter for an encoding that Python does not know
            raise ValueError(f"it is not XML ({error})") from None
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2]):
            yield self._until(start)
            self._until(end)
            yield text
        self._edits.clear()
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

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        name, self._text = _local_name(qualified), ""
        if name == "record":
            self._open.append(_Record(depth=self._depth))
        elif self._is_field(name):
            self._tag = attributes.get("tag", "")
            if name == "datafield":
                self._indicators = f"{attributes.get('ind1') or ' '}{attributes.get('ind2') or ' '}"
                self._subfields = []
                self._note_shape(self._open[-1], qualified.removesuffix(name))
        elif name == "subfield":
            self._code = attributes.get("code", "")

    def _note_shape(self, record: _Record, prefix: str) -> None:
        """Remember how a field of the record is written, the space before it and the prefix of its name; count it."""
        if not record.place:
            self._places += 1
            record.place = self._places
        start = self._parser.CurrentByteIndex - self._base
        before = self._raw[max(0, start - 200) : start]
        record.indent, record.prefix = before[len(before.rstrip()) :], prefix
        self._begin = self._base + start - len(record.indent)

    def _end(self, qualified: str) -> None:
        name, record = _local_name(qualified), self._open[-1] if self._open else None
        if record and name == "record" and record.depth == self._depth:
            self._open.pop()
            self._edit(record)
        elif record and self._is_field(name):
            at = self._parser.CurrentByteIndex - self._base  # of the end tag, or behind an element that is empty
            has_end_tag = self._raw.startswith(f"</{qualified}".encode(), at)
            end = self._base + (self._raw.index(b">", at) + 1 if has_end_tag else at)
            if name == "datafield":
                record.fields.append(Field(self._tag, self._indicators, tuple(self._subfields)))
                record.spans.append((self._begin, end))
            record.ends[self._tag[:1] if name != "leader" else "0"] = end
            if name == "controlfield" and self._tag == "001":
                record.number = " ".join(self._text.split())
        elif record and name == "subfield":
            self._subfields.append((self._code, self._text))
        self._depth -= 1

    def _is_field(self, name: str) -> bool:
        """Whether an element is a field of the innermost open record."""
        is_one = name in ("leader", "controlfield", "datafield")
        return is_one and bool(self._open) and self._open[-1].depth == self._depth - 1

    def _characters(self, text: str) -> None:
        self._text += text

    def _edit(self, record: _Record) -> None:
        """Note which fields of a record go, and where the new ones come: each behind those of its hundred."""
        removed, added = self._change(record.number, record.place, record.fields) if record.place else ((), ())
        self._edits += [(*record.spans[place], b"") for place in removed]
        for each in added:
            place = max(end for hundred, end in record.ends.items() if hundred <= each.tag[:1])
            self._edits.append((place, place, record.indent + self._written(each, record.prefix)))

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


def _local_name(name: str) -> str:
    return name.rpartition(":")[2]
