"""Find headings and paragraphs among the lines of printed pages, by their type and place.

Headings are taken from the outline of the file if its titles occur in the text, or else from the size and weight of the
type. Lines that recur on many pages, page and line numbers and tables of contents are left out.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeAlias

from tagwright.readers.documents.sections import Block, numbered_depth
from tagwright.text.words import is_hyphenated

LONGEST_HEADING = 200
"The most characters of a heading; longer text in large type is running text."
HEADING_SIZE_RATIO = 1.05
"Minimum ratio of the type size of a heading to that of the text, unless the heading is bold."
PARAGRAPH_GAP_RATIO = 1.4
"A gap this many times the usual one separates paragraphs."
REPEATED_SHARE = 0.3
"A text that is among the first or last two lines of at least this share of the pages, and of three, is no text."
EDGE_ROWS = 4
"Rows at the top and bottom of each page among which lines are sought that recur in the same place."
SHORT_PAPER = 5
"Up to this many pages, a text at the same height near an edge of two of them is a running head; beyond, of three."
SAME_STEP_SHARE = 0.7
"Numbers in the margin are line numbers if this share of the steps from one to the next is the same."

_NUMBER = re.compile(r"((?:\d+|[A-Z])(?:\.\d+)*)\.?\s+(?=\S)")
_CAPTION = re.compile(r"(?:fig(?:ure|\.)|tab(?:le|\.))\s*\w", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"(?:[-–—|]\s*)?(?:page\s+)?(?:\d{1,5}|[ivxl]+)(?:\s*(?:/|of)\s*\d+)?(?:\s*[-–—|])?", re.IGNORECASE
)
_LEADER = re.compile(r"(?:\s?\.){5,}\s*(?:\d+|[ivxl]+)?$")
_ABSTRACT = re.compile(r"abstract\s*[:.—–-]+\s*(?=\S)", re.IGNORECASE)


class Line(NamedTuple):
    """A line of text, or a piece of one: its page, from 0; where it begins, in points from left and bottom; type."""

    page: int
    text: str
    x: float
    y: float
    size: float
    bold: bool

    @property
    def style(self) -> "_Style":
        """Size to half a point, and weight."""
        return round(self.size * 2) / 2, self.bold


class Entry(NamedTuple):
    """An entry of the outline: depth, 1 being the top; title; its page, -1 if unknown."""

    depth: int
    title: str
    page: int


_Style: TypeAlias = tuple[float, bool]


def to_blocks(lines: Sequence[Line], outline: Sequence[Entry], title: str) -> tuple[str, list[Block]]:
    """Return the title, see `_take_title`, and the blocks of the other lines."""
    lines = _without_running_heads(lines)
    title, lines = _take_title(lines, title)
    headings = _from_outline(lines, outline) or _from_type(lines)
    usual = _usual_gap(lines)
    blocks = list[Block]()
    for start, end, depth, heading in _spans(lines, headings):
        if depth:
            blocks.append((depth, heading))
        blocks += ((0, paragraph) for paragraph in _paragraphs(lines[start:end], usual))
    return title, list(_split_abstract_heading(blocks))


def without_line_numbers(rows: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Rows of pieces of text without the numbers that count the lines of a manuscript in its margin.

    These are left or right of nearly all text, and each continues from the one above by the same step.
    """
    pieces = [piece for row in rows for piece in row]
    numbers = [piece for piece in pieces if re.fullmatch(r"\s*\d{1,5}\s*", piece.text)]
    texts = [piece for piece in pieces if re.search(r"[^\W\d_]{2}", piece.text)]
    if not numbers or not texts:
        return [list(row) for row in rows]
    left = sorted(piece.x for piece in texts)[len(texts) // 20]
    right = sorted(_end(piece) for piece in texts)[-1 - len(texts) // 20]
    margins = ([each for each in numbers if _end(each) < left], [each for each in numbers if each.x > right])
    gone = {id(piece) for margin in margins if _are_line_numbers(margin) for piece in margin}
    return [[piece for piece in row if id(piece) not in gone] for row in rows]


def _end(piece: Line) -> float:
    """The estimated right edge of a piece, by characters 0.45 as wide as high."""
    return piece.x + 0.45 * piece.size * len(piece.text.strip())


def _are_line_numbers(numbers: Sequence[Line]) -> bool:
    """Whether one positive step from number to number on a page occurs four times, and is `SAME_STEP_SHARE` of all."""
    down = sorted(numbers, key=lambda number: (number.page, -number.y))
    steps = Counter(int(b.text) - int(a.text) for a, b in pairwise(down) if a.page == b.page)
    step, count = max(steps.items(), key=itemgetter(1), default=(0, 0))
    return step > 0 and count >= 4 and count >= SAME_STEP_SHARE * steps.total()


class _Heading(NamedTuple):
    """A heading in the lines from start to end; start == end: one of the outline that was not found, to stand there."""

    start: int
    end: int
    depth: int
    text: str


def _spans(lines: Sequence[Line], headings: Sequence[_Heading]) -> Iterator[tuple[int, int, int, str]]:
    """The lines between headings, with depth and text of the heading before them: 0 and "" before the first."""
    ends = [heading.start for heading in headings] + [len(lines)]
    yield 0, ends[0], 0, ""
    for heading, end in zip(headings, ends[1:], strict=True):
        yield heading.end, end, heading.depth, heading.text


def _without_running_heads(lines: Sequence[Line]) -> list[Line]:
    """The lines without running heads, page numbers and tables of contents."""
    pages: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        pages.setdefault(line.page, []).append(place)
    first_and_last = {place for places in pages.values() for place in (*places[:2], *places[-2:])}
    size = _body(lines)[0]
    keys = {place: _repeat_key(lines[place], size) for place in first_and_last}
    counts = _pages_with(lines, keys)
    often = max(3.0, REPEATED_SHARE * len(pages))
    rows = [_rows(lines, places) for places in pages.values()]
    top_and_bottom = {place for page in rows for place in (*page[0], *page[-1])}
    gone = {place for place in first_and_last if counts[keys[place]] >= often} | _repeated_in_place(lines, rows, size)
    gone |= {place for place in top_and_bottom if _PAGE_NUMBER.fullmatch(lines[place].text)}
    return [line for place, line in enumerate(lines) if place not in gone and not _LEADER.search(line.text)]


def _rows(lines: Sequence[Line], places: Sequence[int]) -> list[list[int]]:
    """Return the lines of a page from top to bottom, with lines at one height together."""
    rows: list[list[int]] = []
    for place in sorted(places, key=lambda place: -lines[place].y):
        if rows and lines[rows[-1][0]].y - lines[place].y < 2:
            rows[-1].append(place)
        else:
            rows.append([place])
    return rows


def _repeated_in_place(lines: Sequence[Line], pages: Sequence[Sequence[Sequence[int]]], size: float) -> set[int]:
    """Return places of lines near the top and bottom that recur at the same height on several pages.

    Large type is exempt: slides repeat their titles.
    """
    near_edges = {place for rows in pages for row in (*rows[:EDGE_ROWS], *rows[-EDGE_ROWS:]) for place in row}
    keys = {place: _repeat_key(lines[place], size) for place in near_edges if re.search(r"[^\W\d_]", lines[place].text)}
    spots = {place: (text, round(lines[place].y)) for place, (text, large) in keys.items() if not large}
    counts = _pages_with(lines, spots)
    return {place for place, spot in spots.items() if counts[spot] >= (3 if len(pages) > SHORT_PAPER else 2)}


def _pages_with(lines: Sequence[Line], keys: Mapping[int, Hashable]) -> Counter[Hashable]:
    """On how many pages each key occurs. keys: place of a line -> its key."""
    return Counter(key for key, _ in {(key, lines[place].page) for place, key in keys.items()})


def _repeat_key(line: Line, size: float) -> tuple[str, bool]:
    """What is compared between pages: the text, with # for digits unless it is large, and whether it is large."""
    large = line.size > size * HEADING_SIZE_RATIO
    return line.text if large else re.sub(r"\d+", "#", line.text), large


def _take_title(lines: list[Line], given: str) -> tuple[str, list[Line]]:
    """Return the title and the other lines.

    The title is the given one if the first page has it. Otherwise it is the text in the largest type there, if that is
    one block and no later page has type of this size; else the given one.
    """
    end = bisect_right(lines, 0, key=attrgetter("page"))
    if given and (found := _find(lines, given, 0, end)):
        return given, lines[: found[0]] + lines[found[1] :]
    largest = max((line.style[0] for line in lines[:end]), default=0.0)
    places = [place for place, line in enumerate(lines) if line.style[0] == largest]
    text = _joined([lines[place].text for place in places])
    alone = bool(places) and places[-1] < end and places[-1] - places[0] == len(places) - 1
    if alone and largest > _body(lines)[0] * HEADING_SIZE_RATIO and _is_heading(text):
        return text, lines[: places[0]] + lines[places[-1] + 1 :]
    return given, lines


def _body(lines: Sequence[Line]) -> _Style:
    """The type that most of the text is set in."""
    counts = Counter[_Style]()
    for line in lines:
        counts[line.style] += len(line.text)
    return counts.most_common(1)[0][0] if counts else (0.0, False)


def _from_outline(lines: Sequence[Line], outline: Sequence[Entry]) -> list[_Heading]:
    """The entries of the outline at their place in the text, or where their page begins; none unless half are found."""
    if len(outline) > 1 and outline[0].depth == 1 and all(entry.depth > 1 for entry in outline[1:]):
        outline = outline[1:]  # the one at the top is the title
    headings, found, start = list[_Heading](), 0, 0
    for entry in outline:
        low, high = start, len(lines)
        if entry.page >= 0:
            low = max(start, bisect_left(lines, entry.page, key=attrgetter("page")))
            high = bisect_right(lines, entry.page, key=attrgetter("page"))
        place = _find(lines, entry.title, low, high)
        found += place is not None
        begin, start = place or (low, low)
        headings.append(_Heading(begin, start, entry.depth, entry.title))
    return headings if len(headings) > 1 and 2 * found >= len(headings) else []


def _find(lines: Sequence[Line], title: str, start: int, end: int) -> tuple[int, int] | None:
    """The range of at most four lines that together are the title, numbers of sections aside."""
    wanted = _letters(title)
    for first in range(start, end):
        held = ""
        for last in range(first, min(first + 4, end)):
            held = f"{held} {lines[last].text}".strip()
            if wanted and _letters(held) == wanted:
                return first, last + 1
            if len(held) > len(title) + 20:
                break
    return None


def _letters(text: str) -> str:
    number = _NUMBER.match(text)
    return re.sub(r"[\W_]+", "", text[number.end() if number else 0 :]).casefold()


def _from_type(lines: Sequence[Line]) -> list[_Heading]:
    """Runs of lines in larger type than the text, or in type as large but bold where the text is not."""
    size, bold = _body(lines)
    counts = Counter[_Style]()
    for line in lines:
        counts[line.style] += len(line.text)
    styles = {
        style
        for style, count in counts.items()
        if (style[0] > size * HEADING_SIZE_RATIO or (style[1] > bold and style[0] > size * 0.95))
        and 2 * count < counts[size, bold]  # more text than that is no headings
    }
    runs = [run for run in _heading_blocks(lines, styles) if _is_heading(run[2])]
    depths = {style: depth for depth, style in enumerate(sorted(styles, key=lambda each: (-each[0], not each[1])), 1)}
    for start, _, text in runs:
        if number := _NUMBER.match(text):
            style = lines[start].style
            depths[style] = min(depths[style], numbered_depth(number[1]))
    return [_Heading(start, end, _depth(text, depths[lines[start].style]), text) for start, end, text in runs]


def _depth(text: str, usual: int) -> int:
    """The depth by a section number with dots, else the usual one: subsections may be set in the type of sections."""
    number = _NUMBER.match(text)
    return numbered_depth(number[1]) if number and "." in number[1] else usual


def _heading_blocks(lines: Sequence[Line], styles: set[_Style]) -> Iterator[tuple[int, int, str]]:
    """Consecutive lines of one style without a gap; the number of a section begins a new one."""
    start = 0
    while start < len(lines):
        end = start + 1
        if lines[start].style in styles:
            while end < len(lines) and _goes_on(lines[end - 1], lines[end]):
                end += 1
            yield start, end, _joined([line.text for line in lines[start:end]])
        start = end


def _goes_on(line: Line, following: Line) -> bool:
    near = line.page == following.page and 0 <= line.y - following.y < 1.6 * line.size
    return near and line.style == following.style and not _NUMBER.match(following.text)


def _is_heading(text: str) -> bool:
    return len(text) <= LONGEST_HEADING and bool(re.search(r"[^\W\d_]{2}", text)) and not _CAPTION.match(text)


def _usual_gap(lines: Sequence[Line]) -> float:
    """The distance between lines of text, to half a point: the most frequent one, of several the smallest."""
    body = _body(lines)
    pairs = ((a, b) for a, b in pairwise(lines) if a.page == b.page and a.y > b.y and a.style == b.style == body)
    gaps = Counter(round(2 * (a.y - b.y)) / 2 for a, b in pairs)
    return min((gap for gap, count in gaps.items() if count == max(gaps.values())), default=0.0)


def _paragraphs(lines: Sequence[Line], usual: float) -> Iterator[str]:
    paragraph: list[str] = []
    for before, line in zip([None, *lines], lines, strict=False):
        if before and _begins(before, line, usual):
            yield _joined(paragraph)
            paragraph = []
        paragraph.append(line.text)
    if paragraph:
        yield _joined(paragraph)


def _begins(before: Line, line: Line, usual: float) -> bool:
    """Whether a line begins a paragraph: by other type, a gap or an indent. usual: the usual gap, 0 if unknown.

    On a new page or in a new column, in the same type: whether the line before ends a sentence.
    """
    ended = before.text.endswith((".", "!", "?", ":"))
    if abs(line.size - before.size) > 0.1 * before.size or (line.bold != before.bold and (ended or before.bold)):
        return True
    if line.page != before.page or line.y > before.y:
        return ended
    gap = usual > 0 and before.y - line.y > usual * PARAGRAPH_GAP_RATIO
    return gap or before.size < line.x - before.x < 5 * before.size


def _joined(texts: Sequence[str]) -> str:
    """Join lines; a word hyphenated at the end of a line becomes whole again, unless a capital or "and" follows.

    >>> _joined(["Honey is no hon-", "ey of the Bee-", "Gees. Vor-", "und Nachteile"])
    'Honey is no honey of the Bee- Gees. Vor- und Nachteile'
    """
    parts = list[str]()
    for text in texts:
        if parts and is_hyphenated(parts[-1], text):
            parts[-1] = parts[-1][:-1]
        else:
            parts.append(" ")
        parts.append(text)
    return "".join(parts).strip()


def _split_abstract_heading(blocks: Sequence[Block]) -> Iterator[Block]:
    """Turn a paragraph that begins with "Abstract:" into a heading and a paragraph."""
    for depth, text in blocks:
        named = None if depth else _ABSTRACT.match(text)
        if named:
            yield from [(1, "Abstract"), (0, text[named.end() :])]
        else:
            yield depth, text
