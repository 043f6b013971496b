"""How often each document of a corpus is decoded: a stand-in counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest

from tagwright.data import document_file
from tagwright.data.corpus import Corpus
from tagwright.data.document_file import from_line
from tagwright.data.gold import gold_of_texts
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation import dataset
from tagwright.papers import svm
from tagwright.readers.documents.jsonl import write_jsonl
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Label, Run

LABELS = Vocabulary([Label("bee", ("Bees",)), Label("ant", ("Ants",))])
DOCUMENTS = [Document(str(i), f"Bees {i}", "They fly. " * 9, labels=("bee",)) for i in range(50)]


class Decoded:
    """documents: how many were decoded."""

    def __init__(self) -> None:
        self.documents = 0

    def __call__(self, line: bytes) -> Document:
        self.documents += 1
        return from_line(line)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Decoded:
    counter = Decoded()
    monkeypatch.setattr(document_file, "from_line", counter)
    return counter


@pytest.fixture
def task(tmp_path: Path, decoded: Decoded) -> dataset.EvaluationSet:
    documents, labels = tmp_path / "docs.jsonl", tmp_path / "labels.jsonl"
    write_jsonl([*DOCUMENTS, Document(LABELS.ids[0], "Wasps")], documents)
    LABELS.write(labels)
    return dataset.evaluation_set(
        Corpus.read(documents), Vocabulary.read(labels), exclude_self=True, skip_unlabelled=True
    )


def test_what_is_to_be_scored_is_read_once(task: dataset.EvaluationSet, decoded: Decoded) -> None:
    assert (len(task.positions), task.lengths.tolist()) == (50, [20] * 50)
    assert decoded.documents == 51


def test_what_is_scored_is_read_in_batches(
    task: dataset.EvaluationSet, decoded: Decoded, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = list[int]()

    class Tagger:
        trainings = ()

        def check(self, options: SuggestOptions) -> None:
            assert options.k == dataset.DEPTH

        def best(self, documents: Sequence[Document], options: SuggestOptions) -> Run:
            batches.append(len(documents))
            return Run.from_rows([[0] for _ in documents]).top(options.k)

    monkeypatch.setattr(dataset, "BATCH", 20)
    before = decoded.documents
    assert len(dataset.tag(Tagger(), task)) == 50  # type: ignore[arg-type]
    assert (decoded.documents - before, batches) == (50, [20, 20, 10])


def test_gold_labels_and_texts_of_a_supervised_training_are_read_once(decoded: Decoded) -> None:
    corpus = Corpus.of(DOCUMENTS)
    gold = Mock(wraps=gold_of_texts)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr(svm, "gold_of_texts", gold)
        patch.setattr(svm, "text_features", Mock(side_effect=InterruptedError))
        svm.fit(corpus, LABELS)
    assert (gold.call_count, decoded.documents) == (1, 50)
