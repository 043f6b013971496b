"""Theorem 3, by hand: margins, the bound, and what it says of each label."""

import math

import numpy as np
import pytest
from benchmarks.bound import by_label, error_bound, margins, share_bounded
from hypothesis import given
from hypothesis import strategies as st


def test_a_margin_is_the_way_down_to_the_next_wrong_label() -> None:
    scores = np.array([[0.9, 0.8, 0.5, 0.2], [0.1, 0.3, 0.6, 0.4]], np.float32)
    right = np.array([[True, False, True, False], [True, False, False, False]])
    found = margins(scores, right)
    assert found.rows.tolist() == [0, 0, 1]
    assert found.labels.tolist() == [0, 2, 0]
    # In the second document every wrong label stands above the right one: it cannot fall behind any.
    assert found.margin.tolist() == pytest.approx([0.1, 0.3, math.inf])
    assert found.below.tolist() == [2, 1, 0]


@given(st.integers(0, 99))
def test_margins_are_those_found_pair_by_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, right = rng.random((3, 6), np.float32), rng.random((3, 6)) < 0.4
    found = margins(scores, right)
    for row, label, margin, below in zip(*found, strict=True):
        lower = [scores[row, label] - scores[row, n] for n in range(6) if not right[row, n]]
        lower = [gap for gap in lower if gap > 0]
        assert below == len(lower)
        assert margin == pytest.approx(min(lower, default=math.inf))


def test_the_bound_falls_with_the_margin_and_the_dimensions_and_is_never_above_1() -> None:
    assert error_bound(2.0, 0.0, 100, 384) == pytest.approx(400 * math.exp(-4 * 384 / 50))
    assert error_bound(1.0, 0.0, 100, 384) == pytest.approx(400 * math.exp(-384 / 50))
    assert error_bound(0.5, 0.0, 100, 384) == 1.0


def test_the_paper_s_condition_makes_the_bound_four_over_the_labels_below() -> None:
    below, dim = 50, 2000
    assert error_bound(10 * math.sqrt(math.log(below) / dim), 0.0, below, dim) == pytest.approx(4 / below)


def test_a_label_has_its_least_margin_its_greatest_loss_and_the_most_labels_below() -> None:
    labels = np.array([7, 2, 7])
    bounds = by_label(labels, np.array([1.5, 0.1, 1.9]), np.array([0.1, 0.2, -0.3]), np.array([3, 4, 5]), 384)
    assert [tuple(bound)[:4] for bound in bounds] == [(2, 1, 0.1, 0.2), (7, 2, 1.5, 0.1)]
    assert bounds[0].probability == 1.0
    assert bounds[1].probability == pytest.approx(20 * math.exp(-(1.4**2) * 384 / 50))
    assert share_bounded(bounds) == 0.5
    assert by_label(labels[:0], np.zeros(0), np.zeros(0), labels[:0], 384) == []
