"""Options from files and the command line: every slip is named, with what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from tagwright.api.options import configuration
from tagwright.app.options import options_of, values_of
from tagwright.core.checked import Checked, build
from tagwright.errors import ConfigError
from tagwright.training.config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class Options(Checked):
    name: str = "minilm"
    steps: int = 10
    rate: float = 0.5
    fast: bool = False
    mode: Literal["cross", "bi"] = "cross"
    layers: tuple[int, ...] = (1, 2)
    limit: int | None = None
    weights: Mapping[str, float] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("name=P->P<-P", Options(name="P->P<-P")),
        ('name="5"', Options(name="5")),
        ("rate=1e-5", Options(rate=1e-5)),
        ("fast=true", Options(fast=True)),
        ("mode=bi", Options(mode="bi")),
        ("layers=[3]", Options(layers=(3,))),
        ("limit=none", Options(limit=None)),
        ("name=none", Options(name="none")),
        ("weights={abstract = 4.0, body = 1}", Options(weights={"abstract": 4.0, "body": 1})),
        ("name=x\ny = 1", Options(name="x\ny = 1")),
    ],
)
def test_a_value_is_read_as_toml_or_else_as_text(setting: str, expected: Options) -> None:
    assert build(Options, values_of(None, [setting])) == expected


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("name=5", 'name is 5, expected a text, such as "minilm"'),
        ("steps=many", 'steps is "many", expected a whole number, such as 10'),
        ("steps=1.5", "steps is 1.5, expected a whole number"),
        ("limit=all", 'limit is "all", expected a whole number, or none'),
        ("steps=none", 'steps is "none", expected a whole number, such as 10'),
        ("mdoe=bi", 'unknown option "mdoe"; did you mean "mode"?'),
        ("zzz=bi", 'unknown option "zzz"; known are name, steps, rate, fast, mode, layers, limit, weights'),
        ("mode", '--set "mode": expected KEY=VALUE'),
        ("=bi", '--set "=bi": expected KEY=VALUE'),
        ("layers=[one]", '--set \'layers=[one]\': the value is not TOML; write a list as ["a", "b"]'),
        ('weights={"a": 1}', 'the value is not TOML; write a list as ["a", "b"], a table as {a = 1, b = 2}'),
    ],
)
def test_a_slip_is_named_with_what_was_expected(setting: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Options, values_of(None, [setting]))
    assert message in str(caught.value)


def test_settings_go_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text("steps = 3\nfast = true\n")
    assert build(Options, values_of(file, ["steps=4"])) == Options(steps=4, fast=True)


@pytest.mark.parametrize("held", ["epochs = 3\nbatch = 8\n", "[training]\nepochs = 3\nbatch = 8\n"])
@pytest.mark.parametrize("settings", [["epochs=4"], ["training.epochs=4"], ["epochs=5", "training.epochs=4"]])
def test_a_setting_of_the_training_goes_before_the_file_by_either_name(
    tmp_path: Path, held: str, settings: list[str]
) -> None:
    (file := tmp_path / "options.toml").write_text(held)
    assert configuration("rts", values_of(file, settings)).training == TrainingConfig(epochs=4, batch=8)


@dataclass(frozen=True, kw_only=True)
class Documented(Checked):
    size: int = 3
    """How many
    there are."""
    kind: Literal["a", "b"] = "a"
    "Of which kind."
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class Larger(Documented):
    size: int = 9
    limit: int | None = None
    "At most so many."


def test_options_are_listed_with_the_text_under_each_even_where_only_the_default_changes() -> None:
    listed = [tuple(option.values()) for option in options_of(Larger)]
    assert listed == [
        ("size", "a whole number", "9", "How many there are.", None),
        ("kind", "one of a, b", '"a"', "Of which kind.", None),
        ("limit", "a whole number, or none", "none (not set)", "At most so many.", None),
    ]


@dataclass(frozen=True, kw_only=True)
class Holding(Checked):
    own: int = 1
    "Its own."
    held: Larger = Larger()
    "What it holds."


def test_options_are_listed_with_the_values_of_the_paper() -> None:
    paper = Holding(held=Larger(size=4, limit=7))
    assert [(option["default"], option["paper"]) for option in options_of(Holding, paper)] == [
        ("1", "1"),
        ("9", "4"),
        ('"a"', '"a"'),
        ("none (not set)", "7"),
    ]


def test_options_of_a_held_table_have_a_dot() -> None:
    assert [option["name"] for option in options_of(Holding)] == ["own", "held.size", "held.kind", "held.limit"]
    values = values_of(None, ["held.size=5", "own=2", "held.kind=b"])
    assert values == {"held": {"size": 5, "kind": "b"}, "own": 2}
    assert build(Holding, values) == Holding(own=2, held=Larger(size=5, kind="b"))


def test_none_unsets_what_the_file_sets(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text("[held]\nlimit = 4\n")
    assert build(Holding, values_of(file, ["held.limit=none"])) == Holding()
    file.write_text('[held]\nlimit = "none"\n')
    assert build(Holding, values_of(file, [])) == Holding()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("held.size=many", 'held.size is "many", expected a whole number, such as 9'),
        ("held=5", "held is 5, expected a table"),
        ("held.sise=5", 'unknown option "held.sise"; did you mean "held.size"?'),
        ("sise=5", 'unknown option "sise"; did you mean "held.size"?'),
    ],
)
def test_a_slip_in_a_held_table_is_named_with_the_table(setting: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Holding, values_of(None, [setting]))
    assert message in str(caught.value)


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), ("steps =", "not a TOML file")])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "options.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=rf"options\.toml: {message}"):
        values_of(file, [])
