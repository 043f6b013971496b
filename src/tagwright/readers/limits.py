"""Limit the size of documents, so that memory is bounded, and report documents that cannot be read.

The size of a document is the uncompressed size in bytes of the line, row, XML element or file that holds it. A document
that cannot be read is an error, unless the caller collects such errors and reads on. Of many files, those that cannot
be read are skipped; a caller may list them.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from tagwright.errors import ConfigError, InputError

_collect: ContextVar[Callable[[InputError], object] | None] = ContextVar("collect", default=None)


@contextmanager
def collecting(collect: Callable[[InputError], object]) -> Iterator[None]:
    """Inside this block, collect the errors of lines, rows and files that cannot be read, and read on.

    collect: returns False for an error that is not to be collected. An error that makes the rest of a file unreadable,
    such as damaged compression, is still raised.
    """
    token = _collect.set(collect)
    try:
        yield
    finally:
        _collect.reset(token)


def is_collected(error: InputError) -> bool:
    """Collect the error of one document; False outside of `collecting`, and if it is not to be collected."""
    collect = _collect.get()
    return collect is not None and collect(error) is not False


def reject(error: InputError) -> None:
    """Collect the error of one document; raise it outside of `collecting`."""
    if not is_collected(error):
        raise error from None


_skipped: ContextVar[list[InputError] | None] = ContextVar("skipped", default=None)


@contextmanager
def listing_skipped() -> Iterator[list[InputError]]:
    """Inside this block, list the errors of files that cannot be read and are skipped, as others can."""
    found = list[InputError]()
    token = _skipped.set(found)
    try:
        yield found
    finally:
        _skipped.reset(token)


def skip(errors: Iterable[InputError]) -> None:
    """List the errors of skipped files inside `listing_skipped`."""
    if (found := _skipped.get()) is not None:
        found.extend(errors)


DEFAULT = 20_000_000
"About forty novels; anything larger is hardly one document."

PICTURES = 10
"Factor of the limit for files that hold pictures and fonts besides the text."

VARIABLE = "TAGWRIGHT_MAX_DOCUMENT_SIZE"
"The environment variable that sets another limit."

_log = logging.getLogger(__name__)
_chosen: ContextVar[int | None] = ContextVar("chosen", default=None)


@contextmanager
def document_limit(size: int | None) -> Iterator[None]:
    """Set the limit in bytes inside this block; None keeps the present one. Raises ConfigError below 1."""
    if size is not None and size < 1:
        raise ConfigError(f"the limit for a document is {size} bytes, expected at least 1")
    token = _chosen.set(size or _chosen.get())
    try:
        yield
    finally:
        _chosen.reset(token)


def largest_document() -> int:
    """Return the limit in bytes: from `document_limit`, the environment, or `DEFAULT`. Raises ConfigError."""
    said = _chosen.get() or os.environ.get(VARIABLE) or DEFAULT
    try:
        size = int(said)
    except ValueError:
        size = 0
    if size < 1:
        raise ConfigError(f"{VARIABLE} is {said!r}, expected a number of bytes, such as {DEFAULT}")
    return size


def too_large(what: str = "") -> str:
    """Return the error message for a document above the limit, with the remedy."""
    more = what or f"is larger than {largest_document():,} bytes, the limit for one document"
    return f"{more}; to read it, raise --max-document-size or {VARIABLE}"


def leave_out(path: Path | str, line: int) -> None:
    """Collect the error of a document that is too large; outside of `collecting`, log that it is left out."""
    leave_out_because(InputError(too_large(), path, line))


def leave_out_because(error: InputError) -> None:
    """Collect the error of one document; outside of `collecting`, log that it is left out."""
    if not is_collected(error):
        _log.warning("%s", InputError(f"left out: {error.problem}", error.path, error.line))


def read_whole(file: IO[bytes], path: Path | str, times: int = 1) -> bytes:
    """Read the rest of a file that is one document. times: factor of the limit, for formats that hold more than text.

    Stops at the limit. Raises InputError for a larger file.
    """
    size = times * largest_document()
    content = file.read(size + 1)
    if len(content) > size:
        raise InputError(too_large(f"is larger than {size:,} bytes, the limit for one document"), path)
    return content
