"""What is accepted, by hand and by trying every cut; guarantees, by drawing many times from known sources."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import ConfigError
from tagwright.tagger.acceptance import best_cut, threshold_for_missed, threshold_for_wrong
from tagwright.types import Run

ROWS = st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0]), max_size=6), min_size=1, max_size=5)


def ranked(rows: list[list[float]]) -> tuple[Run, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """A run in whose order the confidences stand as they are given, so that they need not fall."""
    run = Run.from_rows([{label: float(-label) for label in range(len(row))} for row in rows])
    return run, np.array([sure for row in rows for sure in row], np.float64)


def test_no_label_is_given_where_none_is_likelier_than_the_best_expected_f1() -> None:
    """One label of .5, of .6 in all: (1 + .8) / (1 + .6 + 2) = .5; both: (1.2 + .8) / (2 + .6 + 2) = .435."""
    run, confidence = ranked([[0.5, 0.1]] * 2)
    run = replace(run, none=np.array([0.49, 0.51], np.float32))
    assert best_cut(run, confidence).tolist() == [True, False, False, False]


@given(ROWS)
def test_best_cut_has_the_greatest_expected_f1_of_all_cuts(rows: list[list[float]]) -> None:
    run, confidence = ranked(rows)
    kept = best_cut(run, confidence)
    for row, (start, end) in zip(rows, pairwise(run.indptr.tolist()), strict=True):
        falling = sorted(row, reverse=True)
        if not sum(row):
            continue
        scores = [(2 * sum(falling[:m]) + 0.8) / (m + sum(row) + 2) for m in range(1, len(row) + 1)]
        chosen = kept[start:end]
        assert scores[int(chosen.sum()) - 1] == pytest.approx(max(scores))
        assert sorted(confidence[start:end][chosen].tolist(), reverse=True) == falling[: int(chosen.sum())]


def test_a_document_of_which_hardly_anything_is_known_gets_few_labels() -> None:
    """Of 19 confidences of 0.1, one has (0.2 + 0.8) / (1 + 1.9 + 2) = 0.204, all (3.8 + 0.8) / (19 + 1.9 + 2) = 0.201.

    Of 21, it is 1 / 5.1 = 0.196 and 5 / 25.1 = 0.199. Without the prior, 0.2 / 2.9 and 3.8 / 20.9 of 19.
    """
    for count, kept in ((19, 1), (21, 21)):
        assert best_cut(*ranked([[0.1] * count])).sum() == kept
    assert best_cut(*ranked([[0.1] * 19]), prior=0.0).sum() == 19


def test_labels_that_are_no_suggestions_are_missed_at_every_threshold() -> None:
    """Each of 9 documents has two gold labels, one of which is suggested: half is missed, (4.5 + 1) / 10 = 0.55."""
    right, rows, gold = np.ones(9, np.bool_), np.arange(9), np.full(9, 2)
    confidence = np.linspace(0.1, 0.9, 9)
    assert threshold_for_missed(confidence, right, rows, gold, 0.55) == pytest.approx(0.1)
    assert threshold_for_missed(confidence, right, rows, gold, 0.54) is None


def test_equally_sure_suggestions_are_accepted_together() -> None:
    confidence, right, rows = np.full(4, 0.5), np.array([True, False, True, False]), np.array([0, 0, 1, 1])
    assert threshold_for_missed(confidence, right, rows, np.ones(2, np.int64), 0.34) == 0.5  # (0 + 1) / 3
    assert threshold_for_wrong(confidence, right, rows, 2, wrong=1.3, most=2) == math.inf  # (1 + 1) / 3 = 1.33 / 2
    assert threshold_for_wrong(confidence, right, rows, 2, wrong=1.34, most=2) == 0.5


def draw(rng: np.random.Generator, documents: int) -> tuple[np.ndarray, ...]:
    """Eight suggestions for each document, right by a chance that the confidence tells badly; 0 to 2 labels beyond."""
    chance = rng.beta(1, 2, (documents, 8))
    right = rng.random((documents, 8)) < chance
    right[np.arange(documents), rng.integers(8, size=documents)] = True
    confidence = chance**3 * 0.5
    return (
        confidence.ravel(),
        right.ravel(),
        np.repeat(np.arange(documents), 8),
        right.sum(1) + rng.integers(3, size=documents),
    )


def test_expected_share_of_missed_labels_is_kept_and_nearly_used_up() -> None:
    """Theorems 1 and 2 of Angelopoulos et al.: the risk is between alpha - 2 / (n + 1) and alpha.

    400 draws of 60 documents and 100 to come; the mean of the losses has a standard error below 0.003.
    """
    rng, alpha, losses = np.random.default_rng(7), 0.5, []
    for _ in range(400):
        confidence, right, rows, gold = draw(rng, 60)
        threshold = threshold_for_missed(confidence, right, rows, gold, alpha)
        assert threshold is not None
        confidence, right, rows, gold = draw(rng, 100)
        found = np.bincount(rows, right & (confidence >= threshold), 100)
        losses.append(float((1 - found / gold).mean()))
    assert np.std(losses) / math.sqrt(400) < 0.003
    assert alpha - 2 / 61 - 0.01 < np.mean(losses) < alpha


def test_expected_number_of_wrong_labels_is_kept_and_nearly_used_up() -> None:
    rng, wrong, counts = np.random.default_rng(8), 2.0, []
    for _ in range(400):
        confidence, right, rows, _ = draw(rng, 60)
        threshold = threshold_for_wrong(confidence, right, rows, 60, wrong, most=8)
        confidence, right, rows, _ = draw(rng, 100)
        counts.append(float((~right & (confidence >= threshold)).sum() / 100))
    assert np.std(counts) / math.sqrt(400) < 0.02
    assert wrong - 8 * 2 / 61 - 0.05 < np.mean(counts) < wrong


@pytest.mark.parametrize("alpha", [0.0, 1.0, float("nan")])
def test_an_alpha_that_promises_nothing_or_all_is_refused(alpha: float) -> None:
    one = np.ones(1, np.int64)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        threshold_for_missed(np.array([0.5]), np.array([True]), np.zeros(1, np.int64), one, alpha)


def test_documents_without_gold_labels_and_too_many_suggestions_are_refused() -> None:
    sure, right, rows = np.array([0.5, 0.4]), np.array([True, False]), np.zeros(2, np.int64)
    with pytest.raises(ConfigError, match="labelled documents"):
        threshold_for_missed(sure, right, rows, np.zeros(1, np.int64), 0.1)
    with pytest.raises(ConfigError, match="more than 1 suggestions"):
        threshold_for_wrong(sure, right, rows, 1, 0.5, most=1)
