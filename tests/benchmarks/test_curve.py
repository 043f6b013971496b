"""The benchmarks of labelled documents: what their rows say, their drawing, and two states of `train auto` compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks import corpora, curve, figures, quality_tables
from benchmarks.auto_draws import Clusters, compared_means, main
from benchmarks.curve import MEASURES
from benchmarks.curve_methods import Task
from benchmarks.curve_plot import ABOVE, HEIGHT, LEFT, STEP, drawing

from tagwright.types import Document


def draw(zero_shot: float, auto: float, p: float) -> dict[str, Any]:
    values = {"zero_shot": dict.fromkeys(MEASURES, zero_shot), "auto": dict.fromkeys(MEASURES, auto)}
    return {**values, "p": p, "learned": 0.5, "seconds": 1.0, "processor seconds": 1.0}


def test_significant_differences_are_counted_in_both_directions() -> None:
    row = curve.summary([draw(0.4, 0.5, 0.01), draw(0.4, 0.5, 0.2), draw(0.4, 0.3, 0.04), draw(0.4, 0.6, 0.0)])
    assert (row["above"], row["below"], row["draws"]) == (2, 1, 4)
    assert row["auto"]["nDCG@5"] == pytest.approx(0.475)  # (0.5 + 0.5 + 0.3 + 0.6) / 4
    assert json.loads(json.dumps(row)) == row


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
    title = "mdn: nDCG@5, %, over labelled documents"
    assert texts == [title, "0", "10", "20", "30", "40", "0", "50", "all", "svm", "zero_shot"]
    assert tree.findtext(f"{SVG}title") == title


def kept(folder: Path, name: str, scores: list[float]) -> None:
    folder.mkdir(exist_ok=True)
    row = {"nDCG@5": float(np.mean(scores)), "ECE@5": 0.02}
    np.savez(folder / name, np.array(json.dumps(row)), *(np.array(scores) for _ in MEASURES))


def test_the_means_of_draws_are_tested_document_by_document(tmp_path: Path) -> None:
    for draw, (now, before) in enumerate([([1.0, 0.0] * 15, [0.0, 0.5] * 15), ([0.0, 1.0] * 15, [0.5, 0.0] * 15)]):
        kept(tmp_path / "now", f"mdn-50-{draw}.npz", now)
        kept(tmp_path / "before", f"mdn-50-{draw}.npz", before)
    kept(tmp_path / "now", "mdn-0-0.npz", [1.0] * 30)
    # each document has .5 now, .25 before and 1 without labels: 30 equal differences
    test = {"p": {"randomisation": 0.0001}, "adjusted": {"randomisation": 0.0001}}
    assert compared_means(tmp_path / "now", tmp_path / "before") == {
        "mdn 50": {"draws": 2, "difference": 0.25, **test, "against zero_shot": {"difference": -0.5, **test}}
    }
    assert compared_means(tmp_path / "now", None) == {}


def test_p_is_adjusted_for_the_corpora_of_a_size(tmp_path: Path) -> None:
    for name in ("mdn-50-0", "tib-50-0", "tib-300-0"):
        kept(tmp_path / "now", f"{name}.npz", [1.0] * 30)
        kept(tmp_path / "before", f"{name}.npz", [0.0] * 30)
    found = compared_means(tmp_path / "now", tmp_path / "before")
    adjusted = {cell: test["adjusted"]["randomisation"] for cell, test in found.items()}
    assert adjusted == {"mdn 50": 0.0002, "tib 50": 0.0002, "tib 300": 0.0001}  # p is 0.0001 everywhere


def test_documents_that_a_draw_leaves_out_have_the_mean_of_the_others(tmp_path: Path) -> None:
    """Of epmc the labelled documents are drawn from those that are scored."""
    known = [set(np.random.default_rng(draw).permutation(40)[:10].tolist()) for draw in (0, 1)]
    for draw, labelled in enumerate(known):  # a document scores its number now, and a half of it before
        numbers = [float(each) for each in range(40) if each not in labelled]
        kept(tmp_path / "now", f"epmc-10-{draw}.npz", numbers)
        kept(tmp_path / "before", f"epmc-10-{draw}.npz", [each / 2 for each in numbers])
    scored = [each for each in range(40) if each not in known[0] & known[1]]
    found = compared_means(tmp_path / "now", tmp_path / "before")["epmc 10"]
    assert found["difference"] == pytest.approx(np.mean(scored) / 2, abs=1e-4)


def test_draws_that_are_not_measured_again_stay_and_all_have_a_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "require", print)
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    folders = ["--work", str(tmp_path / "now"), "--before", str(tmp_path / "before")]
    for draw, (now, before) in {"0": (1.0, 0.0), "1": (0.25, 0.75)}.items():
        for former in (tmp_path / "now").glob("*"):
            former.unlink()
        kept(tmp_path / "now", f"mdn-50-{draw}.npz", [now] * 30)
        kept(tmp_path / "before", f"mdn-50-{draw}.npz", [before] * 30)
        cell = ["--corpora", "mdn", "--sizes", "50", "--draws", draw]
        main([*cell, *folders, "--output", str(tmp_path / "auto-draws.json")])
    assert figures.read(tmp_path / "auto-draws.json")["rows"]["mdn 50"].keys() == {"0", "1"}
    # means of 0 and .75, and of 1 and .25; one draw is significantly above the former state and one below it.
    # The folder has the scores of the last draw alone.
    assert [*quality_tables.auto_means()][2:] == ["| mdn 50 | 37.5 | 62.5 | p < 0.001 | 1 / 1 of 2 | 2.0 |"]


def test_documents_of_one_cluster_are_labelled_and_those_outside_it_are_scored(tmp_path: Path) -> None:
    task = Task("kirja", None, 10, tmp_path)
    pool, dev = ([Document(f"{name}{place}", "Bees") for place in range(120)] for name in ("p", "d"))
    task.__dict__.update(pool=pool, dev=dev, train=pool)
    corpus = Clusters(task)
    corpus.__dict__["clusters"] = np.repeat([0, 1, 2], [60, 55, 5]), np.repeat([0, 1, 2], [40, 40, 40])
    drawn = corpus.draw(5)  # of the clusters with more than 50 documents, 0 and 1, the one at 5 % 2
    assert {each.id for each in drawn.labelled} < {f"p{place}" for place in range(60, 115)}
    assert len(drawn.labelled) == 50
    assert drawn.scored == [*dev[:40], *dev[80:]]
    assert not {each.id for each in drawn.others} & {each.id for each in drawn.labelled}
    assert len(corpus.draw(0).scored) == 120
