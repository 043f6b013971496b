"""The comparison of two states of `train auto`, document by document."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.auto_draws import compared, paired
from benchmarks.curve_methods import MEASURES


def kept(folder: Path, name: str, scores: list[float]) -> None:
    folder.mkdir(exist_ok=True)
    row = {"nDCG@5": float(np.mean(scores))}
    np.savez(folder / name, np.array(json.dumps(row)), *(np.array(scores) for _ in MEASURES))


def test_of_three_equal_differences_a_quarter_of_the_signs_is_as_extreme() -> None:
    # all + or all -: 2 of 8
    assert paired(np.array([1.0, 1.0, 1.0]), np.zeros(3)) == pytest.approx(0.25, abs=0.02)
    assert paired(np.ones(3), np.ones(3)) == 1.0
    assert paired(np.ones(40), np.zeros(40)) < 0.001


def test_draws_stand_beside_those_of_the_former_state(tmp_path: Path) -> None:
    kept(tmp_path / "now", "mdn-50-0.npz", [1.0] * 30)
    kept(tmp_path / "now", "mdn-50-1.npz", [0.5] * 30)
    kept(tmp_path / "before", "mdn-50-0.npz", [0.0] * 30)
    rows = compared(tmp_path / "now", tmp_path / "before")
    assert rows.keys() == {"mdn 50"}
    first, second = rows["mdn 50"]["0"], rows["mdn 50"]["1"]
    assert first["now"] == {"nDCG@5": 1.0}
    assert first["before"] == {"nDCG@5": 0.0}
    assert first["p"] < 0.001
    assert second == {"now": {"nDCG@5": 0.5}}
