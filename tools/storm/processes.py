"""Processes that are killed: a function in a child, ended by the system at a chosen moment, or watched until its end.

A child is a real process with memory and files of its own, and runs the real code, commands as they are typed. Only its
start is cheap: it is forked from a server that has loaded the libraries, has no threads, and has computed nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple


class Tried(NamedTuple):
    """One trial. what: its outcome; kills: processes that were killed."""

    what: str
    kills: int = 0


Trial = Callable[[Path, random.Random], Tried]
"Disturb something in an empty folder. Raises AssertionError saying what was lost."

Victim = Callable[..., None]
"What a child does. Its first argument is the folder that it writes to."

LONGEST = 180.0
"Seconds after which a process hangs."

CHANGES = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"})
"Audit events of a change of files; of those that open a file, only where it may be written."

LATER = (0.0, 0.0, 1e-5, 1e-4, 1e-3, 1e-2)
"Seconds from the announcement of a change to the end of the process: before, within or after it."

BY_CLOCK = 0.3
"The share of the moments that are drawn by the clock."

SCRATCH = "scratch"
"The temporary files of a command, in its folder."

ENDED = (-signal.SIGKILL, -signal.SIGALRM)
"Exit codes of a process that the system ended. It runs no code of the process on either signal."


@dataclass(frozen=True)
class Length:
    """How long an undisturbed process takes, in seconds and in changes of files in its folder."""

    seconds: float
    changes: int


@dataclass(frozen=True)
class Moment:
    """When a process is killed: so many seconds after its start, or after its n-th change of a file if one is given."""

    seconds: float
    change: int | None = None

    @classmethod
    def within(cls, length: Length, rng: random.Random) -> Moment:
        """Any moment of a process, early ones more often: what goes on after a kill has less left to do.

        Most are drawn by what it writes, which the load of the machine does not shift.
        """
        part = rng.random() * rng.random()
        if rng.random() < BY_CLOCK:
            return cls(part * length.seconds)
        return cls(rng.choice(LATER), 1 + int(part * length.changes))


@dataclass(frozen=True)
class Child:
    """A running process. said: the file of what it prints."""

    process: BaseProcess
    said: Path

    def wait(self, seconds: float = LONGEST) -> bool:
        """Whether it ended by then."""
        self.process.join(seconds)
        return not self.process.is_alive()

    def end(self, allowed: Sequence[int]) -> tuple[int, str]:
        """Kill it if it has not ended. Its exit code, which must be one of these, and what it printed: no traceback."""
        self.process.kill()
        self.process.join()
        _end_group(self.process.pid)
        said = self.said.read_text(encoding="utf-8", errors="replace") if self.said.exists() else ""
        self.said.unlink(missing_ok=True)
        code = self.process.exitcode
        assert code in allowed, f"exit code {code}: {said[-500:]}"
        assert "Traceback" not in said, said[-500:]
        return int(code or 0), said


def start(
    victim: Victim, arguments: tuple[Any, ...], moment: Moment | None = None, report: Connection | None = None
) -> Child:
    """Start a child, which ends itself where the moment is one of its changes; it reports how many there were."""
    said = Path(_sayings().name) / f"{next(_numbers)}.txt"
    process: BaseProcess = _context().Process(target=_run, args=(victim, arguments, moment, report, said))
    process.start()
    return Child(process, said)


def kill(victim: Victim, arguments: tuple[Any, ...], moment: Moment, allowed: Sequence[int] = (0,)) -> int:
    """The number of processes killed: one, or none where it had ended before."""
    child = start(victim, arguments, moment)
    ended = child.wait(LONGEST if moment.change else moment.seconds)
    code, _ = child.end((*allowed, *ENDED))
    assert ended or not moment.change, "a process hangs"
    return int(code in ENDED)


def finish(child: Child, allowed: Sequence[int] = (0,)) -> tuple[int, str]:
    """The exit code of a child that must end by itself with one of these, and what it printed."""
    ended = child.wait()
    code, said = child.end((*allowed, *ENDED))
    assert ended, f"a process hangs: {said[-500:]}"
    assert code in allowed, f"exit code {code}: {said[-500:]}"
    return code, said


def measure(victim: Victim, arguments: tuple[Any, ...], allowed: Sequence[int] = (0,)) -> Length:
    """Run a child that must succeed; returns how long it took."""
    ours, theirs = _context().Pipe(duplex=False)
    begun = time.monotonic()
    child = start(victim, arguments, report=theirs)
    theirs.close()
    finish(child, allowed)
    return Length(time.monotonic() - begun, ours.recv())


def command(folder: Path, *arguments: str) -> None:
    """A victim: the command line with these arguments. Its cache and its temporary files are in the folder too."""
    from tagwright.app import cli

    os.environ["TAGWRIGHT_CACHE"] = str(folder / "cache")
    tempfile.tempdir = str(folder / SCRATCH)
    (folder / SCRATCH).mkdir(exist_ok=True)
    sys.argv = ["tagwright", *arguments, "--quiet"]
    cli.main()


def preload(modules: Sequence[str]) -> None:
    """Load these modules before the first fork, besides this project's own."""
    _preloaded.extend(modules)


def private_folder(name: str) -> Path:
    """An empty folder that is removed when this process ends."""
    folder = Path(_sayings().name) / name
    folder.mkdir()
    return folder


_numbers = count()
_preloaded = ["tools.storm.rounds"]


@cache
def _sayings() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tagwright-storm-")


@cache
def _context() -> Any:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # so that no library starts threads before the fork
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_preloaded)
    return context


def _run(
    victim: Victim, arguments: tuple[Any, ...], moment: Moment | None, report: Connection | None, said: Path
) -> None:
    """Whatever is raised is a traceback, exit code 1."""
    os.setpgid(0, 0)
    with said.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    changes = _Changes(str(arguments[0]), moment)
    sys.addaudithook(changes)
    try:
        victim(*arguments)
    finally:
        if report:
            report.send(changes.count)


class _Changes:
    """Counts the changes below a folder, and ends this process at the moment that is given by their number."""

    def __init__(self, folder: str, moment: Moment | None) -> None:
        self._folder, self._moment, self.count = folder, moment, 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in CHANGES or (event == "open" and not _may_write(arguments[2])):
            return
        place = arguments[0] if isinstance(arguments[0], str) else ""
        below = place.startswith(self._folder) or (place and not place.startswith(os.sep))  # or in an opened folder
        if not below:
            return
        self.count += 1
        if self._moment and self._moment.change == self.count:
            _end_after(self._moment.seconds)


def _may_write(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _end_after(seconds: float) -> None:
    if seconds:
        signal.setitimer(signal.ITIMER_REAL, seconds)  # nobody handles it, so it ends the process
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def _end_group(group: int | None) -> None:
    """Wait until the processes that a child has started have ended too, as they must; who has not is killed."""
    end = time.monotonic() + LONGEST
    while group and _lives(group):
        if time.monotonic() > end:
            os.killpg(group, signal.SIGKILL)
            raise AssertionError("a process outlives its parent")
        time.sleep(0.05)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    found = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in found.splitlines())
    return any(row[0] == str(group) and not row[1].startswith("Z") for row in rows)  # who is dead may wait for init
