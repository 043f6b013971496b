"""A dataclass of options is checked by its annotations, whoever makes it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from tagwright.core.checked import AtLeastOne, Checked, Distinct, PartialShare, Positive, Range, UnknownOptionError
from tagwright.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Options(Checked):
    count: AtLeastOne | None = None
    share: PartialShare = 0.5
    rate: Annotated[float, Range(above=0, most=1)] = 1.0
    modes: Annotated[tuple[Literal["a", "b"], ...], Distinct()] = ("a",)
    weights: Mapping[str, Positive] = field(default_factory=dict)
    text: str = "none"


def test_an_unknown_option_is_named_by_another_process_too() -> None:
    with pytest.raises(UnknownOptionError) as caught:
        Options(cuont=1)  # type: ignore[call-arg]
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) == 'unknown option "cuont"; did you mean "count"?'


def test_values_in_range_are_accepted() -> None:
    Options(count=1, share=0, rate=1, modes=("b", "a"), weights={"x": 0.1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count is 0, expected at least 1"),
        ({"count": 1.0}, "count is 1.0, expected a whole number"),
        ({"count": True}, "count is true, expected a whole number"),
        ({"share": 1.0}, "share is 1.0, expected at least 0 and below 1, such as 0.5"),
        ({"share": float("nan")}, "share is NaN, expected a number"),
        ({"rate": 0.0}, "rate is 0.0, expected more than 0 and at most 1"),
        ({"modes": ()}, "modes is [], expected one or more values without duplicates"),
        ({"modes": ("a", "a")}, 'modes is ["a", "a"], expected one or more values without duplicates'),
        ({"modes": ["a", "a"]}, 'modes is ["a", "a"], expected one or more values without duplicates'),
        ({"share": 10**400}, "expected a number"),
        ({"modes": ("c",)}, 'modes is ["c"], expected a list, each one of a, b'),
        ({"weights": {"x": 0.0}}, 'weights is {"x": 0.0}, expected a table, each value a number, more than 0'),
        ({"text": 5}, 'text is 5, expected a text, such as "none"'),
    ],
)
def test_a_value_that_cannot_work_is_refused_however_it_comes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Options(**options)
    assert message in str(caught.value)
