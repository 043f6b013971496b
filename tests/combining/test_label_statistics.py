from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.label_statistics import LabelCounts, count_labels, label_properties
from tagwright.types import Label, Run

ANIMALS, BEES, HONEY = (
    Label("a", ("Animals",)),
    Label("b", ("Honey bees", "Apis"), "They fly.", ("a",)),
    Label("c", ("Honey",)),
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
    labels = [
        Label("top", ("top",)),
        Label("one", ("one",), broader=("top",)),
        Label("two", ("two",), broader=("one", "top")),
        Label("three", ("three",), broader=("two", "elsewhere")),
        Label("x", ("x",), broader=("y",)),
        Label("y", ("y",), broader=("x",)),
    ]
    assert label_properties(labels)["depth"].tolist() == [0, 1, 1, 2, 0, 0]


def test_documents_are_counted_among_the_first_ten_and_anywhere() -> None:
    everything = Run.from_rows([dict.fromkeys(range(12), 1.0), {11: 1.0}])  # labels 10 and 11 are 11th and 12th
    counts = count_labels(everything, {"names": everything}, 13).counts
    assert counts["first ten"].tolist() == [1] * 10 + [0, 1, 0]
    assert counts["first ten of names"].tolist() == [1] * 10 + [0, 1, 0]
    assert counts["found by names"].tolist() == [1] * 11 + [2, 0]


def test_counts_follow_the_labels() -> None:
    counts = LabelCounts(9, {"first ten": np.array([5, 6, 7])})
    other = counts.with_labels([ANIMALS, BEES, HONEY], [HONEY, Label("new", ("New",)), ANIMALS])
    assert other.counts["first ten"].tolist() == [7, 0, 5]
    assert other.features()["first ten"].tolist() == pytest.approx(np.log([8, 1, 6]))
