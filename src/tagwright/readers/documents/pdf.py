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
from tagwright.readers.limits import PICTURES, PLAIN, Reading, convert_errors, largest_document, read_whole, too_large
from tagwright.readers.lines import open_bytes
from tagwright.types import Document

_log = logging.getLogger(__name__)


class Line(NamedTuple):
    """A line of text. page: from 0. bottom: its height above the foot of the page. size: of its type, in points."""

    text: str
    page: int
    bottom: float
    size: float


def read_pdf(path: Path, _reading: Reading = PLAIN) -> Iterator[Located]:
    """Yield one document without id. The title comes from the file's properties, or is the largest text on page one.

    Running heads and page numbers are left out; headings are paragraphs. A warning is logged for each page that cannot
    be read, which is skipped, and for a text that looks broken. Metadata: author, keyword. Raises InputError, also for
    a file without text.
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
            properties = {key: one_line(value) for key, value in pdf.get_metadata_dict().items()}
            lines = list(_lines(pdf, path))
    paragraphs = list(to_paragraphs(_without_running_heads(lines)))
    if not paragraphs:
        raise InputError("holds no text, perhaps only scanned pages; add a text layer with an OCR program", path)
    _check_words(lines, path)
    texts = [join_lines([line.text for line in paragraph]) for paragraph in paragraphs]
    title = properties["Title"]
    if re.fullmatch(r"untitled|microsoft \w+ - .*|.*\.(?:\w{2,4}|indd)", title, re.IGNORECASE):
        title = ""  # a program has filled in the name of the file
    largest = max((paragraph[0].size for paragraph in paragraphs if paragraph[0].page == 0), default=0.0)
    headline = next((place for place, paragraph in enumerate(paragraphs) if paragraph[0].size == largest), 0)
    if texts[headline].casefold() == title.casefold() or (not title and len(texts[headline]) <= LONGEST_TITLE):
        title = texts.pop(headline)
    metadata = keep_present(
        author=authors(re.split(r"\s*(?:;|, | and )\s*", properties["Author"])),
        keyword=keywords([properties["Keywords"]]),
    )
    yield 0, Document("", title, "\n\n".join(texts), metadata=metadata)


def _lines(pdf: Any, path: Path) -> Iterator[Line]:
    characters_left = largest_document()
    for number in range(len(pdf)):
        try:
            with convert_errors(f"page {number + 1} cannot be read", "pypdfium2", path):
                lines = list(_lines_of_page(pdf.get_page(number).get_textpage(), number))
        except InputError as error:
            _log.warning("%s", error)
            continue
        characters_left -= sum(len(line.text) for line in lines)
        if characters_left < 0:
            raise InputError(too_large(), path)
        yield from lines


def _lines_of_page(page: Any, number: int) -> Iterator[Line]:
    """Yield the lines of a page as the file orders them, column by column. A space is put before footnote numbers."""

    def space_if_raised(before_digit: re.Match[str]) -> str:
        digit = start + before_digit.start()
        (_, low, _, high), (_, bottom, _, top) = (page.get_charbox(place, loose=True) for place in (digit - 1, digit))
        is_smaller, is_higher = top - bottom < 0.85 * (high - low), bottom > low + 0.1 * (high - low)
        return " " if is_smaller and is_higher else ""

    text, start, last = page.get_text_range(), 0, page.count_chars() - 1
    line_end = r"\r?\n|(?P<hyphen>\ufffe)"  # PDFium writes U+FFFE for a hyphen at the end of a line
    for end in (*re.finditer(line_end, text), None):  # None: the end of the page
        line = re.sub(r"(?<=[^\W\d_]{3})(?=\d)", space_if_raised, text[start : end.start() if end else None])
        if words := one_line(line):
            first = min(start + len(line) - len(line.lstrip()), last)
            hyphen = "-" if end and end["hyphen"] else ""
            _, bottom, _, top = page.get_charbox(first, loose=True)
            yield Line(words + hyphen, number, bottom, top - bottom)
        start = end.end() if end else 0


def _without_running_heads(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without page numbers and running heads, which are among the first and last two of a page.

    A running head recurs, except for its digits, on three tenths of all pages and on at least three.
    """
    page_number = r"(?:[-–—|]\s*)?(?:page\s+)?(?:\d{1,5}|[ivxl]+)(?:\s*(?:/|of)\s*\d+)?(?:\s*[-–—|])?"
    pages: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        pages.setdefault(line.page, []).append(place)
    edges = [place for places in pages.values() for place in {*places[:2], *places[-2:]}]
    without_digits = {place: re.sub(r"\d+", "#", lines[place].text) for place in edges}
    page_counts = Counter(text for text, _ in {(without_digits[place], lines[place].page) for place in edges})
    often = max(3.0, 0.3 * len(pages))
    running_heads = {place for place in edges if page_counts[without_digits[place]] >= often}
    page_numbers = {place for place in edges if re.fullmatch(page_number, lines[place].text, re.IGNORECASE)}
    left_out = running_heads | page_numbers
    return [line for place, line in enumerate(lines) if place not in left_out]


def to_paragraphs(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each paragraph.

    A paragraph begins where the size of the type changes, or after a distance of more than 1.4 times the usual one; on
    a new page or in a new column, after the end of a sentence.
    """
    distances = Counter(round(_line_distance(a, b), 1) for a, b in pairwise(lines) if _is_below(a, b))
    usual = min((distance for distance, count in distances.items() if count == max(distances.values())), default=0.0)
    paragraph = list(lines[:1])
    for before, line in pairwise(lines):
        if _is_below(before, line):
            begins = _line_distance(before, line) > 1.4 * usual
        else:
            begins = before.text.endswith((".", "!", "?", ":"))
        if begins or abs(line.size - before.size) > 0.1 * before.size:
            yield paragraph
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield paragraph


def _line_distance(line: Line, following: Line) -> float:
    """Return the distance between two lines of a page, as a multiple of the type size."""
    return (line.bottom - following.bottom) / max(line.size, 1.0)


def _is_below(line: Line, following: Line) -> bool:
    return line.page == following.page and line.bottom >= following.bottom


def _check_words(lines: Sequence[Line], path: Path) -> None:
    """Warn if more than a tenth of the text is glued words, or characters that their font does not map to letters."""
    patterns = ("[A-Za-zÀ-ɏͰ-ӿ]{40,}", "[\0-\x08\x0e-\x1f\ufffd\ue000-\uf8ff]")
    size = sum(len(line.text) for line in lines)
    broken = sum(len("".join(re.findall(pattern, line.text))) for line in lines for pattern in patterns)
    if broken > 0.1 * size:
        share = f"{100 * broken / size:.0f}% of its characters are in glued words or have no known letter"
        _log.warning("%s: the text looks broken: %s; make a new text layer with an OCR program", path, share)
