from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.label_bias import fit_label_bias, follow_labels, shrunk_bias
from tagwright.types import Label


def test_biases_meet_their_equation() -> None:
    rng = np.random.default_rng(0)
    logits, labels, right = rng.normal(size=500), rng.integers(0, 20, 500), rng.random(500) < 0.3
    bias = shrunk_bias(logits, right, labels, 20, shrinkage=0.5)
    residual = np.bincount(labels, right - 1 / (1 + np.exp(-logits - bias[labels])), 20)
    assert 0.5 * bias == pytest.approx(residual, abs=1e-9)


def test_a_great_shrinkage_leaves_nothing() -> None:
    bias = shrunk_bias(np.zeros(4), np.array([True, True, False, True]), np.array([0, 0, 1, 2]), 3, shrinkage=1e6)
    assert np.abs(bias).max() < 1e-5


def test_biases_are_on_the_scale_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=2000), rng.integers(0, 10, 2000)
    right = rng.random(2000) < 1 / (1 + np.exp(-2 * scores - np.where(labels == 3, 2.0, 0.0)))
    one = fit_label_bias(scores, right, labels, 10)
    ten = fit_label_bias(10 * scores, right, labels, 10)
    assert one.argmax() == 3
    assert ten == pytest.approx(10 * one, rel=1e-3)


def test_scores_that_tell_nothing_give_no_biases() -> None:
    bias = fit_label_bias(np.array([1.0, -1.0]), np.array([False, True]), np.array([0, 1]), 2)
    assert bias.tolist() == [0, 0]


def test_biases_follow_the_labels() -> None:
    a, b, c = (Label(name, (name,)) for name in "abc")
    assert follow_labels(np.array([1.0, 2.0]), [a, b], [b, c, a]).tolist() == [2, 0, 1]
