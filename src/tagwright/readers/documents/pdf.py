"""Read PDF files. Needs pypdf (extra `pdf`)."""

import logging
import math
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from tagwright.core.extras import require
from tagwright.core.progress import unlogged
from tagwright.errors import InputError, one_line_of
from tagwright.readers.documents.pdf_layout import Entry, Line, to_blocks, without_line_numbers
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import authors, keywords, one_line, present, to_document
from tagwright.readers.limits import PICTURES, largest_document, read_whole, too_large
from tagwright.readers.lines import open_bytes

_log = logging.getLogger(__name__)

_FILE_NAME = re.compile(r"untitled|microsoft \w+ - .*|.*\.(?:\w{2,4}|indd)", re.IGNORECASE)


def read_pdf(path: Path) -> Iterator[Located]:
    """One document, without id; `tagwright.readers.documents.pdf_layout` recognises headings and paragraphs.

    A page that cannot be read is logged and skipped. Metadata: author, keyword. Raises InputError, also for a file
    without text.
    """
    require("reading PDF", "pypdf", path=path)
    import pypdf

    with open_bytes(path) as file:
        content = BytesIO(read_whole(file, path, PICTURES))
    try:
        with unlogged("pypdf"):  # it warns about files that it reads nevertheless
            reader = pypdf.PdfReader(content)
            rows = list(_limited(row for number, page in enumerate(reader.pages) for row in _rows(page, number, path)))
            lines = [line for row in without_line_numbers(rows) for line in _line(row)]
            outline = _outline(reader)
            information = _information(reader)
    except _TooLargeError:
        raise InputError(too_large(), path) from None
    except pypdf.errors.FileNotDecryptedError:
        raise InputError("is encrypted; save it without a password", path) from None
    except Exception as error:  # for damaged files pypdf raises KeyError, RecursionError and many more
        raise InputError(f"is no PDF file, or a damaged one ({one_line_of(error)})", path) from None
    if not lines:
        raise InputError("holds no text, perhaps only scanned pages; add a text layer with an OCR program", path)
    title, blocks = to_blocks(lines, outline, information.get("/Title", ""))
    metadata = present(
        author=authors(re.split(r"\s*(?:;|, | and )\s*", information.get("/Author", ""))),
        keyword=keywords([information.get("/Keywords", "")]),
    )
    yield 0, to_document(title, blocks, metadata)


class _TooLargeError(Exception):
    """The pages hold more text than one document may."""


def _limited(rows: Iterable[list[Line]]) -> Iterator[list[Line]]:
    left = largest_document()
    for row in rows:
        left -= sum(len(piece.text) for piece in row)
        if left < 0:
            raise _TooLargeError
        yield row


def _rows(page: Any, number: int, path: Path) -> Iterator[list[Line]]:
    """The text pieces of each line of a page, in the order they were written."""
    pieces: list[Line] = []

    def note(text: str, outer: list[float], inner: list[float], font: Any, size: float) -> None:
        x, y, scale = _place(outer, inner)
        bold = "bold" in str((font or {}).get("/BaseFont", "")).lower()
        pieces.append(Line(number, text, x, y, size * scale, bold))

    try:
        page.extract_text(visitor_text=note)
    except Exception as error:
        _log.warning("%s: page %d cannot be read (%s)", path, number + 1, one_line_of(error))
    row: list[Line] = []
    for piece in pieces:
        first, *others = piece.text.split("\n")
        row.append(piece._replace(text=first))
        for text in others:
            yield row
            row = [piece._replace(text=text)]
    yield row


def _line(pieces: list[Line]) -> Iterator[Line]:
    """The pieces joined to a line, in the type of the longest; None if it is blank."""
    text = one_line("".join(piece.text for piece in pieces))
    if text:
        main = max(pieces, key=lambda piece: len(piece.text.strip()))
        yield main._replace(text=text, x=next(piece.x for piece in pieces if piece.text.strip()))


def _place(outer: list[float], inner: list[float]) -> tuple[float, float, float]:
    """Where text with these matrices begins on the page, and by which factor its size is scaled."""
    x = inner[4] * outer[0] + inner[5] * outer[2] + outer[4]
    y = inner[4] * outer[1] + inner[5] * outer[3] + outer[5]
    return x, y, math.hypot(inner[2], inner[3]) * math.hypot(outer[2], outer[3])


def _outline(reader: Any) -> list[Entry]:
    """The outline; none if it is damaged, since the type shows most of it as well."""
    try:
        return list(_entries(reader, reader.outline, 1))
    except Exception:
        return []


def _entries(reader: Any, outline: Any, depth: int) -> Iterator[Entry]:
    for part in outline:
        if isinstance(part, list):
            yield from _entries(reader, part, depth + 1)
        elif title := one_line(str(part.title)):
            page = reader.get_destination_page_number(part)
            yield Entry(depth, title, -1 if page is None else page)


def _information(reader: Any) -> dict[str, str]:
    """The file's own metadata; a file name in place of a title is ignored."""
    try:
        said = {str(key): one_line(str(value)) for key, value in (reader.metadata or {}).items()}
    except Exception:
        return {}
    return {key: value for key, value in said.items() if key != "/Title" or not _FILE_NAME.fullmatch(value)}
