"""Show values to people: numbers of things in words, and HTML for notebooks, escaped and without scripts."""

from collections.abc import Iterable, Sequence
from html import escape

_CELL = "padding:.15em .8em;text-align:"
_MARK = "background:#ffe58a;color:#1b1b1b"


def many(count: int, noun: str) -> str:
    """1 document, 2 documents."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def html_table(rows: Sequence[Sequence[str]], title: str = "") -> str:
    """A table: the first row names the columns, the first column is to the left, the others to the right.

    >>> "&lt;b&gt;" in html_table([["name"], ["<b>"]])
    True
    """
    return html_rows(rows[0], [[escape(cell) for cell in row] for row in rows[1:]], title)


def html_rows(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """A table whose cells are HTML already; columns and title are text."""
    head = "".join(f'<th scope="col" style="{_cell(place)}">{escape(name)}</th>' for place, name in enumerate(columns))
    cells = ("".join(f'<td style="{_cell(place)}">{cell}</td>' for place, cell in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    caption = f'<caption style="text-align:left">{escape(title)}</caption>' if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text as HTML with the characters of these spans, start to end, marked; overlapping spans are one.

    >>> marked("a < bees", [(4, 6), (5, 8)]).replace(f' style="{_MARK}"', "")
    'a &lt; <mark>bees</mark>'
    """
    parts, done = list[str](), 0
    for start, end in _merged(spans):
        parts.append(escape(text[done:start]))
        parts.append(f'<mark style="{_MARK}">{escape(text[start:end])}</mark>')
        done = end
    return "".join([*parts, escape(text[done:])])


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif end > start:
            found.append((start, end))
    return found


def _cell(place: int) -> str:
    return _CELL + ("right" if place else "left")
