"""Agreement of stages: a simulated corpus whose annotators' qualities are known, and the weights that follow."""

from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.weighted_sum import FIRST, Agreements
from tagwright.types import Run

USUAL = {"exact_match": 0.5, "tfidf": 1.0, "dense": 2.5}


def annotator(quality: float, seed: int, documents: int = 2000, labels: int = 10_000) -> Run:
    """Five labels of each document, each the right one with this probability, else drawn from all."""
    rng = np.random.default_rng(seed)
    right = np.arange(documents * FIRST).reshape(documents, FIRST) % labels
    wrong = rng.permutation(right.ravel()).reshape(documents, FIRST)
    chosen = np.where(rng.random((documents, FIRST)) < quality, right, wrong)
    return Run.from_rows(dict.fromkeys(row, 1.0) for row in chosen.tolist())


def agreements(words: float, documents: int = 100_000) -> Agreements:
    """Names and words agree by .45, meaning and words by so much: at .225, names agree twice as often."""
    return Agreements(documents=documents, names_words=0.45, names={"dense": 0.1}, words={"dense": words})


def test_the_qualities_of_independent_annotators_are_found_without_labels() -> None:
    names, words, dense = annotator(0.8, 1), annotator(0.6, 2), annotator(0.3, 3)
    found = Agreements.of(names, words, {"dense": dense}).qualities
    assert found == pytest.approx({"names": 0.8, "words": 0.6, "dense": 0.3}, abs=0.04)


def test_two_encoders_are_each_judged_with_names_and_words_alone() -> None:
    names, words, dense = annotator(0.8, 1), annotator(0.6, 2), annotator(0.3, 3)
    found = Agreements.of(names, words, {"dense": dense, "dense-2": dense}).qualities
    assert found["dense"] == found["dense-2"] == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize(("words", "expected"), [(0.45, 2.5), (0.225, 2.5), (0.09, 1.0), (0.18, 2.5 * 0.64)])
def test_meaning_that_hardly_agrees_with_words_counts_less_but_no_less_than_words(
    words: float, expected: float
) -> None:
    found = agreements(words).weights(USUAL, "tfidf")
    assert found == pytest.approx({**USUAL, "dense": expected}, abs=1e-3)


def test_a_stage_that_counts_no_more_than_words_keeps_its_weight() -> None:
    usual = {"tfidf": 1.0, "dense": 0.5}
    assert agreements(0.01).weights(usual, "tfidf") == usual


def test_few_documents_change_less_than_many() -> None:
    few, many = (agreements(0.1, size).share("dense") for size in (5, 5000))
    assert many < few


def test_stages_that_never_agree_keep_their_weights() -> None:
    nothing = Agreements(documents=100, names_words=0.0, names={"dense": 0.0}, words={"dense": 0.0})
    assert nothing.weights(USUAL, "tfidf") == USUAL
    assert nothing.qualities == {"names": 0.0, "words": 0.0, "dense": 0.0}
