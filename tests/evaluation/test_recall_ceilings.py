"""Recall ceilings: what a ranking of the candidates could reach at best."""

from __future__ import annotations

import pytest

from tagwright.evaluation.recall_ceilings import ceiling, ceilings
from tagwright.types import Run

GOLD = Run.from_rows([[0, 1], [2], [3, 1]])
A = Run.from_rows([{5: 3.0, 0: 2.0, 1: 1.0}, {}, {4: 1.0}])
B = Run.from_rows([{0: 1.0}, {3: 2.0, 2: 1.0}, {}])


def test_recall_counts_gold_labels_among_the_first_candidates() -> None:
    """A: the first document has label 0 at rank 2 and label 1 at rank 3, two of five gold labels."""
    found = ceiling(A, GOLD, depths=(1, 2, 3))
    assert found.recall == pytest.approx({1: 0, 2: 1 / 5, 3: 2 / 5})
    assert (found.all, found.mean_size) == pytest.approx((2 / 5, 4 / 3))


def test_the_union_reaches_what_any_stage_reaches_and_the_rest_is_missed() -> None:
    """The union holds labels 0 and 1 of the first document and 2 of the second; 3 and 1 of the third are missed."""
    union = Run.from_rows([{5: 3.0, 0: 2.0, 1: 1.0}, {3: 2.0, 2: 1.0}, {4: 1.0}])
    found = ceilings({"a": A, "b": B}, union, GOLD, labels=6)
    assert found.documents == 3
    assert {name: stage.all for name, stage in found.stages.items()} == pytest.approx(
        {"a": 2 / 5, "b": 2 / 5, "union": 3 / 5}
    )
    assert list(found.missed.items()) == [(1, 1), (3, 1)]


def test_labels_missed_most_often_come_first() -> None:
    gold = Run.from_rows([[0], [1], [1]])
    nothing = Run.from_rows([[], [], []])
    assert list(ceilings({}, nothing, gold, labels=2).missed.items()) == [(1, 2), (0, 1)]
