from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.candidate_features import Features
from tagwright.combining.learned_combiner import (
    CandidateRanker,
    Logistic,
    fit_label_bias,
    fit_logistic,
    shrunk_bias,
)
from tagwright.combining.ranking_trees import BoostingOptions, grow, lambda_gradients
from tagwright.types import Floats, Mask


def data() -> tuple[Floats, Mask]:
    """Thirty documents of ten candidates; the second of three features tells which is right."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 3)).astype(np.float32)
    return values, values[:, 1] + rng.normal(size=300) > 1.5


def test_log_odds_and_contributions_worked_out_by_hand() -> None:
    model = Logistic(np.array([1.0, 0.0]), np.array([2.0, 1.0]), np.array([4.0, -1.0]), bias=0.5)
    features = np.array([[3.0, 2.0]], np.float32)  # (3 - 1) / 2 * 4 = 4, and -2
    assert model.contributions(features).tolist() == [[4, -2]]
    assert model.predict(features).tolist() == [2.5]


def test_contributions_and_a_constant_add_up_to_the_score() -> None:
    values, right = data()
    linear = fit_logistic(values, right, base=0, penalty=1.0)
    gradients = lambda_gradients(right, np.arange(0, 301, 10))
    trees = grow(values, linear.predict(values), gradients, BoostingOptions(trees=7, smallest=5))
    model, features = CandidateRanker(("a", "b", "c"), linear, trees), Features(("a", "b", "c"), values)
    constant = linear.bias + trees.value[:, 0].sum()
    assert model.contributions(features).sum(axis=1) + constant == pytest.approx(model.predict(features))


def test_the_base_is_as_free_as_in_regression_on_it_alone() -> None:
    from sklearn.linear_model import LogisticRegression

    values, right = data()
    shrunk = fit_logistic(values, right, base=1, penalty=1e4)
    alone = LogisticRegression(C=1e9, tol=1e-9).fit(values[:, [1]], right)
    slope, bias = float(alone.coef_[0, 0]), float(alone.intercept_[0])
    assert shrunk.predict(values) == pytest.approx(values[:, 1] * slope + bias, abs=0.02)
    assert np.abs(shrunk.weight[[0, 2]]).max() < 0.01 < 1 < shrunk.weight[1]


@pytest.mark.parametrize("answer", [True, False])
def test_where_all_candidates_are_alike_the_base_ranks(answer: bool) -> None:
    values, _ = data()
    model = fit_logistic(values, np.full(300, answer), base=2, penalty=1.0)
    assert np.array_equal(np.argsort(model.predict(values)), np.argsort(values[:, 2]))


def test_a_feature_that_never_changes_counts_nothing() -> None:
    values, right = data()
    values[:, 2] = 7.0
    model = fit_logistic(values, right, base=0, penalty=1.0)
    assert model.weight[2] == 0
    assert np.isfinite(model.predict(values)).all()


def test_biases_meet_their_equation() -> None:
    rng = np.random.default_rng(0)
    logits, labels, right = rng.normal(size=500), rng.integers(0, 20, 500), rng.random(500) < 0.3
    bias = shrunk_bias(logits, right, labels, 20, shrinkage=0.5)
    residual = np.bincount(labels, right - 1 / (1 + np.exp(-logits - bias[labels])), 20)
    assert 0.5 * bias == pytest.approx(residual, abs=1e-9)


def test_biases_are_on_the_scale_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=2000), rng.integers(0, 10, 2000)
    right = rng.random(2000) < 1 / (1 + np.exp(-2 * scores - np.where(labels == 3, 2.0, 0.0)))
    one = fit_label_bias(scores, right, labels, 10)
    ten = fit_label_bias(10 * scores, right, labels, 10)
    assert one.argmax() == 3
    assert ten == pytest.approx(10 * one, rel=1e-3)


@pytest.mark.parametrize("scores", [[], [1.0, -1.0]])
def test_scores_that_tell_nothing_give_no_biases(scores: list[float]) -> None:
    right = np.array([False, True])[: len(scores)]
    assert fit_label_bias(np.array(scores), right, np.arange(len(scores)), 2).tolist() == [0, 0]
