from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random

from tagwright.stages.linear import stage as linear_weights
from tagwright.stages.linear.stage import LinearModel

FEATURES = csr_matrix(np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 1, 3, 0]], np.float32))
MODEL = LinearModel(
    csr_matrix(np.array([[2, 0, -1, 0.5], [0, 0, 0, 0], [0, 1, 1, -4]], np.float32)),
    np.array([-1, -np.inf, -0.5], np.float32),
)


def test_scores_are_products_plus_bias_best_first() -> None:
    run = MODEL.scores(FEATURES, 3)  # by hand: 2 + 1 - 1 and -8 - 0.5; -1 and -0.5; -3 - 1 and 4 - 0.5
    assert [labels.tolist() for labels, _ in run] == [[0, 2], [2, 0], [2, 0]]
    assert [scores.tolist() for _, scores in run] == [[2.0, -8.5], [-0.5, -1.0], [3.5, -4.0]]


def test_a_label_that_was_never_learnt_is_never_suggested() -> None:
    assert 1 not in MODEL.scores(FEATURES, 3).labels
    assert MODEL.known.tolist() == [0, 2]


def test_candidates_get_the_same_scores_in_chunks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(0)
    weights, features = (random(*shape, 0.3, "csr", np.float32, chance) for shape in ((9, 20), (30, 20)))
    model = LinearModel(weights, chance.normal(size=9).astype(np.float32))
    run = model.scores(features, 9)
    np.testing.assert_allclose(model.score(features, run), run.scores, atol=1e-6)
    monkeypatch.setattr(linear_weights, "CELLS", 40)
    np.testing.assert_allclose(model.score(features, run), run.scores, atol=1e-6)


def test_keywords_are_the_words_of_largest_weight_and_none_that_speak_against() -> None:
    assert MODEL.keywords(0, 3) == [0, 3]
    assert MODEL.keywords(2, 1) == [1]  # the first of two that weigh the same
    assert MODEL.keywords(1, 3) == []


def test_labels_can_be_taken_in_any_order_and_be_new() -> None:
    taken = MODEL.take(np.array([2, -1, 0]))
    assert taken.weights.toarray().tolist() == [[0, 1, 1, -4], [0, 0, 0, 0], [2, 0, -1, 0.5]]
    assert taken.bias.tolist() == [-0.5, -np.inf, -1.0]
    assert MODEL.weights.nnz == 6
