"""Confidence on the command line: in words, in run files, as a threshold, in an evaluation and in its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import DOCUMENTS, LABELS, Command, write

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
    suggested = [line.split() for line in lines if line.startswith("  ")]
    assert len(suggested) == 6
    assert all(words[1] in WORDS for words in suggested)


def test_a_run_file_holds_confidences(run: Command, tiny: str, many: str) -> None:
    lines = run("suggest", "docs.jsonl", *zero_shot(tiny, many), "--format", "jsonl").out.splitlines()
    sure = [each["confidence"] for line in lines for each in json.loads(line)["suggestions"]]
    assert len(sure) == 30
    assert all(0 < each < 1 for each in sure)


def test_only_labels_that_are_sure_enough_are_suggested(run: Command, tiny: str, many: str) -> None:
    def confidences(*least: str) -> list[float]:
        lines = run("suggest", "docs.jsonl", *zero_shot(tiny, many), "--format", "jsonl", *least).out.splitlines()
        assert len(lines) == len(DOCUMENTS)
        return [each["confidence"] for line in lines for each in json.loads(line)["suggestions"]]

    everything = confidences()
    middle = sorted(everything)[15]
    assert confidences("--min-confidence", str(middle)) == [each for each in everything if each >= middle]
    assert confidences("--min-confidence", "1") == []


def test_only_labels_with_a_high_score_are_suggested(run: Command, tiny: str, many: str) -> None:
    def scores(*least: str) -> list[float]:
        lines = run("suggest", "docs.jsonl", *zero_shot(tiny, many), "--format", "jsonl", *least).out.splitlines()
        return [each["score"] for line in lines for each in json.loads(line)["suggestions"]]

    everything = scores()
    middle = sorted(everything)[15]
    assert scores("--min-score", str(middle)) == [each for each in everything if each >= middle]


def test_the_best_cut_of_a_document_has_the_greatest_expected_f1(run: Command, tiny: str, many: str) -> None:
    def documents(*rule: str) -> list[list[float]]:
        lines = run("suggest", "docs.jsonl", *zero_shot(tiny, many), "--format", "jsonl", *rule).out.splitlines()
        return [[each["confidence"] for each in json.loads(line)["suggestions"]] for line in lines]

    for everything, kept in zip(documents(), documents("--best-cut"), strict=True):
        surest = sorted(everything, reverse=True)
        f1 = [2 * sum(surest[:size]) / (size + sum(surest)) for size in range(1, len(surest) + 1)]
        assert sorted(kept, reverse=True) == pytest.approx(surest[: f1.index(max(f1)) + 1])


def test_max_labels_is_the_number_of_labels(run: Command, tiny: str, many: str) -> None:
    short, long = (
        run("suggest", "docs.jsonl", *zero_shot(tiny, many), name, "2").out for name in ("-k", "--max-labels")
    )
    assert short == long


def test_a_least_confidence_where_none_is_estimated_is_an_error(run: Command, tiny: str) -> None:
    found = run("suggest", "docs.jsonl", *zero_shot(tiny, "labels.jsonl"), "--min-confidence", "0.5")
    assert found.code == 2
    assert "does not estimate confidences (zero_shot does with the stage dense and 100 labels or more)" in found.err
    assert "leave out the least confidence" in found.err


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
