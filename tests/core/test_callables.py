"""Functions that compute something else have other contents; the same function has the same in another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tagwright.core.callables import content_of


def made(source: str, **names: Any) -> Any:
    """What a module of this source calls `loss`."""
    exec(source, names)
    return names["loss"]


def scaled(rate: float) -> Callable[[float], float]:
    return lambda x: x * rate


class Margin:
    def __init__(self, size: object) -> None:
        self.size = size

    def __call__(self, x: object) -> object:
        return x, self.size

    def method(self) -> object:
        return self.size


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made("def loss(x):\n return x * 2.0"), made("def loss(x):\n return x * 3.0")),
        (made("def loss(x, rate=2):\n return x"), made("def loss(x, rate=3):\n return x")),
        (made("def loss(x, *, rate=2):\n return x"), made("def loss(x, *, rate=3):\n return x")),
        (made("def loss(x):\n return x.mean()"), made("def loss(x):\n return x.sum()")),
        (made("loss = lambda x: (lambda y: y + 1)(x)"), made("loss = lambda x: (lambda y: y + 2)(x)")),
        (made("def loss(x):\n return RATE * x", RATE=2), made("def loss(x):\n return RATE * x", RATE=3)),
        (scaled(2.0), scaled(3.0)),
        (partial(max, 1), partial(max, 2)),
        (Margin(1), Margin(2)),
        (Margin(1).method, Margin(2).method),
        (Margin(np.arange(2000)), Margin(np.arange(2000) + (np.arange(2000) == 1000))),
        (Margin({"a"}), Margin({"b"})),
    ],
)
def test_another_function_has_another_content(one: Any, other: Any) -> None:
    assert content_of(one) == content_of(one)
    assert content_of(one) != content_of(other)


def test_a_function_that_calls_itself_has_a_content() -> None:
    def loss(x: int) -> int:
        return loss(x - 1) if x else 0

    assert "itself" in repr(content_of(loss))


def test_the_content_is_the_same_in_another_process() -> None:
    source = "loss = lambda x, names={'a', 'b', 'c'}: x in ('d', 'e') or x in names or x in {'f', 'g', 'h'}"
    program = f"from tagwright.core.callables import content_of\n{source}\nprint(content_of(loss))"
    environments = ({"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)} for seed in ("1", "2"))
    said = [subprocess.check_output([sys.executable, "-c", program], env=each) for each in environments]
    assert said[0] == said[1]
    assert b"'f'" in said[0]
