"""Tasks: documents with gold labels, runs aligned with them, recall ceilings."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.combining.test_thresholds import suggested
from tests.fixed import Fixed

from tagwright.api.evaluating import read_run
from tagwright.combining.confidence import Curve
from tagwright.combining.steps import find_last
from tagwright.combining.thresholds import Thresholds
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation import dataset
from tagwright.readers.run_files import write_run
from tagwright.tagger import Tagger, zero_shot
from tagwright.types import Document, Label, Run

LABELS = Vocabulary([Label("bee", ("Bees",)), Label("bank", ("Banks",)), Label("rain", ("Rain",))])
CORPUS = Corpus.of(
    [
        Document("1", "Bees in the rain", labels=("bee", "rain")),
        Document("2", "Nothing is known of this one"),
        Document("bank", "A bank", labels=("bank", "rain")),
    ]
)
RUN = Run.from_rows([{0: 3.0, 1: 2.0}, {2: 1.0}, {1: 2.0, 2: 1.0}])


@pytest.fixture
def task() -> dataset.EvaluationSet:
    return dataset.evaluation_set(CORPUS, LABELS, exclude_self=True, skip_unlabelled=True)


def rows(run: Run) -> list[list[int]]:
    return [labels.tolist() for labels, _ in run]


def test_a_task_holds_the_labelled_documents_and_no_document_as_its_own_label(task: dataset.EvaluationSet) -> None:
    assert (task.positions.tolist(), task.own.tolist(), rows(task.gold)) == ([0, 2], [-1, 1], [[0, 2], [2]])


def test_a_run_is_aligned_with_what_is_scored(task: dataset.EvaluationSet) -> None:
    assert rows(task.align(RUN)) == [[0, 1], [2]]


def test_a_run_file_is_aligned_with_what_is_scored(task: dataset.EvaluationSet, tmp_path: Path) -> None:
    write_run(RUN, CORPUS.ids, LABELS.ids, tmp_path / "run.jsonl")
    assert rows(read_run(tmp_path / "run.jsonl", task)) == [[0, 1], [2]]


def test_the_ceilings_of_a_tagger(task: dataset.EvaluationSet) -> None:
    """The text of the first document names both of its labels; that of the bank does not name rain: 2 of 3."""
    config = zero_shot.Config(stages=("exact_match",), language="english")
    stages, missed = dataset.ceilings(zero_shot.fit(LABELS, config), task)
    assert {name: stage["R"] for name, stage in stages.items()} == pytest.approx({"exact_match": 2 / 3, "union": 2 / 3})
    assert missed == {2: 1}


def test_documents_that_were_trained_on_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    train = Corpus.of([Document("other", "Bees", "in the  rain", labels=("bee",)), Document("2", "Another text")])
    dataset.evaluation_set(CORPUS, LABELS, train, skip_unlabelled=True)
    assert "1 of 3 documents are among those of training too, such as 1:" in caplog.text


TWO = Vocabulary(["A", "B"])
UNTUNED = Tagger(TWO, {"a": Fixed({0: 1.0})}, steps=(WeightedSum(), Curve(slope=1.0)))
EACH_HALF = suggested(*[{0: 0.9, 1: 0.2}, {0: 0.6, 1: 0.3}] * 50)
"For documents that have A and B in turn."


def with_gold(*gold: str) -> dataset.EvaluationSet:
    documents = [Document(str(number), f"text {number}", labels=(label,)) for number, label in enumerate(gold)]
    return dataset.evaluation_set(Corpus.of(documents), TWO)


def test_one_threshold_is_compared_with_one_for_each_label() -> None:
    """Of all, 0.3 is best: 100 of 150 are right, F1 200 / 250; A has 100 / 150 and B 1. With 0.9 for A all are right.

    Fifty documents make that (50 * log 9 + 20 * log(3 / 7)) / 70 = 1.3274 in log odds, which is 0.7904. Without a fifth
    at least 30 have A: (30 * log 9 + 20 * log(3 / 7)) / 50 = 0.9794, 0.727, is still above the wrong ones, 0.6.
    """
    tuned, compared = dataset.tune(UNTUNED, EACH_HALF, with_gold(*"AB" * 50), "f1")
    found = [compared[f"{name}@100"] for name in ("micro-F1", "macro-F1", "micro-P")]
    assert [each.a for each in found] == pytest.approx([0.8, 5 / 6, 2 / 3])
    assert [each.b for each in found] == [1.0, 1.0, 1.0]
    step = find_last(tuned.steps, Thresholds)
    assert step is not None
    assert step.values == pytest.approx([0.7904, 0.3, 0.3], abs=1e-4)


def test_tuned_again_a_tagger_has_the_last_thresholds_only() -> None:
    """B is always right from 0.3 on: (50 * log(3 / 7) + 20 * log 9) / 70 = 0.0226 in log odds, which is 0.5056."""
    task = with_gold(*"AB" * 50)
    tuned, _ = dataset.tune(dataset.tune(UNTUNED, EACH_HALF, task, "f1")[0], EACH_HALF, task, "precision=1.0")
    assert len(tuned.steps) == 3
    step = find_last(tuned.steps, Thresholds)
    assert step is not None
    assert step.values == pytest.approx([0.9, 0.5056, 0.9], abs=1e-4)


def test_a_label_that_the_other_documents_lack_counts_as_any_other() -> None:
    """B is gold once; without this document, its suggestion of 0.4 is below the common threshold, 0.9: missed."""
    run = suggested(*[{0: 0.9, 1: 0.1}] * 9, {0: 0.1, 1: 0.4})
    _, compared = dataset.tune(UNTUNED, run, with_gold(*"A" * 9, "B"), "f1")
    assert (compared["macro-F1@100"].a, compared["macro-F1@100"].b) == (0.5, 0.5)
