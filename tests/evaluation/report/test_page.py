"""The page of a report: what it shows, and that it is safe and whole."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.evaluation.test_tables import COMPARISON, HALF, SCORES

from tagwright.evaluation.calibration import Calibration, Threshold
from tagwright.evaluation.report.page import (
    SLICES,
    comparison_page,
    example,
    examples_section,
    missed_section,
    scores_page,
)
from tagwright.evaluation.report.plots import reliability_plot, risk_coverage_plot
from tagwright.evaluation.scores import (
    SENTENCES,
    STANDARD,
    WITH_HIERARCHY,
    WITH_TRAIN,
    LabelScore,
    Scores,
    label_groups,
    length_groups,
    split_measure,
)
from tagwright.evaluation.significance import Comparisons

EVIL = '<script>alert("x")</script>'
NOTES = {EVIL: EVIL}
CONFIDENT = Calibration(
    {"ECE@5": HALF, "AURC": HALF},
    ((20, 0.25, 0.5),),
    (np.array([0.9, 0.1]), np.array([0.5, 1.0]), np.array([0.0, 0.25])),
    (Threshold("missed", 0.3, 100, 0.25, 4.0),),
)


class Tags(HTMLParser):
    """Reads a page, and fails on tags that do not match; keeps names, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.names: set[str] = set()
        self.text = ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "page",
    [
        scores_page(SCORES, NOTES),
        scores_page(Scores(1, {"P@1": HALF}, calibration=CONFIDENT), NOTES),
        comparison_page(Comparisons(1, (replace(COMPARISON, a=EVIL),)), NOTES),
        scores_page(Scores(1, {"P@1": HALF}, {EVIL: Scores(1, {"P@1": HALF})}), NOTES),
        scores_page(
            SCORES,
            {},
            examples_section([example(EVIL, [(EVIL, True, [EVIL])], [EVIL])]),
            missed_section([(EVIL, LabelScore(0, None, 0, 0, 1, 0.0, 0.0, 0.0))]),
        ),
    ],
)
def test_a_page_runs_nothing_loads_nothing_and_its_tags_match(page: str) -> None:
    tags = Tags(page)
    assert EVIL in tags.text
    assert not tags.names & {"script", "link", "img", "iframe", "object"}
    assert not tags.attributes & {"src", "href", "onload", "onclick", "style"}
    assert "url(" not in page
    assert "@import" not in page
    assert "://" not in page


def test_an_interval_spans_its_axis() -> None:
    """The axis runs from 0 to the greatest end, 0.75, over 1,000 units."""
    page = scores_page(SCORES, {})
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    paths = [path.attrib["d"] for path in drawn[0].findall("path")]
    assert paths == ["M0.0 0V14", "M333.3 7H1000.0", "M666.7 1V13"]


def test_examples_say_what_is_right_and_wrong_and_why() -> None:
    shown = example("Bees", [("Apiculture", True, ["bees"]), ("Banks", False, [])], ["Orchards"])
    text = Tags(scores_page(SCORES, {}, examples_section([shown]))).text
    assert re.search(r"Bees\s*✓ Apiculture \(bees\)\s*✗ Banks\s*Missed: Orchards", text)


def test_every_measure_and_slice_is_explained() -> None:
    confident = ("ECE@5", "ECE@10", "Brier@5", "AURC", "AUGRC")
    assert {split_measure(name)[0] for name in (*STANDARD, *WITH_TRAIN, *WITH_HIERARCHY, *confident)} <= set(SENTENCES)
    groups = {**label_groups(np.arange(3)), **length_groups(np.arange(3))}
    assert set(groups) == set(SLICES)


def test_a_bin_of_the_reliability_diagram_lies_at_its_confidence_and_share() -> None:
    """Both axes are 260 units long; they begin 50 from the left, and up is less: 50 + 260 / 4, 260 - 260 / 2."""
    drawn = ElementTree.fromstring(re.findall(r"<svg.*?</svg>", reliability_plot(CONFIDENT.reliability), re.DOTALL)[0])
    assert [(dot.attrib["cx"], dot.attrib["cy"]) for dot in drawn.findall("circle")] == [("115.0", "130.0")]
    assert drawn.findtext("circle/title") == "20 suggestions: confidence 25.0, right 50.0"


def test_the_risk_coverage_curve_goes_through_its_points_and_keeps_its_last_when_it_is_thinned() -> None:
    assert 'points="180.0,260.0 310.0,195.0"' in risk_coverage_plot(*CONFIDENT.risk_coverage[1:])
    share = np.arange(1, 1001) / 1000
    points = re.findall(r'points="(.*?)"', risk_coverage_plot(share, share))[0].split()
    assert len(points) <= 201
    assert points[-1] == "310.0,0.0"


def test_a_page_shows_confidences_only_where_there_are_any() -> None:
    title = "How far the confidences can be trusted"
    text = Tags(scores_page(Scores(1, {"P@1": HALF}, calibration=CONFIDENT), {})).text
    assert title in text
    assert "Calibration error" in text
    assert "30% of labels missed" in text
    assert title not in scores_page(SCORES, {})


def test_the_json_form_holds_the_measures_of_confidences_where_there_are_any() -> None:
    plain = {"value": HALF.value, "low": HALF.low, "high": HALF.high}
    found = Scores(1, {"P@1": HALF}, calibration=CONFIDENT).to_json()
    assert found["calibration"] == {"ECE@5": plain, "AURC": plain}
    assert found["thresholds"] == [{"rule": "missed", "bound": 0.3, "first": 100, "confidence": 0.25, "accepted": 4.0}]
    assert "calibration" not in Scores(1, {"P@1": HALF}).to_json()
