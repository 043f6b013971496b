"""A short storm: what `python -m tools.storm` tries for minutes or hours."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("kills, limits and users are those of POSIX", allow_module_level=True)

from tools.storm import races
from tools.storm.kills import change_versions, three_versions, whole_versions
from tools.storm.processes import Moment, Tried, finish, kill, start
from tools.storm.rounds import Tally, read, storm

SHORT = (
    "save",
    "two save",
    "disk full",
    "read-only",
    "decisions",
    "cache",
    "documents",
    "vocabularies",
    "versions",
    "reviews learnt",
    "taggers",
    *races.TRIALS,
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "times"), [*((name, 2) for name in SHORT), ("batch", 1)])
def test_nothing_is_lost_in_a_short_storm(name: str, times: int) -> None:
    tallies: dict[str, Tally] = {}
    storm([[name]] * times, 1, tallies)
    assert tallies[name].lost == []
    assert tallies[name].trials == times


@pytest.mark.slow
def test_a_kill_at_any_change_of_a_file_leaves_the_version_in_use_whole(tmp_path: Path) -> None:
    for change in range(1, 200):
        folder = tmp_path / str(change)
        shutil.copytree(three_versions(), folder / "models")
        killed = kill(change_versions, (folder,), Moment(0.0, change))
        whole_versions(folder)
        if not killed:
            break
    assert change > 40


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


def test_a_second_storm_adds_to_the_results_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[float] = []

    def trial(_: Path, rng: random.Random) -> Tried:
        drawn.append(rng.random())
        return Tried("done", kills=1)

    monkeypatch.setattr("tools.storm.rounds.TRIALS", {"save": trial})
    for _ in range(2):
        storm([["save"]] * 2, 0, read(tmp_path / "storm.json"), tmp_path / "storm.json")
    assert read(tmp_path / "storm.json")["save"] == Tally(4, 0, Counter(done=4))
    assert len(set(drawn)) == 4, "the second storm repeats the first"


def test_what_is_lost_is_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(*_: object) -> Tried:
        raise AssertionError("all of it")

    monkeypatch.setattr("tools.storm.rounds.TRIALS", {"save": losing})
    tallies: dict[str, Tally] = {}
    storm([["save"]] * 3, 0, tallies)
    assert tallies["save"].outcomes == {"lost": 3}
    assert tallies["save"].lost[2].startswith("save, round 2: AssertionError all of it (test_storm.py:")
