"""Tasks: documents with gold labels, runs aligned with them, recall ceilings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagwright.data.corpus import Corpus
from tagwright.data.run_files import write_run
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation import dataset
from tagwright.tagger import zero_shot
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
    assert rows(dataset.read_run(tmp_path / "run.jsonl", task)) == [[0, 1], [2]]


def test_the_ceilings_of_a_tagger(task: dataset.EvaluationSet) -> None:
    """The text of the first document names both of its labels; that of the bank does not name rain: 2 of 3."""
    config = zero_shot.Config(stages=("exact_match",), language="english")
    found = dataset.ceilings(zero_shot.fit(LABELS, config), task)
    assert {name: stage["R"] for name, stage in found.stages.items()} == pytest.approx(
        {"exact_match": 2 / 3, "union": 2 / 3}
    )
    assert (found.documents, found.missed) == (2, {2: 1})


def test_documents_that_were_trained_on_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    train = Corpus.of([Document("other", "Bees", "in the  rain", labels=("bee",)), Document("2", "Another text")])
    dataset.evaluation_set(CORPUS, LABELS, train, skip_unlabelled=True)
    assert "1 of 3 documents are among those of training too, such as 1:" in caplog.text
