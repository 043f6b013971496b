from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.nearest_documents import NearestDocuments
from tagwright.types import Label, Run

CORPUS = NearestDocuments(
    np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.0, 0.0]], np.float32),
    Run.from_rows([{0: 0.9, 1: 0.8}, {1: 0.7, 2: 0.6}, {3: 0.9}, {3: 0.9}]),
)


def test_support_is_the_mean_over_the_nearest_documents() -> None:
    # (0.8, 0.6) is near to the first two, away from the third; the fourth has no text
    found = CORPUS.support(np.array([[0.8, 0.6]], np.float32), Run.from_rows([[0, 1, 2, 3]]))
    assert found["reciprocal rank"].tolist() == pytest.approx([1 / 2, (1 / 2 + 1) / 2, 1 / 4, 0])
    assert found["share"].tolist() == [0.5, 1, 0.5, 0]


def test_a_document_is_not_asked_about_itself() -> None:
    found = CORPUS.support(np.array([[1.0, 0.0]], np.float32), Run.from_rows([[0, 1]]))
    assert found["reciprocal rank"].tolist() == [0, 1]  # only (0.6, 0.8) is left


def test_a_document_without_text_has_no_neighbours() -> None:
    found = CORPUS.support(np.zeros((1, 2), np.float32), Run.from_rows([[0, 3]]))
    assert found["share"].tolist() == [0, 0]


def test_only_the_ten_nearest_are_asked() -> None:
    angles = np.linspace(0.1, 1.2, 12)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    corpus = NearestDocuments(vectors, Run.from_rows([[number] for number in range(12)]))
    found = corpus.support(np.array([[1.0, 0.0]], np.float32), Run.from_rows([range(12)]))
    assert found["share"].tolist() == pytest.approx([0.1] * 10 + [0, 0])


def test_an_empty_corpus_supports_nothing() -> None:
    corpus = NearestDocuments(np.zeros((0, 2), np.float32), Run.from_rows([]))
    found = corpus.support(np.array([[1.0, 0.0]], np.float32), Run.from_rows([[0]]))
    assert found["share"].tolist() == [0]


def test_labels_that_are_gone_are_left_out() -> None:
    before = [Label(name, (name,)) for name in "abcd"]
    corpus = CORPUS.with_labels(before, [before[2], before[1]])
    assert [labels.tolist() for labels, _ in corpus.run] == [[1], [1, 0], [], []]
