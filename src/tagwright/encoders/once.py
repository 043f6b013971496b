"""A property that is computed once, also when several threads ask for it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")


class once(cached_property[T]):  # noqa: N801  (a decorator)
    """`functools.cached_property` with a lock, which that one lost in Python 3.12: a model is not loaded twice."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(function)
        self._computing = threading.RLock()

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        with self._computing:
            return super().__get__(instance, owner)
