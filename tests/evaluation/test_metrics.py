"""The measures, one document and one formula at a time."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import InputError
from tagwright.evaluation.metrics import (
    Contingency,
    Gains,
    Hits,
    inverse_propensity,
    labelled,
    macro_f1,
    macro_psndcg,
    macro_psp,
    ndcg,
    precision,
    psndcg,
    psp,
    raw_psp,
    recall,
    sample_f1,
    success,
)
from tagwright.types import Doubles, Run

sklearn_metrics = pytest.importorskip("sklearn.metrics")

LABELS, DEPTH = 8, 6
REWARD = np.array([1.5, 2.0, 2.0, 3.0, 4.5, 5.0, 7.0, 9.0])

ranking = st.lists(st.integers(0, LABELS - 1), unique=True, max_size=LABELS)
gold_labels = st.sets(st.integers(0, LABELS - 1), min_size=1)
cases = st.lists(st.tuples(ranking, gold_labels), min_size=1, max_size=6)

on_hits = pytest.mark.parametrize("measure", [precision, recall, success, ndcg])
on_gains = pytest.mark.parametrize("measure", [macro_psp, macro_psndcg])
in_order = st.integers(1, DEPTH)


def run_of(rankings: list[list[int]]) -> Run:
    """A run with the labels in the given order."""
    return Run.from_rows({label: -float(rank) for rank, label in enumerate(row)} for row in rankings)


def hits_of(rankings: list[list[int]], gold: list[set[int]]) -> Hits:
    return Hits.of(run_of(rankings), Run.from_rows(gold), DEPTH)


def gains_of(rankings: list[list[int]], gold: list[set[int]]) -> Gains:
    return Gains.of(run_of(rankings), Run.from_rows(gold), REWARD, DEPTH)


@on_hits
@given(cases=cases, k=in_order)
def test_scores_lie_between_zero_and_one(
    measure: Callable[[Hits, int], Doubles], cases: list[tuple[list[int], set[int]]], k: int
) -> None:
    scores = measure(hits_of(*map(list, zip(*cases, strict=True))), k)
    assert scores.shape == (len(cases),)
    assert ((scores >= 0) & (scores <= 1)).all()


@on_gains
@given(cases=cases, k=in_order)
def test_propensity_scores_lie_between_zero_and_one(
    measure: Callable[[Gains, int], Doubles], cases: list[tuple[list[int], set[int]]], k: int
) -> None:
    scores = measure(gains_of(*map(list, zip(*cases, strict=True))), k)
    assert ((scores >= 0) & (scores <= 1 + 1e-12)).all()


@on_hits
@given(cases=cases, k=in_order)
def test_suggestions_after_rank_k_change_nothing(
    measure: Callable[[Hits, int], Doubles], cases: list[tuple[list[int], set[int]]], k: int
) -> None:
    rankings, gold = map(list, zip(*cases, strict=True))
    cut = [row[:k] for row in rankings]
    np.testing.assert_array_equal(measure(hits_of(rankings, gold), k), measure(hits_of(cut, gold), k))


@on_hits
@given(cases=cases, k=in_order)
def test_documents_are_scored_alike_in_any_order(
    measure: Callable[[Hits, int], Doubles], cases: list[tuple[list[int], set[int]]], k: int
) -> None:
    forth = measure(hits_of(*map(list, zip(*cases, strict=True))), k)
    back = measure(hits_of(*map(list, zip(*cases[::-1], strict=True))), k)
    np.testing.assert_allclose(forth, back[::-1])


@given(gold=st.lists(gold_labels, min_size=1, max_size=5), k=in_order)
def test_a_perfect_ranking_has_ndcg_one_and_full_recall_once_k_holds_all_gold(gold: list[set[int]], k: int) -> None:
    hits = hits_of([sorted(labels) for labels in gold], gold)
    np.testing.assert_allclose(ndcg(hits, k), 1)
    whole = np.array([len(labels) <= k for labels in gold])
    np.testing.assert_allclose(recall(hits, k)[whole], 1)


@given(gold=st.lists(gold_labels, min_size=1, max_size=5), k=in_order)
def test_gold_labels_with_the_rarest_first_earn_all_there_is(gold: list[set[int]], k: int) -> None:
    gains = gains_of([sorted(labels, reverse=True) for labels in gold], gold)
    for earned, best in (psp(gains, k), psndcg(gains, k)):
        np.testing.assert_allclose(earned, best)


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
    table = Contingency.of(run_of(rankings), Run.from_rows(gold), LABELS, k)
    assert macro_f1(table) == pytest.approx(expected)


def test_a_document_with_too_few_suggestions_still_divides_by_k() -> None:
    assert precision(hits_of([[3]], [{3}]), 5).tolist() == [0.2]


def test_a_document_without_gold_labels_is_never_right() -> None:
    hits, gains = hits_of([[0, 1]], [set()]), gains_of([[0, 1]], [set()])
    assert [measure(hits, 2).tolist() for measure in (precision, recall, success, ndcg)] == [[0.0]] * 4
    assert macro_psp(gains, 2).tolist() == [0.0]


def test_the_gold_labels_of_another_document_do_not_count() -> None:
    assert hits_of([[0], [1]], [{1}, {0}]).right.any() is np.False_


def test_micro_psp_weighs_a_document_by_what_it_could_earn() -> None:
    # The first document earns 1.5 of 9, the second 1.5 of 1.5: 3 of 10.5 together, 1/6 and 1 apart.
    gains = gains_of([[0], [0]], [{0, 7}, {0}])
    earned, best = psp(gains, 1)
    assert earned.sum() / best.sum() == pytest.approx(3 / 10.5)
    assert macro_psp(gains, 1).mean() == pytest.approx((1 / 6 + 1) / 2)


def test_psp_as_printed_can_exceed_one() -> None:
    assert raw_psp(gains_of([[7, 0]], [{0, 7}]), 2).tolist() == [(9 + 1.5) / 2]


def test_a_label_never_seen_in_training_earns_most() -> None:
    reward = inverse_propensity(np.array([0, 1, 10, 1000]), 1000)
    assert (np.diff(reward) < 0).all()
    assert reward[-1] > 1


def test_propensity_of_too_few_training_documents_is_refused() -> None:
    with pytest.raises(InputError, match="2 training documents, expected at least 3"):
        inverse_propensity(np.array([1, 1]), 2)


def test_macro_f1_over_no_label_is_zero() -> None:
    table = Contingency.of(run_of([[0]]), Run.from_rows([[0]]), LABELS, 1)
    assert macro_f1(table, among=np.zeros(LABELS, np.bool_)) == 0


def test_ranks_that_were_not_looked_up_are_refused() -> None:
    with pytest.raises(ValueError, match="k is 7, with 6 ranks"):
        precision(hits_of([[0]], [{0}]), 7)


def test_labelled_finds_the_documents_that_can_be_scored() -> None:
    assert labelled(Run.from_rows([[], [4], []])).tolist() == [False, True, False]


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
