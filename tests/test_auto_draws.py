"""The comparison of two states of `train auto`, document by document."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import corpora, figures, quality_tables
from benchmarks.auto_draws import compared, compared_means, main
from benchmarks.curve_methods import MEASURES


def kept(folder: Path, name: str, scores: list[float]) -> None:
    folder.mkdir(exist_ok=True)
    row = {"nDCG@5": float(np.mean(scores)), "ECE@5": 0.02}
    np.savez(folder / name, np.array(json.dumps(row)), *(np.array(scores) for _ in MEASURES))


def test_draws_stand_beside_those_of_the_former_state(tmp_path: Path) -> None:
    kept(tmp_path / "now", "mdn-50-0.npz", [1.0] * 30)
    kept(tmp_path / "now", "mdn-50-1.npz", [0.5] * 30)
    kept(tmp_path / "before", "mdn-50-0.npz", [0.0] * 30)
    rows = compared(tmp_path / "now", tmp_path / "before")
    assert rows.keys() == {"mdn 50"}
    first, second = rows["mdn 50"]["0"], rows["mdn 50"]["1"]
    assert first["now"]["nDCG@5"] == 1.0
    assert first["before"]["nDCG@5"] == 0.0
    assert first["p"] < 0.001
    assert second.keys() == {"now"}


def test_the_means_of_draws_are_tested_document_by_document(tmp_path: Path) -> None:
    for draw, (now, before) in enumerate([([1.0, 0.0] * 15, [0.0, 0.5] * 15), ([0.0, 1.0] * 15, [0.5, 0.0] * 15)]):
        kept(tmp_path / "now", f"mdn-50-{draw}.npz", now)
        kept(tmp_path / "before", f"mdn-50-{draw}.npz", before)
        kept(tmp_path / "now", f"epmc-50-{draw}.npz", now)
        kept(tmp_path / "before", f"epmc-50-{draw}.npz", before)
    # each document has .5 now and .25 before: 30 equal differences
    assert compared_means(tmp_path / "now", tmp_path / "before") == {
        "mdn 50": {"draws": 2, "p": {"randomisation": 0.0001}}
    }
    assert compared_means(tmp_path / "now", None) == {}


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
    assert [*quality_tables.auto_means()][2:] == ["| mdn 50 | 37.5 | 62.5 | 1 / 1 of 2 | p < 0.001 (1) | 2.0 |"]
