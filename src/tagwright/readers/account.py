"""The account that a reader gives of its input, in lines: of log in Python, on stderr on the command line."""

import logging
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tagwright.core.display import list_first
from tagwright.core.progress import is_silent, note
from tagwright.errors import is_command

_log = logging.getLogger(__name__)


def say(text: str, *, warn: bool) -> None:
    """Say a line of an account; nothing with --quiet.

    warn: something was guessed or is left out, so it is a warning. Otherwise it is information.
    """
    if not warn:
        note(text)
    elif not (is_command() and is_silent()):
        _log.warning("%s", text)


def say_unused(path: Path | str, fields: Counter[str], *, kept: bool = False) -> None:
    """Say which fields of the records of a file are not used, with their numbers. kept: they are metadata."""
    if fields:
        listed = list_first([f"{field} ({count:,})" for field, count in fields.most_common()], 10)
        say(f"{path}: not used: {listed}{' (kept as metadata)' if kept else ''}", warn=False)


def by_suffix(suffixes: Iterable[str], named: Iterable[str] = ()) -> str:
    """Count suffixes of files. named: those of files that are read if they are given by name.

    >>> by_suffix([".doc", ".csv", "", ".csv"], {".csv"})
    'without suffix 1, .csv 2 (name them), .doc 1'
    """
    parts, advised = list[str](), {*named}
    for suffix, count in sorted(Counter(suffixes).items()):
        advice = f" (name {'it' if count == 1 else 'them'})" if suffix in advised else ""
        parts.append(f"{suffix or 'without suffix'} {count:,}{advice}")
    return ", ".join(parts)
