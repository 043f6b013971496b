"""Follow trainings from outside, for instance to draw their losses in TensorBoard."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, float]
"step (how many are done), epoch, seconds, and either loss, learning_rate and gradient_norm, or validation_loss."


_watching: ContextVar[tuple[Any, ...]] = ContextVar("watching", default=())


@contextmanager
def watch(*callbacks: Any) -> Iterator[None]:
    """Trainings inside this block call these, besides those of a block around. Of several processes, the first does.

    callbacks: each with the methods on_step, called with each row of the training log, and on_end, called with all rows
    when a training ends; some methods train more than once.
    """
    token = _watching.set((*_watching.get(), *callbacks))
    try:
        yield
    finally:
        _watching.reset(token)


def current_callbacks() -> tuple[Any, ...]:
    """The callbacks of the blocks around."""
    return _watching.get()
