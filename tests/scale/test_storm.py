"""A short storm: what `python -m benchmarks storm` tries for minutes or hours."""

from __future__ import annotations

import os

import pytest

if os.name != "posix":
    pytest.skip("kills, limits and users are those of POSIX", allow_module_level=True)

from benchmarks.storm import storm, until

SHORT = ("save", "two save", "disk full", "read-only", "decisions", "cache", "documents", "vocabularies")


@pytest.mark.parametrize("name", SHORT)
def test_nothing_is_lost_in_a_short_storm(name: str) -> None:
    tried, lost = storm([name], iter(range(2)), seed=1)
    assert lost == []
    assert tried[name].total() == 2


def test_a_storm_has_one_round_at_least() -> None:
    assert list(until(0.0)) == [0]


def test_what_is_lost_is_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(*_: object) -> str:
        raise AssertionError("all of it")

    monkeypatch.setattr("benchmarks.storm.TRIALS", {"save": losing})
    tried, lost = storm(["save"], iter(range(3)), seed=0)
    assert tried["save"] == {"lost": 3}
    assert lost[2].startswith("save, round 2: AssertionError all of it (test_storm.py:")
