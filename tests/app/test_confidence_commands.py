"""Confidence on the command line: in words, in run files, as a threshold, in an evaluation and in its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import LABELS, Command, write

WORDS = ("likely", "possible", "unlikely")
MORE = [{"id": f"x{row}", "names": [f"Stone {row}"]} for row in range(120)]


@pytest.fixture
def many(desk: Path) -> str:
    """A vocabulary that is large enough for the label-free model."""
    write(desk / "many.jsonl", [*LABELS, *MORE])
    return "many.jsonl"


def zero_shot(tiny: str, labels: str) -> tuple[str, ...]:
    return "--labels", labels, "--set", tiny, "--quiet"


def test_how_sure_a_suggestion_is_stands_before_its_name_in_a_word(run: Command, tiny: str, many: str) -> None:
    lines = run("suggest", "docs.jsonl", *zero_shot(tiny, many), "-k", "2").out.splitlines()
    suggested = [line.split() for line in lines if line.startswith("  ") and "no label fits" not in line]
    assert len(suggested) == 6
    assert all(words[1] in WORDS for words in suggested)


def test_a_run_file_holds_confidences(run: Command, tiny: str, many: str) -> None:
    lines = run("suggest", "docs.jsonl", *zero_shot(tiny, many), "--format", "jsonl", "-k", "10").out.splitlines()
    sure = [each["confidence"] for line in lines for each in json.loads(line)["suggestions"]]
    assert len(sure) == 30
    assert all(0 < each < 1 for each in sure)


def test_a_tagger_and_its_run_file_are_evaluated_with_the_same_calibration(
    run: Command, tiny: str, many: str, desk: Path
) -> None:
    direct = json.loads(run("evaluate", "docs.jsonl", *zero_shot(tiny, many), "--json").out)["calibration"]
    assert list(direct) == ["ECE@5", "ECE@10", "Brier@5", "AURC", "AUGRC"]
    assert all(score["low"] <= score["value"] <= score["high"] for score in direct.values())
    lines = run("suggest", "docs.jsonl", *zero_shot(tiny, many), "-k", "100", "--format", "jsonl").out
    (desk / "run.jsonl").write_text(lines, encoding="utf-8")
    again = run("evaluate", "docs.jsonl", "--labels", many, "--run", "run.jsonl", "--json", "--quiet")
    for name, score in json.loads(again.out)["calibration"].items():
        assert score == pytest.approx(direct[name], abs=1e-6)


def test_a_run_without_confidences_has_no_calibration(run: Command) -> None:
    found = run("evaluate", "docs.jsonl", "--labels", "labels.jsonl", "--run", "right.jsonl", "--json", "--quiet")
    assert "calibration" not in json.loads(found.out)


def test_an_evaluation_prints_and_draws_calibration(run: Command, tiny: str, many: str, desk: Path) -> None:
    found = run("evaluate", "docs.jsonl", *zero_shot(tiny, many), "--report", "report.html")
    assert found.code == 0
    assert "ECE@5" in found.out
    assert "How far the confidences can be trusted" in (desk / "report.html").read_text(encoding="utf-8")
