"""How large a gain `auto` expects on new documents, how unlike these are, and what it trusts then."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest

from tagwright.auto import gain
from tagwright.auto.gain import Shift, gain_on_new, unlikeness
from tagwright.auto.ranker import BASE, CombinerOptions, Examples, fit_combiner, train_ranker
from tagwright.combining.candidate_features import Features
from tagwright.types import Run

GAINS = np.array([0.0, 0.2, 0.2, 0.4])
"Mean .2, deviation sqrt(.08 / 3) = .16330; Student's t of three degrees of freedom is 3.1824."


@pytest.mark.parametrize(
    ("shift", "half"),
    [
        (Shift(), 3.1824 * 0.1633 * 0.5),  # sqrt(1/4)
        (Shift(others=4), 3.1824 * 0.1633 * 0.70711),  # sqrt(1/4 + 1/4)
        (Shift(unlike=gain.RELATED**-1 * 0.5), 3.1824 * 0.1633 * 0.70711),  # sqrt(1/4 + .5 ** 2)
    ],
)
def test_the_interval_counts_labelled_documents_new_ones_and_how_unlike_they_are(shift: Shift, half: float) -> None:
    found = gain_on_new(GAINS, shift)
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.2 - half, 0.2 + half), abs=1e-4)


def test_documents_are_unlike_by_deviations_of_the_likeness_among_labelled_ones() -> None:
    """Two folds of two: each document is as like the most similar ones of the other fold as their cosines say."""
    half = np.sqrt(0.5)
    labelled = np.array([[1, 0], [0, 1], [1, 0], [half, half]], np.float32)
    folds = np.array([0, 0, 1, 1])
    # means of the two cosines with the other fold: (1 + .7071) / 2, (0 + .7071) / 2, (1 + 0) / 2, .7071
    within = np.array([0.85355, 0.35355, 0.5, 0.70711])
    others = np.array([[0, -1], [1, 0]], np.float32)  # the second is the text of a labelled one
    # the largest two cosines of the first are 0 and 0
    found = unlikeness(labelled, folds, others)
    assert found.others == 1
    assert found.unlike == pytest.approx(within.mean() / within.std(), abs=1e-4)
    assert unlikeness(labelled, folds, np.array([[0.8, 0.6]], np.float32)) == Shift(0.0, 1)  # .8 and .99: more alike
    assert unlikeness(labelled, folds, labelled) == Shift(0.0, 0)


def learnable(documents: int) -> Examples:
    """The sum ranks the wrong one of two candidates first, and the other feature tells."""
    run = Run.from_rows([{0: 2.0, 1: 1.0}] * documents)
    values = np.tile(np.array([[1.0, 0.0], [-1.0, 1.0]], np.float32), (documents, 1))
    values[:, 1] += np.random.default_rng(0).normal(0, 0.01, len(values)).astype(np.float32)
    return Examples(run, Features((BASE, "svm: score"), values), Run.from_rows([[1]] * documents), 2)


def test_what_is_learned_counts_in_part_and_the_sum_in_full() -> None:
    examples, options = learnable(20), CombinerOptions()
    full, half = train_ranker(examples, options), train_ranker(examples, replace(options, trust=0.5))
    assert half.linear.weight.tolist() == [full.linear.weight[0], full.linear.weight[1] / 2]
    assert full.trees
    assert half.trees
    assert half.trees.value.tolist() == (full.trees.value / 2).tolist()


def test_it_is_trusted_less_only_where_others_are_unlike_and_may_lose_and_a_line_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "tagwright")
    examples, options = learnable(20), CombinerOptions()
    gained = fit_combiner(examples, options).measured
    unsure = gained - np.tile([0.3, -0.2], 10)  # gains of .3 and -.2: the mean is .05, the deviation .25
    sure = gained - 0.3
    assert gain.fit_trusted(examples, options, sure, Shift(1.0, 100)).trust == 1.0
    assert gain.fit_trusted(examples, options, unsure, Shift(0.44, 100)).trust == 1.0  # below 2 / sqrt(20) = .447
    assert not caplog.text
    assert gain.fit_trusted(examples, options, unsure, Shift(1.0, 100)).trust == 0.5
    assert gain.fit_trusted(examples, options, gained + np.tile([0.3, -0.2], 10), Shift()).trust == 0.5  # loses .05
    assert "what is learned counts 50%, the sum the rest: in full, -" in caplog.text
