"""Fusion: hand-worked sums, and what holds for any runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.combining.fusion import (
    REFERENCE_RANKS,
    Weight,
    reciprocal_ranks,
    standardise,
    summed_evidence,
    zscores,
)
from tagwright.types import Run

ROW = st.dictionaries(st.integers(0, 20), st.integers(-50, 50).map(float), max_size=6)
TWO_RUNS = st.integers(0, 4).flatmap(
    lambda documents: st.tuples(*[st.lists(ROW, min_size=documents, max_size=documents)] * 2)
)


@given(TWO_RUNS, st.sampled_from([0.0, 1.0, 60.0]))
def test_reciprocal_ranks_are_the_sum_that_a_loop_gives(
    rows: tuple[list[dict[int, float]], list[dict[int, float]]], k: float
) -> None:
    runs = [Run.from_rows(each) for each in rows]
    fused = reciprocal_ranks(runs, [1.0, 0.5], k)
    for document in range(len(fused)):
        expected: dict[int, float] = {}
        for run, weight in zip(runs, (1.0, 0.5), strict=True):
            for rank, label in enumerate(run[document][0].tolist(), start=1):
                expected[label] = expected.get(label, 0.0) + weight / (k + rank)
        labels, scores = fused[document]
        assert dict(zip(labels.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected)


@given(st.lists(ROW, max_size=4))
def test_standard_scores_do_not_depend_on_the_scale_of_a_stage(rows: list[dict[int, float]]) -> None:
    run = Run.from_rows(rows)
    standard = standardise(run, run.scores)
    assert standard.tolist() == pytest.approx(standardise(run, run.scores * 3 + 7).tolist(), abs=1e-4)
    assert np.bincount(run.rows, standard, len(run)).tolist() == pytest.approx([0.0] * len(run), abs=1e-5)


@pytest.mark.parametrize("sizes", [(1, 2), ()])
def test_runs_over_different_documents_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"documents have no union"):
        reciprocal_ranks([Run.from_rows([{}] * size) for size in sizes])


def test_a_weight_may_differ_from_candidate_to_candidate() -> None:
    """Bits 3 and 1 become log2(4) = 2 and log2(2) = 1; of the second stage 7 and 7, so 3 each, only one counts."""
    candidates = Run.from_rows([{5: 2.0}, {6: 1.0}])
    scores = [np.array([3.0, 1.0]), np.array([7.0, 7.0])]
    weights: list[Weight] = [1.0, np.array([0.5, 0.0], np.float32)]
    assert summed_evidence(
        candidates, scores, ["information_content", "information_content"], weights
    ).scores.tolist() == [3.5, 1.0]


@pytest.mark.parametrize("behind", [0, 3, 200])
def test_where_a_candidate_stands_does_not_depend_on_how_many_follow_the_first_hundred(behind: int) -> None:
    """Fifty of score 3, fifty of score 1: mean 2, deviation 1; those behind of score 0 are 2 below the mean."""
    scores = [3.0] * (REFERENCE_RANKS // 2) + [1.0] * (REFERENCE_RANKS // 2) + [0.0] * behind
    run = Run.from_rows([dict(enumerate(scores)), {7: 4.0}, {}])
    assert zscores(run).tolist() == [*(score - 2.0 for score in scores), 0.0]
