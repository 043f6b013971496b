"""Quality by frequency: the bins, against macro-F1 itself, and the drawing."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.evaluation.frequency import Bin, by_frequency
from tagwright.evaluation.metrics import Contingency, macro_f1
from tagwright.evaluation.report.page import Details, scores_page
from tagwright.evaluation.report.plots import rank_plot
from tagwright.evaluation.resampling import Score
from tagwright.evaluation.scores import Scores
from tagwright.types import Run

rows = st.lists(st.sets(st.integers(0, 12), max_size=6), min_size=4, max_size=4)


def test_labels_stand_from_rare_to_frequent_and_those_that_are_never_gold_are_not_counted() -> None:
    train = Run.from_rows([{0, 1, 3}, {0, 1}, {0}])
    gold = Run.from_rows([{0, 1}, {2}])
    run = Run.from_rows([{0: 0.9, 3: 0.8}, {2: 0.7, 1: 0.6}])
    # 2 occurs never, 1 twice, 0 three times; 3 is gold nowhere. Label 2 is found, 1 is missed, 0 is found.
    assert by_frequency(run, gold, train, k=1, size=1) == [Bin(0, 1, 0, 1.0), Bin(1, 2, 2, 0.0), Bin(2, 3, 3, 1.0)]
    assert by_frequency(run, gold, train, k=1, size=2) == [Bin(0, 3, 3, 2 / 3)]


def test_without_gold_labels_there_are_no_bins() -> None:
    assert by_frequency(Run.from_rows([[1]]), Run.from_rows([[]]), Run.from_rows([[1]])) == []


@given(rows, rows, rows, st.integers(1, 5), st.integers(1, 20))
def test_the_bins_together_are_macro_f1(
    run: list[set[int]], gold: list[set[int]], train: list[set[int]], k: int, size: int
) -> None:
    runs = [Run.from_rows(part) for part in (run, gold, train)]
    bins = by_frequency(*runs, k=k, size=size)
    total = sum((each.last - each.first) * each.macro_f1 for each in bins)
    labels = bins[-1].last if bins else 0
    assert total == pytest.approx(labels * macro_f1(Contingency.of(runs[0], runs[1], 13, k)))
    assert labels == len(np.unique(runs[1].labels))
    assert all(each.last - each.first >= min(size, labels) for each in bins)


def test_a_curve_is_drawn_from_left_to_right_and_its_best_bin_touches_the_top() -> None:
    plot = rank_plot({"<svm>": [Bin(0, 100, 1, 0.1), Bin(100, 200, 9, 0.4)], "depl": [Bin(0, 200, 9, 0.2)]})
    lines = ElementTree.fromstring(re.findall(r"<svg.*</svg>", plot, re.DOTALL)[0]).findall("g/polyline")
    first, second = ([tuple(map(float, point.split(","))) for point in line.attrib["points"].split()] for line in lines)
    assert [x for x, _ in first] == pytest.approx([50 + 520 / 4, 50 + 520 * 3 / 4])
    assert [y for _, y in first] == pytest.approx([195.0, 0.0])
    assert second == [(310.0, 130.0)]
    assert "<svm>" not in plot


def test_a_page_has_the_curves_it_is_given() -> None:
    half = Score(0.5, 0.25, 0.75)
    scores = Scores(3, {"P@1": half})
    assert "rank of label frequency" not in scores_page("t", scores, Details({}))
    assert "rank of label frequency" in scores_page("t", scores, Details({}, curves={"run": [Bin(0, 9, 1, 0.5)]}))
