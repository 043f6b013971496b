"""Intervals: against the normal approximation and another implementation."""

import numpy as np
import pytest

from tagwright.evaluation.resampling import MacroF1, Ratios, bootstrap, estimates, sign_flips
from tagwright.evaluation.scores import label_scores
from tagwright.types import Doubles, Run


def ratios(part: Doubles, whole: Doubles) -> list[Ratios]:
    return [Ratios(("ratio",), part[:, None], whole[:, None])]


def test_interval_of_a_ratio_of_sums_agrees_with_drawing_documents_with_replacement() -> None:
    from scipy.stats import bootstrap as reference

    random = np.random.default_rng(5)
    whole = random.uniform(1, 9, 800)
    part = whole * random.uniform(0, 1, 800)
    low, high = reference(
        (part, whole), lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True, method="percentile", rng=random
    ).confidence_interval
    found = estimates(ratios(part, whole), 800, samples=4000, seed=0)["ratio"]
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.1 * (high - low))


@pytest.mark.parametrize("documents", [20, 33])
def test_intervals_of_few_documents_are_as_wide_as_those_of_students_t(documents: int) -> None:
    from scipy.stats import t

    values = np.random.default_rng(documents).normal(0.5, 0.05, documents)
    found = estimates(ratios(values, np.ones(documents)), documents, samples=20_000, seed=0)["ratio"]
    expected = t.interval(0.95, documents - 1, values.mean(), values.std(ddof=1) / np.sqrt(documents))
    assert found.high - found.low == pytest.approx(expected[1] - expected[0], rel=0.03)


@pytest.mark.parametrize("documents", [1, 2])
def test_an_interval_of_one_or_two_documents_holds_no_more_than_their_values(documents: int) -> None:
    values = np.linspace(0.2, 0.8, documents)
    found = estimates(ratios(values, np.ones(documents)), documents, samples=200, seed=0)["ratio"]
    assert 0.1 < found.low <= found.value <= found.high < 0.9


def test_a_measure_that_is_one_everywhere_is_exactly_one() -> None:
    found = estimates(ratios(np.full(999, 0.1), np.full(999, 0.1)), 999, samples=50, seed=0)["ratio"]
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_macro_f1_is_that_of_the_contingency_table_and_lies_in_its_interval_when_labels_are_rare() -> None:
    random = np.random.default_rng(2)
    gold = Run.from_rows([[document, 500 + document % 7] for document in range(300)])
    run = Run.from_rows(
        [[document if random.random() < 0.5 else 400, 500 + int(random.integers(7))] for document in range(300)]
    )
    rare = np.arange(600) < 500
    by_label = {each.label: each.f1 for each in label_scores(run, gold, k=2) if each.tp + each.fn}
    for among in (None, rare):
        found = estimates([MacroF1.of("F", run, gold, 2, among)], 300, samples=300, seed=0)["F"]
        counted = [value for label, value in by_label.items() if among is None or among[label]]
        assert found.value == pytest.approx(np.mean(counted))
        assert found.low < found.value < found.high


def test_weights_come_in_batches_that_add_up() -> None:
    documents = 400_000
    batches = list(bootstrap(documents, 5, seed=0))
    assert [batch.shape for batch in batches] == [(2, documents), (2, documents), (1, documents)]
    assert all((batch.sum(axis=1) == documents).all() for batch in batches)
    assert set(np.unique(np.concatenate(list(sign_flips(10, 7, seed=0))))) == {0, 1}
