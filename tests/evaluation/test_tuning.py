"""What thresholds of labels gain, measured on documents that they were not found on."""

from __future__ import annotations

import pytest
from tests.combining.test_thresholds import suggested
from tests.fixed import Fixed

from tagwright.combining.confidence import Curve
from tagwright.combining.steps import find_last
from tagwright.combining.thresholds import Thresholds
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.tuning import tune
from tagwright.tagger import Tagger
from tagwright.types import Run

RUN = suggested(*[{0: 0.9, 1: 0.2}, {0: 0.6, 1: 0.3}] * 10)
GOLD = Run.from_rows([[0], [1]] * 10)
TAGGER = Tagger(Vocabulary(["A", "B"]), {"a": Fixed({0: 1.0})}, steps=(WeightedSum(), Curve(slope=1.0)))


def test_one_threshold_is_compared_with_one_for_each_label() -> None:
    """Of all, 0.3 is best: 20 of 30 are right, F1 40 / 50; A has 20 / 30 and B 1. With 0.9 for A all are right.

    Ten documents make that (10 * 0.9 + 5 * 0.3) / 15 = 0.7; six, of those without a fifth, 0.63, still above 0.6.
    """
    tuned, compared = tune(TAGGER, RUN, GOLD, "f1")
    found = [compared[f"{name}@100"] for name in ("micro-F1", "macro-F1", "micro-P")]
    assert [each.a for each in found] == pytest.approx([0.8, 5 / 6, 2 / 3])
    assert [each.b for each in found] == [1.0, 1.0, 1.0]
    step = find_last(tuned.steps, Thresholds)
    assert step is not None
    assert step.values == pytest.approx([0.7, 0.3])


def test_tuned_again_a_tagger_has_the_last_thresholds_only() -> None:
    tuned, _ = tune(tune(TAGGER, RUN, GOLD, "f1")[0], RUN, GOLD, "precision=1.0")
    assert len(tuned.steps) == 3
    found = find_last(tuned.steps, Thresholds)
    assert found is not None
    assert found.values == pytest.approx([0.9, 0.5])  # B is always right from 0.3 on: (10 * 0.3 + 5 * 0.9) / 15


def test_a_label_that_the_other_documents_lack_counts_as_any_other() -> None:
    """Label 1 is gold once; without this document, its suggestion of 0.4 is below the common threshold, 0.9: missed."""
    run = suggested(*[{0: 0.9, 1: 0.1}] * 9, {0: 0.1, 1: 0.4})
    _, compared = tune(TAGGER, run, Run.from_rows([*[[0]] * 9, [1]]), "f1")
    assert (compared["macro-F1@100"].a, compared["macro-F1@100"].b) == (0.5, 0.5)
