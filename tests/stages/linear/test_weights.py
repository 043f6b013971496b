from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random

from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.stages.linear import stage as linear_stage
from tagwright.stages.linear.stage import Linear
from tagwright.types import Label, Run

FEATURES = csr_matrix(np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 1, 3, 0]], np.float32))
LABELS = [Label(name, (name,)) for name in "xyz"]
BAG = BagOfWords(list("abcd"), np.ones(4, np.int64), 3, BagOptions())
STAGE = Linear(
    LABELS,
    BAG,
    csr_matrix(np.array([[2, 0, -1, 0.5], [0, 0, 0, 0], [0, 1, 1, -4]], np.float32)),
    np.array([-1, -np.inf, -0.5], np.float32),
)


def test_decisions_are_products_plus_bias_best_first_and_scores_1_more_and_at_least_0() -> None:
    run = STAGE.decisions(FEATURES, 3)  # by hand: 2 + 1 - 1 and -8 - 0.5; -1 and -0.5; -3 - 1 and 4 - 0.5
    assert [labels.tolist() for labels, _ in run] == [[0, 2], [2, 0], [2, 0]]
    assert [scores.tolist() for _, scores in run] == [[2.0, -8.5], [-0.5, -1.0], [3.5, -4.0]]
    assert [scores.tolist() for _, scores in STAGE.find(FEATURES)] == [[3.0], [], [4.5]]
    everything = Run.from_rows([[0, 1, 2]] * 3)
    assert STAGE.score(FEATURES, everything).tolist() == [3.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 4.5]


def test_candidates_get_the_same_scores_in_chunks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(0)
    weights, features = (random(*shape, 0.3, "csr", np.float32, chance) for shape in ((9, 20), (30, 20)))
    labels = [Label(str(place), (str(place),)) for place in range(9)]
    stage = Linear(labels, BAG, weights, chance.normal(size=9).astype(np.float32))
    run = stage.find(features)
    np.testing.assert_allclose(stage.score(features, run), run.scores, atol=1e-6)
    monkeypatch.setattr(linear_stage, "CELLS", 40)
    np.testing.assert_allclose(stage.score(features, run), run.scores, atol=1e-6)


def test_keywords_are_the_words_of_largest_weight_and_none_that_speak_against() -> None:
    assert STAGE.keywords(3) == {"x": ("a", "d"), "y": (), "z": ("b", "c")}
    assert STAGE.keywords(1)["z"] == ("b",)  # the first of two that weigh the same


def test_labels_can_be_taken_in_any_order_and_be_new() -> None:
    taken = STAGE.with_labels([LABELS[2], Label("new", ("new",)), LABELS[0]])
    assert taken.weights.toarray().tolist() == [[0, 1, 1, -4], [0, 0, 0, 0], [2, 0, -1, 0.5]]
    assert taken.bias.tolist() == [-0.5, -np.inf, -1.0]
    assert STAGE.weights.nnz == 6
