"""Show values to people: at a terminal without control sequences, in notebooks as HTML without scripts."""

import json
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from operator import itemgetter

INTERRUPTED = 130
"The exit code after Ctrl-C, as in shells and typer."

SOME_FAILED = 3
"The exit code where a command has done its work, but without some documents that could not be read or tagged."

_MARK = "background:#ffe58a;color:#1b1b1b"

FIRST = 5
"Labels or documents that a notebook shows of many."


def plural(count: int, noun: str) -> str:
    """1 document, 2 documents."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def list_first(names: Sequence[str], most: int = 3) -> str:
    """The first of these names, and how many more there are.

    >>> list_first(["a", "b"]), list_first(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def escape_controls(text: str) -> str:
    r"""Text that can be printed. JSON stays JSON of the same values, since all these stand in strings there.

    >>> escape_controls("\x1b[31mred \u202egnp.exe")
    '\\u001b[31mred \\u202egnp.exe'
    """
    # Control characters but tab and line end; separators that end lines; what overrides the direction of text, so that
    # it reads otherwise than it is; halves of characters, which are how Python writes bytes of file names.
    obeyed = "[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    return re.sub(obeyed, lambda match: f"\\u{ord(match[0]):04x}", text)


def for_programs(text: str) -> str:
    """A line that programs read: as it is, since they would not undo the escapes, but escaped at a terminal."""
    return escape_controls(text) if sys.stdout.isatty() else text


def print_json(content: object) -> None:
    """Print a value as JSON for programs, escaped."""
    print(escape_controls(json.dumps(content, ensure_ascii=False, indent=1)))  # noqa: T201


def report_interruption() -> int:
    """Report the interruption and return the exit code."""
    sys.stderr.write("tagwright: interrupted\n")
    return INTERRUPTED


def print_warnings() -> None:
    """Print warnings, escaped, where no log is set up: on the command line, as a library says nothing by itself."""
    handlers = logging.getLogger("tagwright").handlers
    handlers[:] = [each for each in handlers if not isinstance(each, logging.NullHandler)]  # then Python prints them
    if logging.lastResort:
        logging.lastResort.addFilter(_escape_record)


def html_table(rows: Sequence[Sequence[str]], title: str = "", words: Sequence[str] = ()) -> str:
    """A table: the first row names the columns; the first one, and those named in `words`, are to the left.

    >>> "&lt;b&gt;" in html_table([["name"], ["<b>"]])
    True
    """
    word, number = (f"padding:.15em .8em;text-align:{side}" for side in ("left", "right;white-space:nowrap"))
    styles = [word if not place or name in words else number for place, name in enumerate(rows[0])]
    names, *others = [list(zip(styles, map(escape, row), strict=True)) for row in rows]
    head = "".join(f'<th scope="col" style="{style}">{cell}</th>' for style, cell in names)
    cells = ("".join(f'<td style="{style}">{cell}</td>' for style, cell in row) for row in others)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    caption = f'<caption style="text-align:left">{escape(title)}</caption>' if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def mark_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text as HTML with the characters of these spans, start to end, marked; overlapping spans are one.

    >>> mark_spans("a < bees", [(4, 6), (5, 8)]).replace(f' style="{_MARK}"', "")
    'a &lt; <mark>bees</mark>'
    """
    inside = bytearray(len(text))
    for start, end in spans:
        inside[start:end] = b"\1" * (end - start)
    parts = list[str]()
    for mark, part in groupby(zip(inside, text, strict=False), itemgetter(0)):
        piece = escape("".join(character for _, character in part))
        parts.append(f'<mark style="{_MARK}">{piece}</mark>' if mark else piece)
    return "".join(parts)


def _escape_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = escape_controls(record.getMessage()), None
    return True


def escape_formula(cell: str) -> str:
    """The cell with an apostrophe before it where a spreadsheet would compute it as a formula.

    >>> escape_formula("=1+1"), unescape_formula("'=1+1"), escape_formula("'Tis"), unescape_formula("'Tis")
    ("'=1+1", '=1+1', "'Tis", "'Tis")
    """
    return f"'{cell}" if _is_formula(cell) else cell


def unescape_formula(cell: str) -> str:
    """The cell that was given to `escape_formula`."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(cell: str) -> bool:
    """Whether spreadsheets compute the cell, or one behind apostrophes: these get one more, which can be taken away."""
    return cell.lstrip("'").startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
