"""A tiny writer of PDF files, for the tests of their reader: text lines in two fonts, and a title."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Set(NamedTuple):
    """A line set in type, at x points from the left and y from the bottom."""

    text: str
    y: float
    size: float = 10
    bold: bool = False
    x: float = 72


def page(*parts: str | tuple[str, float, bool], top: float = 750) -> list[Set]:
    """Lines from the top down: plain text in paragraphs (lines between line ends), headings with size and weight."""
    lines, y = list[Set](), top
    for part in parts:
        text, size, bold = (part, 10.0, False) if isinstance(part, str) else part
        y -= 8
        for line in text.split("\n"):
            lines.append(Set(line, y, size, bold))
            y -= size * 1.2
    return lines


def pdf(pages: Iterable[Sequence[Set]], title: str = "") -> bytes:
    """A whole file."""
    faces = (b"Roman", b"Bold")
    font = b"<</Type/Font/Subtype/Type1/Encoding/WinAnsiEncoding/BaseFont/Times-%s>>"
    objects, kids = [b"<</Type/Catalog/Pages 2 0 R>>", b"", *(font % face for face in faces)], list[int]()
    for lines in pages:
        text = b"".join(_shown(line) for line in lines)
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(text), text))
        fonts = b"/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>"
        objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]%s/Contents %d 0 R>>" % (fonts, len(objects)))
        kids.append(len(objects))
    objects.append(b"<</Title(%s)>>" % _escaped(title))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    return _file(objects)


def _shown(line: Set) -> bytes:
    font = 2 if line.bold else 1
    return b"BT /F%d %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n" % (font, line.size, line.x, line.y, _escaped(line.text))


def _escaped(text: str) -> bytes:
    return text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _file(objects: Sequence[bytes]) -> bytes:
    content, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"<</Size %d/Root 1 0 R/Info %d 0 R>>" % (len(objects) + 1, len(objects))
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    return content + head + table + b"trailer" + trailer + b"\nstartxref\n%d\n%%%%EOF" % len(content)
