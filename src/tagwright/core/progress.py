"""One progress bar for long work: what, how much, rate, time left. On stderr, and disabled without a terminal."""

import logging
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tagwright.core.display import escaped

T = TypeVar("T")

_silencing = list[bool]()
"An item for each block of `silence` that this process is in: it has one standard error."


@contextmanager
def silence(quiet: bool = True) -> Iterator[None]:
    """No bars inside this block if quiet, as with `--quiet`."""
    blocks = [True] * quiet
    _silencing.extend(blocks)
    try:
        yield
    finally:
        del _silencing[: len(blocks)]


def is_silent() -> bool:
    """Whether this is inside `silence`."""
    return bool(_silencing)


def note(text: str) -> None:
    """Print one line of information, which is no warning, on stderr; nothing inside `silence`."""
    if not is_silent():
        print(f"tagwright: {escaped(text)}", file=sys.stderr)  # noqa: T201


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
