"""The drawing of nDCG@5 over labelled documents."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.curve_plot import ABOVE, HEIGHT, LEFT, STEP, drawing

SVG = "{http://www.w3.org/2000/svg}"


def places(line: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (each.split(",") for each in line.attrib["points"].split())]


def test_every_size_has_a_step_and_the_best_value_is_at_the_top() -> None:
    found = {"svm": {"50": 0.2, "all": 0.4}, "zero_shot": {"0": 0.1}}
    tree = ElementTree.fromstring(drawing("mdn", found))
    svm, untrained = (places(each) for each in tree.iter(f"{SVG}polyline"))
    # sizes in order are 0, 50, all; 0.4 is the most, 0.2 half of it, 0.1 a quarter
    assert svm == [(LEFT + STEP, ABOVE + HEIGHT / 2), (LEFT + 2 * STEP, ABOVE)]
    assert untrained == [(LEFT + STEP * step, ABOVE + 0.75 * HEIGHT) for step in range(3)]
    texts = [each.text for each in tree.iter(f"{SVG}text")]
    assert texts == ["mdn: nDCG@5, %, over labelled documents", "40", "0", "0", "50", "all", "svm", "zero_shot"]
