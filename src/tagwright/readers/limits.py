"""Limit the size of documents, so that memory is bounded, and report documents that cannot be read.

The size of a document is the uncompressed size in bytes of the line, row, XML element or file that holds it. A document
that cannot be read is an error, unless the caller collects such errors and reads on. Of many files, those that cannot
be read are skipped; a caller may list them.
"""

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TypeVar

from tagwright.core.progress import unlogged
from tagwright.errors import ConfigError, InputError, TagwrightError, one_line_of, option

T = TypeVar("T")

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


def is_collecting() -> bool:
    """Whether errors are collected."""
    return _collect.get() is not None


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

SECONDS = 60
"Processor time for each `DEFAULT` bytes of a file that are begun; honest files take a tenth of it."

TIME_VARIABLE = "TAGWRIGHT_MAX_READING_SECONDS"
"The environment variable that sets another time."

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
    return _chosen.get() or _from_environment(VARIABLE, "bytes", DEFAULT)


def too_large(what: str = "") -> str:
    """Return the error message for a document above the limit, with the remedy."""
    more = what or f"is larger than {largest_document():,} bytes, the limit for one document"
    return f"{more}; to read it, raise {option('max_document_size', python='max_document_size')} or {VARIABLE}"


def leave_out(path: Path | str, line: int) -> None:
    """Collect the error of a document that is too large; outside of `collecting`, log that it is left out."""
    leave_out_because(InputError(too_large(), path, line))


def leave_out_because(error: InputError) -> None:
    """Collect the error of one document; outside of `collecting`, log that it is left out."""
    if not is_collected(error):
        _log.warning("%s", InputError(f"left out: {error.problem}", error.path, error.line))


def readable(found: Iterable[T | InputError]) -> Iterator[T]:
    """Yield the documents; leave out those that cannot be read, and raise the error of the first if none can."""
    damaged, any_read = list[InputError](), False
    for each in found:
        if isinstance(each, InputError):
            damaged.append(each)
        else:
            any_read = True
            yield each
        while any_read and damaged:
            leave_out_because(damaged.pop(0))
    for error in damaged:
        reject(error)


def read_whole(file: IO[bytes], path: Path | str, times: int = 1) -> bytes:
    """Read the rest of a file that is one document. times: factor of the limit, for formats that hold more than text.

    Stops at the limit. Raises InputError for a larger file.
    """
    size = times * largest_document()
    content = file.read(size + 1)
    if len(content) > size:
        raise InputError(too_large(f"is larger than {size:,} bytes, the limit for one document"), path)
    return content


def within_time(documents: Iterator[T], path: Path) -> Iterator[T]:
    """Yield the documents; raise InputError once reading them has taken more than `SECONDS` of processor time.

    In the main thread a signal ends the reader wherever it is, also in a regular expression, though not inside another
    library's compiled code. In other threads, and on Windows, the time is looked at after each document.
    """
    most = _from_environment(TIME_VARIABLE, "seconds", SECONDS) * (1 + path.stat().st_size // DEFAULT)
    left, timed = float(most), _may_use_signal()
    while True:
        begun = time.process_time()
        try:
            with _signalled(left) if timed else nullcontext():
                document = next(documents, None)
        except _OutOfTime:
            _disarm()  # should it have come while the block was left
            left = 0
        left -= time.process_time() - begun
        if left < 0:
            raise InputError(f"takes more than {most} s of processor time to read; raise {TIME_VARIABLE}", path)
        if document is None:
            return
        yield document


@contextmanager
def converting(problem: str, library: str, path: Path | str, line: int | None = None) -> Iterator[None]:
    """Turn any exception of a library into InputError; libraries raise nearly anything for damaged files.

    problem: what the file or record is then said to be. What the library logs or warns of is not shown.
    """
    try:
        with unlogged(library), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except TagwrightError:
        raise
    except Exception as error:
        raise InputError(f"{problem} ({one_line_of(error)})", path, line) from None


class _OutOfTime(BaseException):
    """Ends a reader; libraries catch exceptions of their own kind, and most catch every Exception."""


_armed = False
"Whether a signal ends a reader: one may still arrive when its timer is switched off, so its handler stays."


def _stop(*_: object) -> None:
    if _armed:
        raise _OutOfTime


def _may_use_signal() -> bool:
    """In the main thread, unless something else, such as a profiler, uses the signal."""
    in_main = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    return in_main and signal.getsignal(signal.SIGPROF) in (signal.SIG_DFL, _stop)


@contextmanager
def _signalled(seconds: float) -> Iterator[None]:
    """Raise _OutOfTime inside this block once it has taken so much processor time."""
    global _armed
    signal.signal(signal.SIGPROF, _stop)
    try:
        _armed = True
        signal.setitimer(signal.ITIMER_PROF, seconds, 1)  # again each second, should a library swallow it
        yield
    finally:
        _disarm()


def _disarm() -> None:
    global _armed
    _armed = False
    signal.setitimer(signal.ITIMER_PROF, 0)


def _from_environment(variable: str, unit: str, default: int) -> int:
    said = os.environ.get(variable) or default
    try:
        value = int(said)
    except ValueError:
        value = 0
    if value < 1:
        raise ConfigError(f"{variable} is {said!r}, expected a number of {unit}, such as {default}")
    return value
