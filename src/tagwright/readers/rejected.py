"""Documents that cannot be read: each is an error, unless somebody collects them while the rest is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tagwright.errors import InputError

_collect: ContextVar[Callable[[InputError], object] | None] = ContextVar("collect", default=None)


@contextmanager
def collecting(collect: Callable[[InputError], object]) -> Iterator[None]:
    """Inside this block, readers hand over a line, row or file that they cannot read, and go on with the next.

    What makes the rest of a file unreadable, such as damaged compression, is still raised.
    """
    token = _collect.set(collect)
    try:
        yield
    finally:
        _collect.reset(token)


def is_collected(error: InputError) -> bool:
    """Hand over what is wrong with one document; False where nobody collects."""
    collect = _collect.get()
    if collect:
        collect(error)
    return collect is not None


def reject(error: InputError) -> None:
    """Hand over what is wrong with one document. Raises it where nobody collects."""
    if not is_collected(error):
        raise error from None
