"""How large one document may be where it is read. So the memory that a file takes is bounded, however it is packed.

The size of a document is that of what holds it, unpacked, in bytes: of its line, row, XML element, or file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from tagwright.errors import ConfigError, InputError

DEFAULT = 20_000_000
"Some forty novels; what is larger is hardly one document."

PICTURES = 10
"How many times as large a file may be that holds pictures and fonts beside the text."

VARIABLE = "TAGWRIGHT_MAX_DOCUMENT_SIZE"
"The environment variable that holds another limit."

_log = logging.getLogger(__name__)
_chosen: ContextVar[int | None] = ContextVar("chosen", default=None)


@contextmanager
def document_limit(size: int | None) -> Iterator[None]:
    """Read documents of so many bytes at most inside this block; None changes nothing. Raises ConfigError below 1."""
    if size is not None and size < 1:
        raise ConfigError(f"a document may have {size} bytes, expected at least 1")
    token = _chosen.set(size or _chosen.get())
    try:
        yield
    finally:
        _chosen.reset(token)


def largest_document() -> int:
    """Bytes that one document may have: of `document_limit`, or the environment, or `DEFAULT`. Raises ConfigError."""
    said = _chosen.get() or os.environ.get(VARIABLE) or DEFAULT
    try:
        size = int(said)
    except ValueError:
        size = 0
    if size < 1:
        raise ConfigError(f"{VARIABLE} is {said!r}, expected a number of bytes, such as {DEFAULT}")
    return size


def too_large(what: str = "") -> str:
    """What is wrong with a document above the limit, and the remedy."""
    more = what or f"is larger than {largest_document():,} bytes, the limit for one document"
    return f"{more}; to read it, raise --max-document-size or {VARIABLE}"


def leave_out(path: Path | str, line: int) -> None:
    """Log that a document is too large and therefore left out."""
    _log.warning("%s", InputError(f"left out: {too_large()}", path, line))


def read_whole(file: IO[bytes], path: Path | str, times: int = 1) -> bytes:
    """What is left of a file that is one document. times: more for formats that hold more than text.

    Reads no further than the limit. Raises InputError for a larger file.
    """
    size = times * largest_document()
    content = file.read(size + 1)
    if len(content) > size:
        raise InputError(too_large(f"is larger than {size:,} bytes, the limit for one document"), path)
    return content
