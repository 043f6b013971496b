"""One progress bar for long work: what, how much, rate, time left. On stderr, and disabled without a terminal."""

import logging
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from tagwright.core.display import escaped
from tagwright.errors import is_command

T = TypeVar("T")

_silencing, _detailing = list[bool](), list[bool]()
"An item for each block of `silence`, or of `verbose`, that this process is in: it has one standard error."

_log = logging.getLogger("tagwright")


@contextmanager
def _inside(blocks: list[bool], wanted: bool) -> Iterator[None]:
    """Count this block among the `blocks` if wanted."""
    entered = [True] * wanted
    blocks.extend(entered)
    try:
        yield
    finally:
        del blocks[: len(entered)]


def silence(quiet: bool = True) -> AbstractContextManager[None]:
    """No bars inside this block if quiet, as with `--quiet`."""
    return _inside(_silencing, quiet)


def is_silent() -> bool:
    """Whether this is inside `silence`."""
    return bool(_silencing)


def verbose(wanted: bool = True) -> AbstractContextManager[None]:
    """Print details inside this block if wanted, as with `--verbose`."""
    return _inside(_detailing, wanted)


def note(text: str, level: int = logging.INFO) -> None:
    """Tell one line of information, which is no warning; nothing inside `silence`.

    It goes to the log of a program that has set one up, or else to stderr, as on the command line. level: DEBUG for
    details, which stderr has inside `verbose` only.
    """
    if is_silent():
        return
    if _log.level or (_log.hasHandlers() and not is_command()):  # the server's own log has a level
        _log.log(level, "%s", text)
    elif level >= logging.INFO or _detailing:
        print(f"tagwright: {escaped(text)}", file=sys.stderr)  # noqa: T201


def detail(text: str) -> None:
    """Tell a detail, see `note`."""
    note(text, logging.DEBUG)


def hint(text: str) -> None:
    """A `note` only at a terminal, about automatic choices."""
    if sys.stderr.isatty():
        note(text)


@contextmanager
def unlogged(library: str) -> Iterator[None]:
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

    Nothing is shown when there is no title or nothing to do, when stderr is not a terminal, under `silence`, and inside
    another bar.
    """
    if not title or total == 0 or is_silent() or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "")

    known = (progress.MofNCompleteColumn(), Rate(), progress.TimeRemainingColumn())
    pace = known if total is not None else (progress.TimeElapsedColumn(),)
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), *pace)
    with silence(), progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=total)
        yield lambda more: shown.advance(task, more)


def counted(title: str, items: Collection[T]) -> Iterator[T]:
    """Yield the items under a bar that counts them."""
    with bar(title, len(items)) as done:
        for item in items:
            yield item
            done(1)
