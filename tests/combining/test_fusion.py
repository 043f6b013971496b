"""Fusion: hand-worked sums, and what holds for any runs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.combining.fusion import (
    REFERENCE_RANKS,
    Weight,
    reciprocal_ranks,
    standard_scores,
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


@given(TWO_RUNS)
def test_standard_scores_do_not_depend_on_the_scale_of_a_stage(
    rows: tuple[list[dict[int, float]], list[dict[int, float]]],
) -> None:
    candidates = Run.from_rows(rows[0])
    fused = standard_scores(candidates, [candidates.scores])
    stretched = standard_scores(candidates, [candidates.scores * 3 + 7])
    assert fused.scores.tolist() == pytest.approx(stretched.scores.tolist(), abs=1e-4)
    assert all(scores.mean() == pytest.approx(0, abs=1e-5) for _, scores in fused if len(scores))


def test_a_stage_without_opinion_changes_nothing() -> None:
    candidates = Run.from_rows([{1: 3.0, 2: 1.0}])
    alone = standard_scores(candidates, [candidates.scores])
    assert standard_scores(candidates, [candidates.scores, np.full(2, 0.3)]).scores.tolist() == alone.scores.tolist()


def test_runs_over_different_documents_are_refused() -> None:
    with pytest.raises(ValueError, match=r"over \[1, 2\] documents"):
        reciprocal_ranks([Run.from_rows([{}]), Run.from_rows([{}, {}])])
    with pytest.raises(ValueError, match="1 weights for 2 stages"):
        reciprocal_ranks([Run.from_rows([{}]), Run.from_rows([{}])], [1.0])
    with pytest.raises(ValueError, match="no union"):
        reciprocal_ranks([])


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


def test_only_normal_scores_need_the_special_functions_which_take_long_to_load() -> None:
    program = (
        "import sys; import numpy as np; from tagwright.combining.fusion import summed_evidence\n"
        "from tagwright.types import Run\n"
        "candidates = Run.from_rows([{5: 1.0, 6: -1.0}])\n"
        "for distribution in ('sparse', 'information_content', 'normal'):\n"
        "    summed_evidence(candidates, [candidates.scores], [distribution])\n"
        "    print('scipy.special' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]
