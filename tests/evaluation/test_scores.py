"""Whole evaluations: which measures, which slices, what is refused."""

import copy
import pickle
from collections.abc import Mapping

import numpy as np
import pytest

from tagwright.errors import ConfigError, InputError
from tagwright.evaluation.metrics import ancestors
from tagwright.evaluation.resampling import Score
from tagwright.evaluation.scores import STANDARD, WITH_HIERARCHY, Scores, evaluate, label_scores
from tagwright.types import Run

GOLD = Run.from_rows([[0, 1], [2], [1, 3]])
RUN = Run.from_rows([{0: 3.0, 2: 2.0, 1: 1.0}, {0: 2.0, 2: 1.0}, {}])
# 0 is a head label (12 of 24 documents' labels), 1 torso (10), 2 tail (2), 3 unseen.
TRAIN = Run.from_rows([*[[0]] * 12, *[[1]] * 10, *[[2]] * 2])


def values(scores: Scores) -> dict[str, float]:
    return {name: estimate.value for name, estimate in scores.measures.items()}


def test_standard_measures_of_a_small_run() -> None:
    found = values(evaluate(RUN, GOLD, labels=12, samples=10))
    assert [*found] == [*STANDARD, "coverage@10"]
    assert found["coverage@10"] == 0.25
    assert found["P@1"] == pytest.approx(1 / 3)
    assert found["P@3"] == pytest.approx((2 / 3 + 1 / 3) / 3)
    assert found["R@10"] == pytest.approx((1 + 1 + 0) / 3)
    # 2 of 3 suggestions and of 2 gold labels are right, then 1 of 2 and of 1, then nothing is suggested.
    assert found["F1@5"] == pytest.approx((4 / 5 + 2 / 3 + 0) / 3)
    # Label 0: tp 1, fp 1. Label 1: tp 1, fn 1. Label 2: tp 1, fp 1. Label 3: fn 1.
    assert found["macro-F1@5"] == pytest.approx((2 / 3 + 2 / 3 + 2 / 3 + 0) / 4)
    assert found["answered"] == pytest.approx(2 / 3)


def test_micro_measures_are_ratios_of_sums_over_documents() -> None:
    """Of the first three, 3 of 5 suggestions are right, of 5 gold labels; of the first one, 1 of 2."""
    found = values(evaluate(RUN, GOLD, measures=["micro-F1@3", "micro-P@3", "micro-F1@1", "micro-P@1"], samples=10))
    assert [*found.values()] == pytest.approx([6 / 10, 3 / 5, 2 / 7, 1 / 2])


def test_a_label_slice_keeps_its_labels_only_in_gold_and_suggestions() -> None:
    slices = evaluate(RUN, GOLD, train=TRAIN, samples=10).slices
    assert {name: part.documents for name, part in slices.items()} == {
        "head": 1,  # the first document
        "torso": 2,  # the first and the third
        "tail": 1,  # the second, where label 2 comes first once label 0 is left out
        "seen": 3,
        "unseen": 1,
    }
    first = {name: part.measures["P@1"].value for name, part in slices.items()}
    assert first == {"head": 1.0, "torso": 0.5, "tail": 1.0, "seen": pytest.approx(1 / 3), "unseen": 0.0}


def test_length_slices_hold_the_terciles() -> None:
    slices = evaluate(RUN, GOLD, lengths=np.array([10, 2000, 300]), samples=10).slices
    assert {name: part.measures["P@1"].value for name, part in slices.items()} == {
        "short": 1.0,
        "medium": 0.0,
        "long": 0.0,
    }


def test_the_same_seed_gives_the_same_intervals() -> None:
    first, again, other = (evaluate(RUN, GOLD, samples=50, seed=seed) for seed in (1, 1, 2))
    assert first.rows() == again.rows()
    assert first.rows() != other.rows()


def test_a_document_without_gold_labels_is_named() -> None:
    with pytest.raises(InputError, match=r"document 1 \(from 0\) has no gold labels"):
        evaluate(Run.from_rows([[0], [1]]), Run.from_rows([[0], []]))


@pytest.mark.parametrize("name", ["NDCG@7", "P@0", "P", "anwsered"])
def test_an_unknown_measure_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match=f'no measure "{name}"; there are P@k, R@k'):
        evaluate(RUN, GOLD, measures=[name])


def test_a_measure_that_needs_training_labels_says_so() -> None:
    with pytest.raises(ConfigError, match="PSP@5 needs to know how frequent labels are"):
        evaluate(RUN, GOLD, measures=["PSP@5"])


def test_per_label_lists_what_is_gold_or_suggested() -> None:
    rows = label_scores(RUN, GOLD, train=TRAIN, k=1)
    assert [(row.label, row.train, row.tp, row.fp, row.fn) for row in rows] == [
        (0, 12, 1, 1, 0),
        (1, 10, 0, 0, 2),
        (2, 2, 0, 0, 1),
        (3, 0, 0, 0, 1),
    ]
    assert (rows[0].precision, rows[0].recall, rows[0].f1) == pytest.approx((0.5, 1, 2 / 3))
    assert label_scores(Run.from_rows([[5]]), Run.from_rows([[7]]))[0] == (5, None, 0, 1, 0, 0.0, 0.0, 0.0)


def test_a_run_with_confidences_is_scored_by_them_too() -> None:
    """Two suggestions of 0.5, one of them right, in one bin: no error, and (1/4 + 1/4) / 2 squared distance."""
    run = Run.of(np.array([0, 1, 2]), np.array([0, 0]), np.array([2.0, 1.0]), np.array([0.5, 0.5]))
    found = evaluate(run, Run.from_rows([[0], [1]]), samples=10)
    assert (found["ECE@5"].value, found["Brier@5"].value) == (0.0, 0.25)
    without = evaluate(Run(run.indptr, run.labels, run.scores), Run.from_rows([[0], [1]]), samples=10)
    assert without.calibration is None
    with pytest.raises(ConfigError, match='no measure "ECE@5" was computed'):
        without["ECE@5"]


def test_scores_are_a_mapping_of_numbers_with_intervals() -> None:
    found = evaluate(RUN, GOLD, samples=50)
    assert isinstance(found, Mapping)
    assert dict(found) == {name: found[name].value for name in found.measures}
    assert "P@1" in found
    assert "P@7" not in found
    assert found.get("P@7") is None
    assert len(found) == len(list(found)) == len(found.rows())
    assert found["P@1"].low <= found["P@1"] <= found["P@1"].high
    assert found.rows()[0] == {"measure": "P@1", **found["P@1"].to_json()}
    assert repr(found).startswith("Scores of 3 documents: P@1 33.3, P@3")
    assert "\n" not in repr(found)
    lines = str(found).splitlines()
    assert lines[0] == "3 documents"
    assert lines[1].split() == ["%", "value", "95%", "interval"]
    assert len(lines) == 2 + len(found)


def test_scores_are_tables_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    found = evaluate(RUN, GOLD, samples=50)
    frame = pandas.DataFrame(found.rows()).set_index("measure")
    assert list(frame.columns) == ["value", "low", "high"]
    assert frame.loc["P@1", "high"] == found["P@1"].high
    assert pandas.Series(found)["P@1"] == found["P@1"]
    assert pandas.DataFrame([found, found])["P@1"].tolist() == [found["P@1"].value] * 2


def test_a_score_keeps_its_interval_when_it_is_copied() -> None:
    score = Score(0.5, 0.25, 0.75)
    for other in (copy.deepcopy(score), pickle.loads(pickle.dumps(score))):
        assert (other, other.low, other.high) == (0.5, 0.25, 0.75)
    assert score == 0.5
    assert {score: 1}[score] == 1
    assert f"{score:.1f}" == "0.5"


@pytest.mark.parametrize(("documents", "warned"), [(9, True), (10, False)])
def test_few_documents_are_warned_of(documents: int, warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    run = Run.from_rows([[0]] * documents)
    evaluate(run, run, samples=10)
    assert (caplog.messages == ["9 documents: too few for the intervals to say much; score 10 or more"]) == warned


ABOVE = ancestors(Run.from_rows([[], [0], [1], [0]]))
"Animals 0; birds 1 and, below them, robins 2; fish 3."


def test_hierarchical_measures_are_ratios_of_sums_over_documents() -> None:
    """Robins for birds: {0, 1, 2}, {0, 1}, 2 shared. Fish for birds: {0, 3}, {0, 1}, 1 shared. 3 of 5, and 3 of 4."""
    run, gold = Run.from_rows([[2], [3]]), Run.from_rows([[1], [1]])
    found = evaluate(run, gold, above=ABOVE, measures=["hP@1", "hR@1", "hF@1", "P@1"], samples=10)
    assert dict(found) == pytest.approx({"hP@1": 3 / 5, "hR@1": 3 / 4, "hF@1": 6 / 9, "P@1": 0})


def test_hierarchical_measures_are_standard_where_labels_have_broader_ones() -> None:
    assert set(WITH_HIERARCHY) <= set(evaluate(RUN, GOLD, above=ABOVE, samples=10))
    assert not set(WITH_HIERARCHY) & set(evaluate(RUN, GOLD, samples=10))
    found = evaluate(RUN, GOLD, above=ABOVE, train=TRAIN, samples=10)
    assert not any(set(WITH_HIERARCHY) & set(part) for part in found.slices.values())
    with pytest.raises(ConfigError, match="hF@5 needs a vocabulary whose labels have broader ones"):
        evaluate(RUN, GOLD, measures=["hF@5"])


def test_no_documents_cannot_be_scored() -> None:
    with pytest.raises(InputError, match="no documents to score"):
        evaluate(Run.from_rows([]), Run.from_rows([]))


def test_a_run_over_other_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="a run over 2 documents, with gold labels for 1"):
        evaluate(Run.from_rows([[0], [1]]), Run.from_rows([[0]]))
