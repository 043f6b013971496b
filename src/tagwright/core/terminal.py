"""Make text from files safe to print: without terminal control sequences."""

import json
import logging
import re
import sys

_OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line end; separators that end lines; what overrides the direction of text, so that
it reads otherwise than it is; halves of characters, which are how Python writes bytes of file names."""


def escaped(text: str) -> str:
    r"""Text that can be printed. JSON stays JSON of the same values, since all these stand in strings there.

    >>> escaped("\x1b[31mred \u202egnp.exe")
    '\\u001b[31mred \\u202egnp.exe'
    """
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def for_programs(text: str) -> str:
    """A line that programs read: as it is, since they would not undo the escapes, but escaped at a terminal."""
    return escaped(text) if sys.stdout.isatty() else text


def print_json(content: object) -> None:
    """Print a value as JSON for programs, escaped."""
    print(escaped(json.dumps(content, ensure_ascii=False, indent=1)))  # noqa: T201


def escape_warnings() -> None:
    """Escape log messages too, unless logging is already configured."""
    if logging.lastResort:
        logging.lastResort.setFormatter(_Escaping())


class _Escaping(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return escaped(super().format(record))


INTERRUPTED = 130
"The exit code after Ctrl-C, as in shells and typer."

SOME_FAILED = 3
"The exit code where a command has done its work, but without some documents that could not be read or tagged."


def interrupted() -> int:
    """Report the interruption and return the exit code."""
    sys.stderr.write("tagwright: interrupted\n")
    return INTERRUPTED
