"""The protocol of combiners: nobody asks for their type, and what is not written has a default."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tagwright
from tagwright.combining.combiner import Combiner
from tagwright.combining.pool import CandidatePool
from tagwright.combining.weighted_sum import AppendLabels, AppendOptions, WeightedSum
from tagwright.errors import ConfigError
from tagwright.registry import COMBINERS
from tagwright.types import Run

SOURCES = Path(tagwright.__file__).parent


class Least(Combiner):
    """A combiner of which nothing is written but the name."""


def asked_types(tree: ast.AST) -> Iterator[str]:
    """The names in the second argument of each isinstance and issubclass."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("isinstance", "issubclass"):
            yield from (name.id for name in ast.walk(call.args[1]) if isinstance(name, ast.Name))


def test_nobody_asks_a_combiner_for_its_type() -> None:
    asking = {
        (path.relative_to(SOURCES).as_posix(), name)
        for path in SOURCES.rglob("*.py")
        for name in asked_types(ast.parse(path.read_text(encoding="utf-8")))
        if name in {"Combiner", *COMBINERS}
    }
    assert asking == set()


def test_a_combiner_may_leave_out_what_has_a_default() -> None:
    combiner = Least()  # type: ignore[abstract]
    pool = CandidatePool([], Run.from_rows([]), {}, {}, {})
    assert [combiner.explain(pool), combiner.weighted_sum, combiner.learned_features] == [None] * 3
    with pytest.raises(ConfigError, match="combines its stages by Least, expected a weighted sum or a learned comb"):
        combiner.check_can_learn()


def test_more_is_learned_on_the_sum_without_the_stage_whose_labels_follow() -> None:
    followed = AppendLabels(WeightedSum(weights={"words": 2.0}), AppendOptions(by="trees"))
    followed.check_can_learn()
    assert followed.weighted_sum == WeightedSum(weights={"words": 2.0, "trees": 0.0})
