"""The benchmark of slopes: its lines and its texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import scale, scale_measures, scale_texts


def test_a_slope_is_that_of_the_line_through_the_logarithms() -> None:
    assert scale.slope([10, 100], [3, 3]) == 0
    assert scale.slope([10, 100, 1000], [1, 100, 10_000]) == 2
    assert scale.slope([1, 10, 100], [1, 10, 1]) == 0  # 10 is off the line, in the middle


def test_slopes_are_fitted_where_there_are_two_sizes() -> None:
    rows = {
        "a": {"10": {"read": 1.0, "peak_mb": 50.0}, "100": {"read": 10.0, "peak_mb": 50.0}},
        "b": {"10": {"x": 1.0}},
    }
    assert scale.slopes(rows) == {"a": {"read": 1.0, "peak_mb": 0.0}}


@pytest.mark.parametrize("kind", ["documents", "labels"])
def test_without_corpora_words_follow_zipfs_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(scale_texts, "SOURCES", dict.fromkeys(scale_texts.SOURCES, tmp_path / "none"))
    assert scale_texts.texts(tmp_path, kind, 30) == "Zipf's law"
    records = [json.loads(line) for line in (tmp_path / f"{kind}-30.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["id"] for record in records] == [str(i) for i in range(30)]


def test_labels_are_words_of_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FREQUENT", 1), ("LABELS", 1), ("KEPT", 1)):
        monkeypatch.setattr(scale_texts, name, value)
    abstracts = ["the bees", "the bees fly", "the rain"]
    lines = (json.dumps({"id": str(i), "abstract": text}) + "\n" for i, text in enumerate(abstracts))
    (tmp_path / "documents.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "out").mkdir()
    texts, labels = scale_texts.labelled(tmp_path / "documents.jsonl", tmp_path / "out")
    found = [json.loads(line)["labels"] for line in texts.read_text(encoding="utf-8").splitlines()]
    assert found == [["bees"], ["bees"], []]  # "the" is too frequent, "fly" and "rain" too rare
    assert json.loads(labels.read_text(encoding="utf-8")) == {"id": "bees", "names": ["bees"]}


def test_everything_is_measured_at_a_small_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_texts, "SOURCES", dict.fromkeys(scale_texts.SOURCES, tmp_path / "none"))
    for kind in scale_measures.FIXED:
        monkeypatch.setitem(scale_measures.FIXED, kind, 20)
    for kind in ("documents", "labels"):
        scale_texts.texts(tmp_path, kind, 20)
    for name in ("reading", "whole tagger", "graph", "exact match", "tfidf"):  # the others distil MiniLM
        found = scale.measured(name, tmp_path, 20)
        assert found.pop("peak_mb") > 1
        assert found
        assert all(seconds >= 0 for seconds in found.values())
