"""One progress bar for long work: what, how much, time left. On stderr, and disabled without a terminal."""

import logging
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from tagwright.core.display import escape_controls
from tagwright.errors import is_command

T = TypeVar("T")

_silent, _detailed = ContextVar("silent", default=False), ContextVar("detailed", default=False)
"Whether this call is inside `silence`, or `show_details`; those of other threads are not."

_terminal = threading.Lock()
"Of the process, which has one terminal: held while it shows a bar."

_log = logging.getLogger("tagwright")


@contextmanager
def _set_inside(block: ContextVar[bool], wanted: bool) -> Iterator[None]:
    before = block.get()
    block.set(before or wanted)
    try:
        yield
    finally:
        block.set(before)  # no reset: a generator may end in another context than it began in


def silence(quiet: bool = True) -> AbstractContextManager[None]:
    """No bars and notes of this call inside this block if quiet, as with `--quiet`."""
    return _set_inside(_silent, quiet)


def is_silent() -> bool:
    """Whether this is inside `silence`."""
    return _silent.get()


def show_details(wanted: bool = True) -> AbstractContextManager[None]:
    """Print details inside this block if wanted, as with `--verbose`."""
    return _set_inside(_detailed, wanted)


def note(text: str, level: int = logging.INFO) -> None:
    """Log one line of information, which is no warning; on the command line, print it. Nothing inside `silence`.

    level: DEBUG for details, which the command line prints inside `show_details` only.
    """
    if is_silent():
        return
    if _log.level or not is_command():  # the server's own log has a level
        _log.log(level, "%s", text)
    elif level >= logging.INFO or _detailed.get():
        print(f"tagwright: {escape_controls(text)}", file=sys.stderr)  # noqa: T201


def detail(text: str) -> None:
    """Tell a detail, see `note`."""
    note(text, logging.DEBUG)


def hint(text: str) -> None:
    """A `note` only at a terminal, about automatic choices."""
    if sys.stderr.isatty():
        note(text)


@contextmanager
def silence_log(library: str) -> Iterator[None]:
    """Suppress the log of a library inside this block."""
    logger = logging.getLogger(library)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def bar(title: str, total: int | None) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of items done. total None: unknown; the elapsed time is shown.

    Nothing is shown when there is no title or nothing to do, when stderr is not a terminal, under `silence`, and beside
    another bar.
    """
    if not title or total == 0 or is_silent() or not sys.stderr.isatty() or not _terminal.acquire(blocking=False):
        yield lambda _: None
        return
    from rich import progress
    from rich.console import Console

    known = (progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
    pace = known if total is not None else (progress.TimeElapsedColumn(),)
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), *pace)
    try:
        with progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
            task = shown.add_task(title, total=total)
            yield lambda more: shown.advance(task, more)
    finally:
        _terminal.release()


def count_items(title: str, items: Collection[T]) -> Iterator[T]:
    """Yield the items under a bar that counts them."""
    with bar(title, len(items)) as done:
        for item in items:
            yield item
            done(1)
