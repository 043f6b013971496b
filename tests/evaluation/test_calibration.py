"""Confidences against what is right: by hand, against plain loops, and against identities of the literature."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from tagwright.evaluation.calibration import (
    Judged,
    _Areas,
    _brier,
    _CalibrationError,
    assess,
    reliability,
    risk_coverage,
    thresholds,
)
from tagwright.evaluation.resampling import Measures
from tagwright.types import Doubles, Mask, Run

PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0]), st.booleans()), min_size=1)


def arrays(pairs: list[tuple[float, bool]]) -> tuple[Doubles, Mask]:
    return np.array([sure for sure, _ in pairs]), np.array([right for _, right in pairs], np.bool_)


def measured(confidence: Doubles, right: Mask) -> dict[str, float]:
    """Brier score, calibration error, AURC and AUGRC of suggestions for a document each."""
    one = np.ones(len(right), np.int64)
    judged = Judged(one, np.arange(len(right)), one, confidence, right)
    measures: list[Measures] = [_brier("Brier", judged), _CalibrationError.of("ECE", judged), _Areas.of(judged)]
    weights = np.ones((1, len(right)))
    return {
        name: value
        for each in measures
        for name, value in zip(each.names, each.values(each.sums(weights))[0].tolist(), strict=True)
    }


def calibration_error(confidence: Doubles, right: Mask) -> float:
    bins = reliability(confidence, right)
    return sum(count * abs(mean - share) for count, mean, share in bins) / max(1, len(right))


@given(PAIRS, st.integers(1, 12))
def test_the_bins_of_a_diagram_are_those_of_a_plain_loop(pairs: list[tuple[float, bool]], bins: int) -> None:
    inside = defaultdict(list)
    for sure, right in pairs:
        below = sum(other < sure for other, _ in pairs)
        inside[below * bins // len(pairs)].append((sure, right))
    expected = sum(
        len(part) / len(pairs) * abs(sum(s for s, _ in part) / len(part) - sum(r for _, r in part) / len(part))
        for part in inside.values()
    )
    confidence, right_ = arrays(pairs)
    points = list(reliability(confidence, right_, bins))
    assert sum(count for count, *_ in points) == len(pairs)
    assert [count for count, *_ in points] == [len(inside[each]) for each in sorted(inside)]
    assert sum(count * abs(mean - share) for count, mean, share in points) == pytest.approx(expected * len(pairs))
    assert measured(confidence, right_)["ECE"] == pytest.approx(calibration_error(confidence, right_))


@given(PAIRS)
def test_brier_score_is_that_of_scikit_learn(pairs: list[tuple[float, bool]]) -> None:
    confidence, right = arrays(pairs)
    assert measured(confidence, right)["Brier"] == pytest.approx(brier_score_loss(right, confidence, pos_label=True))


@given(PAIRS)
def test_aurc_is_the_mean_risk_over_all_orders_of_equally_sure_suggestions(pairs: list[tuple[float, bool]]) -> None:
    """Within a group of b, after i of them, i / b of its wrong ones are expected to have been accepted."""
    confidence, right = arrays(pairs)
    risks, accepted, wrong = [], 0, 0.0
    for sure in sorted(set(confidence.tolist()), reverse=True):
        group = [r for s, r in pairs if s == sure]
        rate = group.count(False) / len(group)
        risks += [(wrong + i * rate) / (accepted + i) for i in range(1, len(group) + 1)]
        accepted, wrong = accepted + len(group), wrong + group.count(False)
    assert measured(confidence, right)["AURC"] == pytest.approx(sum(risks) / len(risks))


@given(PAIRS)
def test_augrc_is_what_auroc_and_accuracy_make_it(pairs: list[tuple[float, bool]]) -> None:
    """Traub et al. 2024, Eq. 7: (1 - AUROC) a (1 - a) + (1 - a)^2 / 2."""
    confidence, right = arrays(pairs)
    share = right.mean()
    ranked = roc_auc_score(right, confidence) if 0 < share < 1 else 0.5
    assert measured(confidence, right)["AUGRC"] == pytest.approx(
        (1 - ranked) * share * (1 - share) + (1 - share) ** 2 / 2
    )


@given(PAIRS)
def test_risk_and_coverage_are_those_of_each_threshold(pairs: list[tuple[float, bool]]) -> None:
    levels, *shares = risk_coverage(*arrays(pairs))
    assert levels.tolist() == sorted({sure for sure, _ in pairs}, reverse=True)
    for threshold, coverage, risk in zip(levels, *shares, strict=True):
        accepted = [right for sure, right in pairs if sure >= threshold]
        assert coverage == pytest.approx(len(accepted) / len(pairs))
        assert risk == pytest.approx(accepted.count(False) / len(accepted))


def test_suggestions_are_judged_by_the_gold_labels_of_their_document() -> None:
    run = Run.from_rows([{1: 0.9, 0: 0.8}, {1: 0.7}])
    judged = Judged.of(run, np.array([0.5, 0.25, 0.75]), Run.from_rows([[0], [1]]))
    assert judged.right.tolist() == [False, True, True]
    assert judged.top(1).confidence.tolist() == [0.5, 0.75]
    assert judged.top(1).documents == 2


def made_up(documents: int, seed: int, shift: float) -> Judged:
    """Suggestions that are right with the probability that is called `shift` too high."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.1, 0.8, documents * 12)
    ranks = np.tile(np.arange(1, 13), documents)
    return Judged(
        np.full(documents, 12),
        np.repeat(np.arange(documents), 12),
        ranks,
        chance + shift,
        rng.random(documents * 12) < chance,
    )


def test_measures_of_a_run_are_those_of_its_first_suggestions_and_lie_in_their_intervals() -> None:
    judged = made_up(300, 1, 0.15)
    found = assess(judged, samples=300)
    assert found is not None
    five, ten = judged.top(5), judged.top(10)
    expected = {
        "ECE@5": calibration_error(five.confidence, five.right),
        "ECE@10": calibration_error(ten.confidence, ten.right),
        "Brier@5": measured(five.confidence, five.right)["Brier"],
        "AURC": measured(ten.confidence, ten.right)["AURC"],
        "AUGRC": measured(ten.confidence, ten.right)["AUGRC"],
    }
    assert {name: score.value for name, score in found.measures.items()} == pytest.approx(expected)
    assert all(score.low < score.value < score.high for score in found.measures.values())
    assert found.measures["ECE@5"].low > 0.1  # 0.15 too sure, with 1,500 suggestions: 0.013 is the standard error


def test_nothing_is_said_of_no_suggestions() -> None:
    empty = Run.from_rows([[], []])
    assert assess(Judged.of(empty, np.zeros(0), Run.from_rows([[0], [1]]))) is None
    nothing, none = np.zeros(0), np.zeros(0, np.bool_)
    assert measured(nothing, none) == {"Brier": 0, "ECE": 0, "AURC": 0, "AUGRC": 0}
    assert not any(map(len, risk_coverage(nothing, none)))


def test_thresholds_are_those_of_all_suggestions_and_of_the_first_ten() -> None:
    """Nine documents with two gold labels each. The first suggestion is right, the eleventh too, the others wrong.

    Confidences fall with the rank and are the same in all documents: 0.99, 0.98, ... Accepting the first of each misses
    half of all: (4.5 + 1) / 10 = 0.55. Accepting eleven misses nothing: (0 + 1) / 10 = 0.1. Accepting two makes one
    wrong label each: (0.9 + 1) / 10 = 0.19, a bound of 1.9; the first alone (0 + 1) / 10 = 0.1, a bound of 1.
    """
    run = Run.from_rows([dict.fromkeys(range(11), 1.0)] * 9)
    confidence = np.tile(0.99 - 0.01 * np.arange(11), 9)
    found = {
        (each.rule, each.bound): each for each in thresholds(Judged.of(run, confidence, Run.from_rows([[0, 10]] * 9)))
    }
    assert found["missed", 0.5].confidence == pytest.approx(0.89)
    assert found["missed", 0.1].confidence == pytest.approx(0.89)
    assert (found["missed", 0.1].accepted, found["missed", 0.1].first) == (11, 11)
    assert found["wrong", 0.5].confidence is None
    assert found["wrong", 0.5].accepted == 0
    assert found["wrong", 1.0].confidence == pytest.approx(0.99)
    assert found["wrong", 2.0].confidence == pytest.approx(0.98)
    assert (found["wrong", 2.0].accepted, found["wrong", 2.0].first) == (2, 10)
