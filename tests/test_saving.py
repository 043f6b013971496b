"""Whatever is saved is the old or the new after a kill at any step, and the next writer leaves nothing else beside it.

A kill is simulated: the N-th change of the disk, and each one after that, is not made, so that nothing tidies up. Real
processes are killed at any moment by the storm.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.boxes import number, save

from tagwright.core.atomic import (
    check_replaceable,
    check_writable,
    delete,
    remove_leftovers,
    replace_file,
)
from tagwright.core.cache import Cache
from tagwright.core.steps import State, Steps, open_steps
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile

VALUES = st.integers(1, 4)
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"Where nothing waits for a disk."


class Killed(BaseException):
    """Stands for the end of the process."""


@contextmanager
def killed(step: int) -> Iterator[None]:
    """Make no change of the disk from this one on, which ends what is done here; 0 is the first."""
    left = step

    def mortal(change: Callable[..., Any], changes: Callable[..., bool] = lambda *_, **__: True) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if changes(*arguments, **options):
                if left == 0:
                    raise Killed
                left -= 1
            return change(*arguments, **options)

        return run

    def writes(_: object, mode: str = "r", *__: object, **___: object) -> bool:
        return mode.strip("bt") != "r"

    class Connection(sqlite3.Connection):
        execute = mortal(sqlite3.Connection.execute)
        executemany = mortal(sqlite3.Connection.executemany)

    class Lock(filelock.FileLock):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            locks.append(self)

    locks, connect = list[filelock.FileLock](), sqlite3.connect
    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink", "rmdir", "mkdir", "fsync"):
            patch.setattr(os, name, mortal(getattr(os, name)))
        for module in (io, builtins):
            patch.setattr(module, "open", mortal(open, writes))
        patch.setattr(filelock, "FileLock", Lock)
        patch.setattr(sqlite3, "connect", lambda *given, **options: connect(*given, **options, factory=Connection))
        with suppress(Killed):
            yield
    for lock in locks:  # as the system does when a process has ended
        lock.release(force=True)


class Place(NamedTuple):
    """How one number is saved in a folder, and read there; None before the first time, and after it is removed.

    check: whether it can be written, before it is.
    """

    write: Callable[[Path, int], None]
    read: Callable[[Path], int | None]
    check: Callable[[Path], object] = lambda _: None
    remove: Callable[[Path], None] | None = None


def write_text(folder: Path, value: int) -> None:
    with replace_file(folder / "run.jsonl") as path:
        path.write_text(str(value))


def check_text(folder: Path) -> None:
    for name in ("run.jsonl", "new/deep/run.jsonl"):
        check_writable(folder / name)


def write_linked(folder: Path, value: int) -> None:
    """By a symbolic link, which stays."""
    (folder / "disk").mkdir(exist_ok=True)
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to(folder / "disk" / "box", target_is_directory=True)
    save(folder / "link", value)


def read_linked(folder: Path) -> int | None:
    assert (folder / "link").is_symlink() or not (folder / "disk" / "box").exists()
    return there(folder / "disk", "box", number)


def write_state(folder: Path, value: int) -> None:
    """In a training that was begun before, and perhaps killed."""
    begun = (folder / "M.training" / "manifest.json").exists()
    with open_steps(folder / "M", {"method": "rts"}, resume=begun) as steps:
        Steps(steps.folder, True).keep(State({"a": np.full(3, value)}, {}), {})


def read_state(folder: Path) -> int | None:
    with open_steps(folder / "M", {"method": "rts"}, resume=True) as steps:
        state = steps.latest({})
    return int(state.arrays["a"][0]) if state else None


def write_entry(folder: Path, value: int) -> None:
    Cache(folder / "cache").put("rows", {b"key": bytes([value])})


def read_entry(folder: Path) -> int | None:
    return next((content[0] for content in Cache(folder / "cache").get("rows", [b"key"]).values()), None)


def write_decision(folder: Path, value: int) -> None:
    with closing(ReviewFile(folder / "reviews.sqlite")) as file:
        rows = [Decision(document="1", reviewer="ann", action="accept", label=f"{value}{half}") for half in "ab"]
        Decisions(file).add_all(rows)


def read_decision(folder: Path) -> int | None:
    """All decisions of a request are there, or none."""
    if not (folder / "reviews.sqlite").exists():
        return None
    with closing(ReviewFile(folder / "reviews.sqlite")) as file:
        found = [decision.label or "" for _, decision in Decisions(file).events()]
    assert [label[1] for label in found] == ["a", "b"] * (len(found) // 2)
    return int(found[-1][0]) if found else None


def there(folder: Path, name: str, read: Callable[[Path], int]) -> int | None:
    """Of a folder that is not there, or not yet, there is nothing to read."""
    path = folder / name
    return read(path) if path.exists() or (folder / f".{name}.previous").exists() else None


PLACES: dict[str, Place] = {
    "folder": Place(
        lambda folder, value: save(folder / "box", value),
        lambda folder: there(folder, "box", number),
        lambda folder: check_replaceable(folder / "box", "box"),
        lambda folder: delete(folder / "box"),
    ),
    "link": Place(write_linked, read_linked),
    "file": Place(
        write_text,
        lambda folder: there(folder, "run.jsonl", lambda path: int(path.read_text())),
        check_text,
    ),
    "state of a training": Place(write_state, read_state),
    "row of a cache": Place(write_entry, read_entry),
    "review": Place(write_decision, read_decision),
}


class Saving(RuleBasedStateMachine):
    """One place: what is saved completely is read; after a kill, what was there or what was being saved."""

    place: Place

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.expected: set[int | None] = {None}

    @rule(value=VALUES)
    def save(self, value: int) -> None:
        self.place.write(self.folder, value)
        self.expected = {value}

    @rule(value=VALUES, step=st.integers(0, 25))
    def save_and_be_killed(self, value: int, step: int) -> None:
        with killed(step):
            self.place.write(self.folder, value)
        self.expected = {*self.expected, value}

    @rule(step=st.integers(0, 15))
    def check_and_be_killed(self, step: int) -> None:
        with killed(step):
            self.place.check(self.folder)

    @rule(step=st.integers(0, 15))
    def remove_and_be_killed(self, step: int) -> None:
        if self.place.remove:
            with killed(step):
                self.place.remove(self.folder)
            self.expected |= {None}

    @invariant()
    def read(self) -> None:
        found = self.place.read(self.folder)
        assert found in self.expected
        self.expected = {found}

    def teardown(self) -> None:
        try:
            for value in (1, 2):
                self.place.write(self.folder, value)
            assert self.place.read(self.folder) == 2
            for folder in (self.folder, *[path for path in self.folder.rglob("*") if path.is_dir()]):
                remove_leftovers(folder)
            left = [path.name for path in self.folder.rglob(".*")]
            assert not [name for name in left if not name.startswith(".tagwright-cache")], left
        finally:
            shutil.rmtree(self.folder)


@pytest.mark.parametrize("name", PLACES)
def test_a_kill_at_any_step_leaves_the_old_or_the_new(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # the disk of this machine is not tested
    machine = type(name, (Saving,), {"place": PLACES[name]})
    run_state_machine_as_test(machine, settings=settings(max_examples=12, stateful_step_count=8))
