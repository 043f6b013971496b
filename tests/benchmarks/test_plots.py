"""The pictures of the documentation: they are what the results give, stand on a page, and can be read."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from benchmarks import plots, svg

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = dict(plots.pictures())


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_what_the_results_give(name: str) -> None:
    kept = (plots.DOCS / name).read_text(encoding="utf-8")
    assert kept == PICTURES[name], "python -m benchmarks plots draws it anew"


def test_every_picture_stands_on_a_page_and_no_other_one_is_kept() -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in plots.DOCS.rglob("*.md")}
    shown = {
        (page.parent / name).resolve() for page, text in pages.items() for name in re.findall(r"[\w./-]+\.svg", text)
    }
    assert shown == {(plots.DOCS / name).resolve() for name in PICTURES}
    assert shown == {path.resolve() for path in plots.DOCS.rglob("*.svg")}


def test_what_is_as_right_as_confident_lies_on_the_diagonal() -> None:
    bins = [[10, 0.0, 0.0], [10, 0.5, 0.5], [10, 1.0, 0.75]]
    tree = ElementTree.fromstring(plots.reliability({"none": {"mdn": bins}, "all": {"tib": bins}}))
    first, second = (
        [each.split(",") for each in line.attrib["points"].split()] for line in tree.iter(f"{SVG}polyline")
    )
    left, bottom, side = plots.LEFT, plots.ABOVE + plots.SIDE, plots.SIDE
    places = [(left, bottom), (left + side / 2, bottom - side / 2), (left + side, bottom - 0.75 * side)]
    assert [(float(x), float(y)) for x, y in first] == places
    assert [float(x) - float(y[0]) for (x, _), y in zip(second, first, strict=True)] == [side + plots.GAP] * 3


def test_the_longest_wait_has_the_longest_bar_and_documents_are_of_a_hundred() -> None:
    found = {what: {"words": {"median": 2.0}} for what in plots.WAITS}
    found["documents"] = {"minilm": {"median": 25.0}}  # a second: 4 s for 100
    tree = ElementTree.fromstring(plots.seconds(found))
    widths = [float(each.attrib["width"]) for each in tree.iter(f"{SVG}rect")]
    assert widths == [max(widths) / 2] * 4 + [max(widths)]
    assert "4.00 MiniLM" in [each.text for each in tree.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", svg.COLOURS)
def test_colours_can_be_read_on_white_and_on_black(name: str) -> None:
    """WCAG 2.2 asks for a contrast of 4.5 of text; the dark paper is that of the pages."""
    for shade, paper in zip(svg.COLOURS[name], ("#ffffff", "#131416"), strict=True):
        light, dark = sorted((luminance(shade), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance of sRGB, as WCAG defines it.

    >>> luminance("#ffffff"), luminance("#000000")
    (1.0, 0.0)
    """
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
