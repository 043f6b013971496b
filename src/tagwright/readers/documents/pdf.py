"""Read PDF files: the running text in paragraphs. Needs pypdfium2 (extra `pdf`)."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tagwright.core.extras import require
from tagwright.errors import InputError
from tagwright.readers.documents.markup import join_lines
from tagwright.readers.documents.plain_text import LONGEST_TITLE
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import authors, keep_present, keywords, one_line
from tagwright.readers.limits import PICTURES, convert_errors, largest_document, read_whole, too_large
from tagwright.readers.lines import open_bytes
from tagwright.types import Document

_log = logging.getLogger(__name__)


class Line(NamedTuple):
    """A line of text: its page, from 0, how high it stands there, and the size of its type, in points."""

    text: str
    page: int
    height: float
    size: float


def read_pdf(path: Path) -> Iterator[Located]:
    """One document, without id. Its title is that of the file's properties, or else what is largest on the first page.

    Running heads and page numbers are left out; headings are paragraphs. A page that cannot be read is logged and
    skipped, and so is text that looks broken. Metadata: author, keyword. Raises InputError, also for a file without
    text.
    """
    require("reading PDF", "pypdfium2", path=path)
    import pypdfium2

    with open_bytes(path) as file:
        content = read_whole(file, path, PICTURES)
    with convert_errors("is no PDF file, or a damaged one", "pypdfium2", path):
        try:
            opened = pypdfium2.PdfDocument(content)
        except pypdfium2.PdfiumError as error:
            if "password" not in str(error):
                raise
            raise InputError("is encrypted; save it without a password", path) from None
        with closing(opened) as pdf:
            said = {key: one_line(value) for key, value in pdf.get_metadata_dict().items()}
            lines = list(_lines(pdf, path))
    paragraphs = list(to_paragraphs(_without_running_heads(lines)))
    if not paragraphs:
        raise InputError("holds no text, perhaps only scanned pages; add a text layer with an OCR program", path)
    _check_words(lines, path)
    texts = [join_lines([line.text for line in paragraph]) for paragraph in paragraphs]
    is_file_name = re.fullmatch(r"untitled|microsoft \w+ - .*|.*\.(?:\w{2,4}|indd)", said["Title"], re.IGNORECASE)
    title = "" if is_file_name else said["Title"]
    largest = max((paragraph[0].size for paragraph in paragraphs if paragraph[0].page == 0), default=0.0)
    place = next((place for place, paragraph in enumerate(paragraphs) if paragraph[0].size == largest), 0)
    if texts[place].casefold() == title.casefold() or (not title and len(texts[place]) <= LONGEST_TITLE):
        title = texts.pop(place)
    metadata = keep_present(
        author=authors(re.split(r"\s*(?:;|, | and )\s*", said["Author"])),
        keyword=keywords([said["Keywords"]]),
    )
    yield 0, Document("", title, "\n\n".join(texts), metadata=metadata)


def _lines(pdf: Any, path: Path) -> Iterator[Line]:
    left = largest_document()
    for number in range(len(pdf)):
        try:
            with convert_errors(f"page {number + 1} cannot be read", "pypdfium2", path):
                lines = list(_of_page(pdf.get_page(number).get_textpage(), number))
        except InputError as error:
            _log.warning("%s", error)
            continue
        left -= sum(len(line.text) for line in lines)
        if left < 0:
            raise InputError(too_large(), path)
        yield from lines


def _of_page(page: Any, number: int) -> Iterator[Line]:
    """The lines of a page in the order in which they were written, column by column; raised numbers are apart."""

    def gap(found: re.Match[str]) -> str:
        place = start + found.start()
        (_, low, _, high), (_, bottom, _, top) = (page.get_charbox(each, loose=True) for each in (place - 1, place))
        return " " if top - bottom < 0.85 * (high - low) and bottom > low + 0.1 * (high - low) else ""

    text, start, last = page.get_text_range(), 0, page.count_chars() - 1
    line_end = r"\r?\n|(?P<hyphen>\ufffe)"  # PDFium writes U+FFFE for a hyphen at the end of a line
    for end in (*re.finditer(line_end, text), None):
        line = re.sub(r"(?<=[^\W\d_]{3})(?=\d)", gap, text[start : end.start() if end else None])
        if words := one_line(line):
            first = min(start + len(line) - len(line.lstrip()), last)
            hyphen = "-" if end and end["hyphen"] else ""
            _, bottom, _, top = page.get_charbox(first, loose=True)
            yield Line(words + hyphen, number, bottom, top - bottom)
        start = end.end() if end else 0


def _without_running_heads(lines: Sequence[Line]) -> list[Line]:
    """The lines without page numbers, and without those that recur at the edges of many pages but for their digits.

    The edges are the first and last two lines; many are three pages, and three tenths of all.
    """
    number = r"(?:[-–—|]\s*)?(?:page\s+)?(?:\d{1,5}|[ivxl]+)(?:\s*(?:/|of)\s*\d+)?(?:\s*[-–—|])?"
    pages: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        pages.setdefault(line.page, []).append(place)
    edges = {place: re.sub(r"\d+", "#", lines[place].text) for on in pages.values() for place in (*on[:2], *on[-2:])}
    counts = Counter(key for key, _ in {(key, lines[place].page) for place, key in edges.items()})
    often = max(3.0, 0.3 * len(pages))
    recurring = {place for place, key in edges.items() if counts[key] >= often}
    left_out = recurring | {place for place in edges if re.fullmatch(number, lines[place].text, re.IGNORECASE)}
    return [line for place, line in enumerate(lines) if place not in left_out]


def to_paragraphs(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines of each paragraph. Another size of type begins one, and so does a gap of 1.4 times the usual one.

    On a new page or in a new column, the end of a sentence does.
    """
    gaps = Counter(round(_line_distance(a, b), 1) for a, b in pairwise(lines) if _is_below(a, b))
    usual = min((gap for gap, count in gaps.items() if count == max(gaps.values())), default=0.0)
    paragraph = list(lines[:1])
    for before, line in pairwise(lines):
        gap = _line_distance(before, line) > 1.4 * usual
        ended = gap if _is_below(before, line) else before.text.endswith((".", "!", "?", ":"))
        if ended or abs(line.size - before.size) > 0.1 * before.size:
            yield paragraph
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield paragraph


def _line_distance(line: Line, following: Line) -> float:
    """From line to line, in heights of the type."""
    return (line.height - following.height) / max(line.size, 1.0)


def _is_below(line: Line, following: Line) -> bool:
    return line.page == following.page and line.height >= following.height


def _check_words(lines: Sequence[Line], path: Path) -> None:
    """Say so if a tenth of the text is glued words, or characters whose fonts do not tell what they are."""
    signs = ("[A-Za-zÀ-ɏͰ-ӿ]{40,}", "[\0-\x08\x0e-\x1f\ufffd\ue000-\uf8ff]")
    size = sum(len(line.text) for line in lines)
    broken = sum(len("".join(re.findall(sign, line.text))) for line in lines for sign in signs)
    if broken > 0.1 * size:
        share = f"{100 * broken / size:.0f}% of its characters are in glued words or have no known letter"
        _log.warning("%s: the text looks broken: %s; make a new text layer with an OCR program", path, share)
