"""Confidence without labels: features by hand, and what the shipped models must hold to."""

import json
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.combining.confidence import in_words
from tagwright.combining.label_free import FEATURES, features, label_free, provenance, shipped, word_counts
from tagwright.types import Run

RUN = Run.from_rows([{4: 3.0, 5: 3.0, 6: 0.0}, {}, {7: 1.0}])
FOUND = [Run.from_rows([{4: 9.0}, {}, {7: 1.0}]), Run.from_rows([{6: 2.0, 4: 1.0}, {2: 1.0}, {}])]


def test_features_are_those_of_each_document() -> None:
    """Document 0: mean 2, deviation sqrt(2): 0.7071, 0.7071, -1.4142. A single candidate has no deviation."""
    table = features(RUN, FOUND, np.array([100, 50, 3]), labels_per_document=2.0)
    log2, words = np.log(2), np.log(100)
    assert table == pytest.approx(
        np.array(
            [
                [-log2, 0.7071, 0.0, 1.0, words],
                [0.0, 0.7071, 2.1213, 0.0, words],
                [np.log(1.5), -1.4142, 0.0, 0.5, words],
                [-log2, 0.0, 0.0, 0.5, np.log(10)],  # 3 words count as 10
            ]
        ),
        abs=1e-4,
    )


def test_only_the_first_five_of_a_retriever_are_what_it_stands_for() -> None:
    run = Run.from_rows([{label: -float(label) for label in range(8)}])
    assert features(run, [run], np.array([20]))[:, 3].tolist() == [1, 1, 1, 1, 1, 0, 0, 0]


def test_word_counts_are_those_of_each_text() -> None:
    assert word_counts(["A  b\nc", "", " "]).tolist() == [3, 0, 0]


@given(st.lists(st.lists(st.floats(-20, 20, width=32), max_size=40), min_size=1, max_size=4), st.integers(0, 10**6))
def test_confidences_are_probabilities_whatever_is_ranked(rows: list[list[float]], words: int) -> None:
    run = Run.from_rows([dict(enumerate(row)) for row in rows])
    for usual in (None, 1.0, 3.0, 20.0):
        found = label_free(run, [], np.full(len(rows), words), usual)
        assert found.dtype == np.float32
        assert ((found > 0) & (found < 1)).all()


def test_more_labels_for_a_document_mean_more_confidence() -> None:
    few, many = (label_free(RUN, FOUND, np.array([100, 100, 100]), usual) for usual in (2.0, 12.0))
    assert (many > few).all()


@pytest.mark.parametrize("known", ["known", "unknown"])
def test_the_shipped_models_find_low_ranks_less_sure_and_agreement_surer(known: str) -> None:
    weights = dict(zip(FEATURES, shipped(known).weights, strict=True))
    assert weights["log rank"] < 0
    assert min(weights["standard score"], weights["gap"], weights["agreement"], weights["log words"]) > 0


def test_the_shipped_file_says_where_it_comes_from() -> None:
    content = provenance()
    assert json.dumps(content, allow_nan=False)
    assert date.fromisoformat(content["date"])
    assert set(content["fitted on"]) == {"mdn", "tib", "epmc", "arxiv"}
    assert all(each["documents"] > 100 for each in content["fitted on"].values())
    measured = content["ECE@5 with the corpus left out"]
    assert all(error <= 0.12 for error in measured["known"].values())


def test_a_clear_hit_is_likely_and_the_twentieth_candidate_is_not() -> None:
    """Rank 1 of 200, far above the rest, which all stages have; against rank 20."""
    scores = np.concatenate([[20.0, 12.0], np.linspace(6, 0, 198)])
    run = Run.from_rows([dict(enumerate(scores.tolist()))])
    found = label_free(run, [run, run, run], np.array([200]), labels_per_document=3.0)
    assert in_words(float(found[0])) == "likely"
    assert in_words(float(found[19])) == "unlikely"
