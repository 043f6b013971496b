"""Follow trainings from outside, for instance to draw their losses in TensorBoard."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeAlias

Row: TypeAlias = Mapping[str, float]
"step (how many are done), epoch, seconds, and either loss, learning_rate and gradient_norm, or validation_loss."


class Callback(Protocol):
    """A function that follows trainings inside `watch`."""

    def on_step(self, row: Row) -> None:
        """Called with each row of the training log."""

    def on_end(self, rows: Sequence[Row]) -> None:
        """Called with all rows when a training ends; some methods train more than once."""


_watching: ContextVar[tuple[Callback, ...]] = ContextVar("watching", default=())


@contextmanager
def watch(*callbacks: Callback) -> Iterator[None]:
    """Trainings inside this block call these, besides those of a block around. Of several processes, the first does."""
    token = _watching.set((*_watching.get(), *callbacks))
    try:
        yield
    finally:
        _watching.reset(token)


def current_callbacks() -> tuple[Callback, ...]:
    """The callbacks of the blocks around."""
    return _watching.get()
