"""A dataclass of options is checked by its annotations, whoever makes it."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pytest
from tests.sources import modules

from tagwright.core import checked
from tagwright.core.checked import (
    AtLeastOne,
    Checked,
    Distinct,
    PartialShare,
    Positive,
    Range,
    UnknownOptionError,
    show,
)
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


class Counted(list[Any]):
    """A list that counts how many of its parts are visited."""

    visited = 0

    def __iter__(self) -> Iterator[Any]:
        for part in super().__iter__():
            Counted.visited += 1
            yield part


class CountedTable(dict[str, Any]):
    """A table that counts in the same place."""

    def items(self) -> Any:
        for item in super().items():
            Counted.visited += 1
            yield item


def nested(depth: int) -> Any:
    value: Any = Counted()
    for _ in range(depth):
        value = Counted([value])
    return value


@pytest.mark.parametrize(
    "value",
    [
        Counted([0] * 10_000), Counted([Counted()] * 10_000), Counted(["bees" * 10_000] * 10_000), nested(10_000),
        CountedTable({str(number): {} for number in range(10_000)}), CountedTable({"a" * 99: Counted([1] * 99)}),
    ],
)  # fmt: skip
def test_a_message_visits_no_more_of_a_value_than_it_shows(value: Any) -> None:
    Counted.visited = 0
    text = show(value)
    assert len(text) == 60
    assert text.endswith("…")
    assert 0 < Counted.visited <= 61  # every part that is visited adds at least one character


def test_no_other_place_builds_the_text_of_a_whole_value_to_cut_it() -> None:
    texts = {"str", "repr", "ascii", "dumps", "json.dumps", "pformat"}
    found = [
        f"{path}:{node.lineno}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Slice)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in texts
    ]
    assert found == []


def test_a_name_without_end_is_compared_by_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def compare(name: str, *_: object) -> list[str]:
        compared.append(name)
        return []

    monkeypatch.setattr(checked, "get_close_matches", compare)
    with pytest.raises(UnknownOptionError) as caught:
        checked.check_names(["count" * 1_000_000], ["count"])
    assert {len(name) for name in compared} == {300}
    assert len(str(caught.value)) < 300


def test_not_too_many_names_are_compared() -> None:
    known = [str(number) for number in range(50_001)]
    assert checked.find_nearest("12345x", known) == ""
    assert checked.find_nearest("12345x", known[:-1]) == "12345"


def test_what_json_does_not_know_is_shown_as_what_is_like_it() -> None:
    values = [{"a"}, MappingProxyType({"a": 1}), Path("a"), frozenset[str]()]
    assert [*map(show, values)] == ['["a"]', '{"a": 1}', '"a"', "[]"]
