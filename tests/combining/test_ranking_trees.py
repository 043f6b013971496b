"""Boosted trees, against scikit-learn's and against sums worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor

from tagwright.combining import ranking_trees
from tagwright.combining.ranking_trees import BoostedTrees, BoostingOptions, grow, lambda_gradients
from tagwright.types import Floats

Doubles = NDArray[np.float64]

PLAIN = BoostingOptions(trees=5, depth=2, rate=0.3, smoothing=0.0, smallest=4, features=1.0)


class SquaredError:
    """Gradients of (wanted - score)^2 / 2."""

    def __init__(self, wanted: Doubles) -> None:
        self.wanted = wanted

    def __call__(self, scores: Doubles) -> tuple[Doubles, Doubles]:
        return self.wanted - scores, np.ones(len(scores))


def data(rows: int = 200, seed: int = 0) -> tuple[Floats, Doubles]:
    """Features with few values, so that each is told apart, and something to predict from them."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 12, (rows, 4)).astype(np.float32)
    return features, np.sin(features[:, 0]) + features[:, 1] * (features[:, 2] > 5) + rng.normal(0, 0.1, rows)


@pytest.mark.parametrize("smallest", [1, 30])
def test_deep_trees_agree_with_scikit_learn(smallest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_trees, "BLOCK", 1000)  # more rows are predicted than fit together
    # from the second level on the sums of one child are those of its parent less those of the other child
    rng = np.random.default_rng(3)
    features = rng.integers(0, 60, (3000, 6)).astype(np.float32)
    wanted = np.sin(features[:, 0] / 9) * (features[:, 1] > 50) + features[:, 2] / 99 + rng.normal(0, 0.1, 3000)
    theirs = GradientBoostingRegressor(
        n_estimators=6, max_depth=5, learning_rate=0.3, min_samples_leaf=smallest, init="zero"
    ).fit(features, wanted)
    options = BoostingOptions(trees=6, depth=5, rate=0.3, smoothing=0.0, smallest=smallest, features=1.0)
    ours = grow(features, np.zeros(3000), SquaredError(wanted), options)
    assert ours.predict(features) == pytest.approx(theirs.predict(features), abs=1e-9)


def test_contributions_add_up_to_the_prediction() -> None:
    features, wanted = data()
    trees = grow(features, np.zeros(len(wanted)), SquaredError(wanted), PLAIN)
    added = trees.contributions(features)
    assert added.sum(axis=1) + trees.value[:, 0].sum() == pytest.approx(trees.predict(features))
    assert (added[:, 3] == 0).all() or trees.feature.max() == 3


def test_contributions_of_one_tree_worked_out_by_hand() -> None:
    # feature 1 splits first: value 2 -> 3 or 1; then feature 0 on the left: 3 -> 5 or 2; the right asks nothing
    most = np.finfo(np.float32).max
    trees = BoostedTrees(
        np.array([[1, 0, 0]], np.int32),
        np.array([[0.5, 10.0, most]], np.float32),
        np.array([[2.0, 3.0, 1.0, 5.0, 2.0, 1.0, 0.0]]),
    )
    features = np.array([[9.0, 0.0], [11.0, 0.0], [9.0, 1.0]], np.float32)
    assert trees.predict(features).tolist() == [5, 2, 1]
    assert trees.contributions(features).tolist() == [[2, 1], [-1, 1], [0, -1]]


def test_gradients_of_documents_of_different_length_do_not_mix() -> None:
    # one right, one wrong, alone or behind a document with three candidates: the same pull (the doctest's)
    alone, _ = lambda_gradients(np.array([False, True]), np.array([0, 2]))(np.zeros(2))
    right = np.array([False, False, True, False, True])
    together, curvature = lambda_gradients(right, np.array([0, 3, 5]))(np.zeros(5))
    assert together[3:] == pytest.approx(alone)
    assert together.sum() == pytest.approx(0)
    assert (curvature >= 0).all()


def test_gradients_agree_with_a_loop_over_pairs() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 14, 20)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    right, scores = rng.random(indptr[-1]) < 0.3, rng.normal(size=indptr[-1]).round(1)  # some are equal
    pull, curvature = lambda_gradients(right, indptr, depth=3)(scores)
    for start, end in pairwise(indptr.tolist()):
        expected = _of_pairs(right[start:end], scores[start:end], depth=3)
        assert pull[start:end] == pytest.approx(expected[0])
        assert curvature[start:end] == pytest.approx(expected[1])


def test_documents_without_a_right_candidate_pull_nothing() -> None:
    pull, curvature = lambda_gradients(np.zeros(4, np.bool_), np.array([0, 2, 4]))(np.arange(4.0))
    assert not pull.any()
    assert not curvature.any()


def test_the_seed_decides_which_features_are_asked() -> None:
    features, wanted = data()
    options = BoostingOptions(trees=3, features=0.5)
    one, same, other = (grow(features, np.zeros(200), SquaredError(wanted), options, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.threshold, same.threshold)
    assert not np.array_equal(one.feature, other.feature)


def test_features_that_never_change_are_not_asked() -> None:
    features, wanted = np.ones((50, 2), np.float32), np.arange(50.0)
    trees = grow(features, np.zeros(50), SquaredError(wanted), BoostingOptions(trees=2))
    assert trees.predict(features) == pytest.approx(np.full(50, trees.predict(features[:1])[0]))


def _of_pairs(right: NDArray[np.bool_], scores: Doubles, depth: int) -> tuple[Doubles, Doubles]:
    """The gradients and curvatures of one document, pair by pair."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    rank = {place: number for number, place in enumerate(order)}
    best = sum(1 / np.log2(number + 2) for number in range(min(depth, right.sum())))
    pull, curvature, total = np.zeros(len(scores)), np.zeros(len(scores)), 0.0
    for one in np.flatnonzero(right).tolist():
        for other in np.flatnonzero(~right).tolist():
            if min(rank[one], rank[other]) < depth:
                swap = abs(1 / np.log2(rank[one] + 2) - 1 / np.log2(rank[other] + 2)) / best
                miss = 1 / (1 + np.exp(scores[one] - scores[other]))
                total += 2 * swap * miss
                pull[one], pull[other] = pull[one] + swap * miss, pull[other] - swap * miss
                curvature[[one, other]] += swap * miss * (1 - miss)
    scale = np.log2(1 + total) / total if total else 1.0
    return pull * scale, curvature * scale
