"""What is advised rests on what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tagwright.evaluation import advice
from tagwright.evaluation.advice import GAINS, _gain, expected_gain, next_step
from tagwright.methods.table import METHODS

CURVE = Path(__file__).parents[2] / "benchmarks" / "results" / "curve.json"


def test_gains_are_those_that_were_measured() -> None:
    measured = {name: rows for name, rows in json.loads(CURVE.read_text()).items() if isinstance(rows, dict)}
    assert measured.keys() == GAINS.keys()
    for name, gains in GAINS.items():
        for labelled, gain in gains.items():
            row = measured[name][str(labelled)]
            assert gain == pytest.approx(100 * (row["auto"]["nDCG@5"] - row["zero_shot"]["nDCG@5"]), abs=0.06)


def test_the_next_documents_are_worth_less() -> None:
    first, second = expected_gain(0, 50), expected_gain(50, 50)
    assert first
    assert second
    assert first.mean > second.mean > 0


def test_the_gain_between_measured_numbers_by_hand() -> None:
    """log 2 is half of log 4: 1 of 3 documents bring half of the gain."""
    assert [_gain(number, {3: 4.0}) for number in (0, 1, 3)] == pytest.approx([0.0, 2.0, 4.0])


def test_what_more_labels_would_bring_is_the_mean_of_the_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "GAINS", {"a": {20: 2.0, 50: 3.0, 300: 9.0}, "b": {50: 5.0}})
    assert next_step(0).startswith("label 50 documents: about +4 points of nDCG@5 (mean of 2 corpora")  # (3 + 5) / 2
    # b has 5 log 21 / log 51 = 3.87 with 20: 1 and 1.13 are won
    assert next_step(20).startswith("label 30 more documents: about +1 points of nDCG@5 (mean of 2 corpora")
    # a has 3 + 6 (log 61 - log 51) / (log 301 - log 51) = 3.6 with 60: 5.4 are won
    assert next_step(60).startswith("label 240 more documents: about +5 points of nDCG@5 (mean of 1 corpus")
    assert next_step(300) == ""


def test_the_page_that_is_named_is_there_and_has_the_gains() -> None:
    assert f'page "{advice.CURVE_TITLE}"' in next_step(0)
    page = (CURVE.parents[2] / advice.CURVE).read_text(encoding="utf-8")
    assert page.startswith(f"# {advice.CURVE_TITLE}\n")
    assert "<!-- table few labels -->" in page


def test_nothing_is_advised_that_brings_less_than_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "GAINS", {"a": {50: 0.9}})
    assert next_step(0) == ""


def test_a_stage_is_not_tried_without_the_packages_that_train_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = dict.fromkeys(advice.LACKING, 10_000)
    row, depl = (next(each for each in advice.STAGES if each.name == name) for name in ("rts", "depl_cls"))
    monkeypatch.setattr(advice, "find_spec", lambda package: None if package == "torch" else package)
    assert row.lacking(held) == "training it needs torch, not installed here"
    monkeypatch.setattr(advice, "find_spec", lambda package: None if package == "sentence_transformers" else package)
    assert row.lacking(held) == ""
    assert depl.lacking(held) == "training it needs sentence_transformers, not installed here"
    monkeypatch.setattr(advice, "find_spec", lambda package: package)
    assert row.lacking(held) == ""
    assert "(here 3)" in row.lacking({**held, "labelled": 3})


def test_of_trained_stages_it_is_said_what_is_decided_and_figures_of_other_corpora_stand_in_brackets() -> None:
    said = re.compile(r"compared by cross-validation on your labelled documents \(elsewhere: [^()]*\)")
    for row in advice.STAGES[1:]:
        assert said.fullmatch(row.measured), row.name


def test_the_figures_of_a_row_are_on_the_page_that_it_names_and_its_packages_are_those_of_the_training() -> None:
    for row in (*advice.METHODS, *advice.STAGES):
        assert (CURVE.parents[2] / row.source).is_file(), row.name
    for row in advice.METHODS:
        assert {*METHODS[row.name].needs} <= {*row.packages}, row.name
