"""What is advised rests on what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tagwright.advice import GAINS, _gain, expected_gain

CURVE = Path(__file__).parent.parent / "benchmarks" / "results" / "curve.json"


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
