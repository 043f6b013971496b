"""The measures, one document and one formula at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import InputError
from tagwright.evaluation.metrics import (
    Gains,
    Hits,
    ancestors,
    ceiling,
    count_unreached,
    inverse_propensity,
    ndcg,
    precision,
    psndcg,
    psp,
    recall,
    sample_f1,
    success,
)
from tagwright.evaluation.resampling import MacroF1, sampled_values
from tagwright.types import Run

sklearn_metrics = pytest.importorskip("sklearn.metrics")

LABELS, DEPTH = 8, 6
REWARD = np.array([1.5, 2.0, 2.0, 3.0, 4.5, 5.0, 7.0, 9.0])

ranking = st.lists(st.integers(0, LABELS - 1), unique=True, max_size=LABELS)
gold_labels = st.sets(st.integers(0, LABELS - 1), min_size=1)
cases = st.lists(st.tuples(ranking, gold_labels), min_size=1, max_size=6)

on_gains = pytest.mark.parametrize("measure", [psp, psndcg])
in_order = st.integers(1, DEPTH)


def run_of(rankings: list[list[int]]) -> Run:
    """A run with the labels in the given order."""
    return Run.from_rows({label: -float(rank) for rank, label in enumerate(row)} for row in rankings)


def hits_of(rankings: list[list[int]], gold: list[set[int]]) -> Hits:
    return Hits.of(run_of(rankings), Run.from_rows(gold), DEPTH)


def gains_of(rankings: list[list[int]], gold: list[set[int]]) -> Gains:
    return Gains.of(run_of(rankings), Run.from_rows(gold), REWARD, DEPTH)


@given(cases=cases, k=in_order)
def test_ndcg_agrees_with_scikit_learn(cases: list[tuple[list[int], set[int]]], k: int) -> None:
    rankings = [[*row, *sorted(set(range(LABELS)) - set(row))] for row, _ in cases]
    truth = np.array([[label in gold for label in range(LABELS)] for _, gold in cases])
    scores = np.array([[-row.index(label) for label in range(LABELS)] for row in rankings])
    expected = sklearn_metrics.ndcg_score(truth, scores, k=k)
    assert ndcg(hits_of(rankings, [gold for _, gold in cases]), k).mean() == pytest.approx(expected)


@given(cases=cases, k=in_order)
def test_macro_f1_agrees_with_scikit_learn_over_the_gold_labels(
    cases: list[tuple[list[int], set[int]]], k: int
) -> None:
    rankings, gold = map(list, zip(*cases, strict=True))
    truth = np.array([[label in labels for label in range(LABELS)] for labels in gold])
    predicted = np.array([[label in row[:k] for label in range(LABELS)] for row in rankings])
    expected = sklearn_metrics.f1_score(
        truth, predicted, labels=sorted(set().union(*gold)), average="macro", zero_division=0
    )
    found = MacroF1.of("macro-F1", run_of(rankings), Run.from_rows(gold), k)
    assert sampled_values([found], np.ones((1, len(cases))))[0, 0] == pytest.approx(expected)


def test_a_document_without_gold_labels_is_never_right() -> None:
    hits, gains = hits_of([[0, 1]], [set()]), gains_of([[0, 1]], [set()])
    assert [measure(hits, 2).tolist() for measure in (precision, recall, success, ndcg)] == [[0.0]] * 4
    assert psp(gains, 2)[0].tolist() == [0.0]


def test_propensity_of_too_few_training_documents_is_refused() -> None:
    with pytest.raises(InputError, match="2 training documents, expected at least 3"):
        inverse_propensity(np.array([1, 1]), 2)


def test_ranks_that_were_not_looked_up_are_refused() -> None:
    with pytest.raises(ValueError, match="k is 7, with 6 ranks"):
        precision(hits_of([[0]], [{0}]), 7)


@given(cases=cases, k=in_order)
def test_sample_f1_is_that_of_scikit_learn_on_the_first_suggestions(
    cases: list[tuple[list[int], set[int]]], k: int
) -> None:
    rankings, gold = [ranking for ranking, _ in cases], [labels for _, labels in cases]
    suggested = np.array([len(ranking) for ranking in rankings])
    predicted, right = np.zeros((2, len(cases), LABELS), np.int64)
    for row, (ranking, labels) in enumerate(cases):
        predicted[row, ranking[:k]] = 1
        right[row, list(labels)] = 1
    theirs = sklearn_metrics.f1_score(right, predicted, average="samples", zero_division=0)
    assert sample_f1(hits_of(rankings, gold), suggested, k).mean() == pytest.approx(theirs)


GOLD = Run.from_rows([[0, 1], [2], [3, 1]])
A = Run.from_rows([{5: 3.0, 0: 2.0, 1: 1.0}, {}, {4: 1.0}])


def test_what_no_stage_reaches_is_missed() -> None:
    """The union holds labels 0 and 1 of the first document and 2 of the second; 3 and 1 of the third are missed."""
    union = Run.from_rows([{5: 3.0, 0: 2.0, 1: 1.0}, {3: 2.0, 2: 1.0}, {4: 1.0}])
    assert ceiling(union, GOLD)["R"] == pytest.approx(3 / 5)
    assert list(count_unreached(union, GOLD, labels=6).items()) == [(1, 1), (3, 1)]


links = st.lists(st.sets(st.integers(0, 6)), min_size=7, max_size=7)


@given(broader=links)
def test_ancestors_are_what_a_walk_upwards_meets(broader: list[set[int]]) -> None:
    """Whatever the links: trees, several parents, cycles."""

    def above(label: int, seen: frozenset[int]) -> frozenset[int]:
        for upper in broader[label] - seen:
            seen = above(upper, seen | {upper})
        return seen

    found = ancestors(Run.from_rows(broader)).toarray()
    assert [set(np.flatnonzero(row)) for row in found] == [above(label, frozenset({label})) for label in range(7)]
