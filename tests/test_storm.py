"""A short storm: what `python -m tools.storm` tries for minutes or hours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("kills and signals are those of POSIX", allow_module_level=True)

from tools.storm.processes import Moment, Tried, finish, kill, start
from tools.storm.rounds import Tally, attempt


@pytest.mark.slow
@pytest.mark.parametrize(("name", "times"), [("save", 2), ("decisions", 2), ("batch", 1)])
def test_nothing_is_lost_in_a_short_storm(name: str, times: int) -> None:
    tally = Tally()
    for _ in range(times):
        attempt(name, 1, tally)
    assert (tally.lost, tally.outcomes.total()) == ([], times)


def writes_three(folder: Path) -> None:
    for name in ("one", "two", "three"):
        (folder / name).touch()


def writes_and_fails(folder: Path) -> None:
    writes_three(folder)
    raise ValueError("no more names")


def writes_and_hides(folder: Path) -> None:
    writes_three(folder)
    os.write(2, b"Traceback (most recent call last):\n")


def test_a_process_is_killed_before_the_change_that_was_drawn(tmp_path: Path) -> None:
    assert kill(writes_three, (tmp_path,), Moment(0.0, change=3)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_process_that_fails_is_a_loss_and_what_it_said_is_kept(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"(?s)exit code 1: .*no more names"):
        kill(writes_and_fails, (tmp_path,), Moment(0.0, change=9))
    with pytest.raises(AssertionError, match=r"(?s)exit code 1: .*no more names"):
        finish(start(writes_and_fails, (tmp_path,)))


def test_a_traceback_is_a_loss_even_where_the_process_succeeds(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Traceback"):
        finish(start(writes_and_hides, (tmp_path,)))


def test_what_is_lost_is_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(*_: object) -> Tried:
        raise AssertionError("all of it")

    monkeypatch.setattr("tools.storm.rounds.TRIALS", {"save": losing})
    tally = Tally()
    for _ in range(3):
        attempt("save", 0, tally)
    assert tally.outcomes == {"lost": 3}
    assert tally.lost[2].startswith("save, round 2: AssertionError all of it (test_storm.py:")
