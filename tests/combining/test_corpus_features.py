"""What an unlabelled corpus and the vocabulary tell of labels: names, counts, similar documents."""

from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.candidate_features import CandidateFeatures
from tagwright.combining.corpus_features import NearestDocuments, count_labels, label_properties
from tagwright.types import Label, Run

ANIMALS, BEES, HONEY = (
    Label("a", ("Animals",)),
    Label("b", ("Honey bees", "Apis"), "They fly.", ("a",)),
    Label("c", ("Honey",)),
)

CORPUS = NearestDocuments(
    np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.0, 0.0]], np.float32),
    Run.from_rows([{0: 0.9, 1: 0.8}, {1: 0.7, 2: 0.6}, {3: 0.9}, {3: 0.9}]),
)


def test_labels_are_described_by_names_and_place_in_the_hierarchy() -> None:
    found = label_properties([ANIMALS, BEES, HONEY])
    assert found["words"].tolist() == [1, 2, 1]
    assert found["characters"].tolist() == pytest.approx(np.log([8, 11, 6]))  # 1 + 7, 10, 5 characters
    assert found["names"].tolist() == pytest.approx(np.log([2, 3, 2]))
    assert found["description"].tolist() == pytest.approx(np.log([1, 10, 1]))
    assert found["depth"].tolist() == [0, 1, 0]
    assert found["narrower"].tolist() == pytest.approx([np.log(2), 0, 0])


def test_depth_is_the_shortest_way_up_and_ends_in_a_circle() -> None:
    broader = {"top": (), "one": ("top",), "two": ("one", "top"), "three": ("two", "elsewhere"), "x": ("y",)}
    labels = [Label(name, (name,), broader=above) for name, above in {**broader, "y": ("x",)}.items()]
    assert label_properties(labels)["depth"].tolist() == [0, 1, 1, 2, 0, 0]


def test_documents_are_counted_among_the_first_ten_and_anywhere() -> None:
    everything = Run.from_rows([dict.fromkeys(range(12), 1.0), {11: 1.0}])  # labels 10 and 11 are 11th and 12th
    counts = count_labels(everything, {"names": everything}, 13)
    assert counts["first ten"].tolist() == [1] * 10 + [0, 1, 0]
    assert counts["first ten of names"].tolist() == [1] * 10 + [0, 1, 0]
    assert counts["found by names"].tolist() == [1] * 11 + [2, 0]


def test_counts_follow_the_labels() -> None:
    before = [ANIMALS, BEES, HONEY]
    described = CandidateFeatures(before, counts={"first ten": np.array([5, 6, 7])})
    other = described.with_labels(before, [HONEY, Label("new", ("New",)), ANIMALS])
    assert other.label_features["first ten"].tolist() == pytest.approx(np.log([8, 1, 6]))


@pytest.mark.parametrize(
    ("vector", "ranks", "share"),
    [
        ((0.8, 0.6), [1 / 2, (1 / 2 + 1) / 2, 1 / 4, 0], [0.5, 1, 0.5, 0]),  # the first two are near
        ((1.0, 0.0), [0, 1, 1 / 2, 0], [0, 1, 1, 0]),  # the first is the same text: only (0.6, 0.8) is left
        ((0.0, 0.0), [0, 0, 0, 0], [0, 0, 0, 0]),  # a document without text has no neighbours
    ],
)
def test_support_is_the_mean_over_the_nearest_documents(
    vector: tuple[float, float], ranks: list[float], share: list[float]
) -> None:
    found = CORPUS.support(np.array([vector], np.float32), Run.from_rows([[0, 1, 2, 3]]))
    assert found["reciprocal rank"].tolist() == pytest.approx(ranks)
    assert found["share"].tolist() == share


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
