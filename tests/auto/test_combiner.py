"""The choice of a combiner: folds that keep documents together, and the fixed sum where nothing is clearly better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tagwright.auto import ranker
from tagwright.auto.ranker import (
    CombinerOptions,
    Examples,
    assign_folds,
    cross_validate,
    fit_combiner,
    is_better,
    ndcg_at_5,
    train_ranker,
)
from tagwright.combining.candidate_features import Features, features
from tagwright.combining.ranking_trees import BoostingOptions
from tagwright.types import Run

OPTIONS = CombinerOptions(trees=BoostingOptions(trees=10, smallest=5))


def example_documents(documents: int = 40, *, told_by: str = "stage", seed: int = 0) -> Examples:
    """Documents with ten candidates, one of them right: the best by a stage, by the fixed sum, or by nothing."""
    rng = np.random.default_rng(seed)
    sums = Run.from_rows([dict(enumerate(row)) for row in rng.normal(size=(documents, 10)).tolist()])
    stage = rng.normal(size=10 * documents).astype(np.float32)
    noise = rng.normal(size=10 * documents).astype(np.float32)
    told = {"stage": stage, "fixed sum": sums.scores, "nothing": noise}[told_by]
    right = sums.labels.reshape(documents, 10)[np.arange(documents), told.reshape(documents, 10).argmax(axis=1)]
    described = features(sums, {"stage": (stage, None, False)}, {}, {}, {})
    return Examples(sums, described, Run.from_rows([[label] for label in right.tolist()]), 10)


def test_what_a_stage_knows_is_learned() -> None:
    found = fit_combiner(example_documents(), OPTIONS)
    assert found.ranker is not None
    assert found.gain > 0.2
    others = example_documents(seed=1)
    ranked = others.run.rescored(found.ranker.predict(others.features))
    assert ndcg_at_5(ranked, others.gold).mean() > 0.9 > ndcg_at_5(others.run, others.gold).mean() + 0.2


def test_the_fixed_sum_stays_where_what_is_learned_is_clearly_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = example_documents()
    best = examples.run.top(1)
    monkeypatch.setattr(ranker, "ndcg_at_5", lambda ranking, _: ndcg_at_5(ranking, best))  # as if the sum were right
    found = fit_combiner(examples, OPTIONS)
    assert found.ranker is None
    assert found.gain == 0


def test_folds_are_of_equal_size_and_every_document_is_in_one() -> None:
    assert sorted(np.bincount(assign_folds(13, 5)).tolist()) == [2, 2, 3, 3, 3]
    assert sorted(assign_folds(3, 5).tolist()) == [0, 1, 2]
    assert assign_folds(50, 5, seed=1).tolist() != assign_folds(50, 5, seed=2).tolist()


def test_no_document_is_scored_by_a_ranker_that_has_seen_its_labels() -> None:
    examples = example_documents(12)
    other = examples.run.labels.reshape(12, 10)[3, 4]
    gold = examples.gold.labels.copy()
    gold[3] = other
    changed = Examples(examples.run, examples.features, Run.from_rows([[label] for label in gold.tolist()]), 10)
    before, after = (cross_validate(each, OPTIONS) for each in (examples, changed))
    fold = assign_folds(12, OPTIONS.folds, OPTIONS.seed)
    together = np.repeat(fold == fold[3], 10)
    assert np.array_equal(before[together], after[together])
    assert not np.array_equal(before[~together], after[~together])


def test_trees_of_few_documents_count_less() -> None:
    """With as many documents as `half` the ranker is the mean of one with whole trees and one without."""
    examples = example_documents(40)
    none, half, whole = (
        train_ranker(examples, replace(OPTIONS, half=half)).predict(examples.features) for half in (1e12, 40.0, 1e-12)
    )
    assert half == pytest.approx((none + whole) / 2, abs=1e-6)
    assert np.abs(whole - none).max() > 0.1


def test_a_ranker_is_validated_as_it_will_rank() -> None:
    examples = example_documents(20)
    found = cross_validate(examples, replace(OPTIONS, folds=2))
    folds = assign_folds(20, 2, OPTIONS.seed)
    inside, outside = np.flatnonzero(folds == 0), np.flatnonzero(folds == 1)
    expected = train_ranker(examples.take(inside), OPTIONS).predict(examples.take(outside).features)
    assert found[examples.suggestions(outside)] == pytest.approx(expected, abs=1e-6)


def test_a_label_that_people_choose_whatever_the_stages_say_is_learned() -> None:
    examples = example_documents(60, told_by="nothing")
    always = Examples(examples.run, examples.features, Run.from_rows([[7]] * 60), 10)
    found = fit_combiner(always, OPTIONS)
    assert found.bias.argmax() == 7
    assert found.gain > 0.3


@pytest.mark.parametrize("found", [0, 1])
def test_documents_without_suggestions_teach_nothing(found: int) -> None:
    """Whatever fold the only document with suggestions is in, its ranker has seen none."""
    examples = example_documents(10)
    run = Run.from_rows([{3: 2.0, 5: 1.0} if row < found else {} for row in range(10)])
    described = features(run, {"stage": (run.scores, None, False)}, {}, {}, {})
    fitted = fit_combiner(Examples(run, described, examples.gold, 10), OPTIONS)
    assert fitted.ranker is None
    assert not fitted.bias.any()


def test_a_mean_difference_is_clear_by_its_standard_error() -> None:
    """A mean of 0.15 with an error of 0.029, and one of 0.225 with an error of 0.40."""
    none, steady, wild = np.zeros(4), np.array([0.2, 0.1, 0.2, 0.1]), np.array([0.9, -0.2, 0.9, -0.7])
    assert is_better(steady, none, 1.0)
    assert not is_better(none, steady, 1.0)
    assert not is_better(wild, none, 1.0)
    assert is_better(wild, none, 0.5)


def test_examples_are_taken_document_by_document() -> None:
    run = Run.from_rows([{0: 2.0, 1: 1.0}, {2: 1.0}, {1: 3.0}])
    table = Features(("a",), np.array([[1.0], [2.0], [3.0], [4.0]], np.float32))
    taken = Examples(run, table, Run.from_rows([[1], [0], [1]]), 3).take(np.array([2, 0]))
    assert taken.features.values[:, 0].tolist() == [4, 1, 2]
    assert taken.right.tolist() == [True, False, True]
