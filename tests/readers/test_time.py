"""A file that takes too long to read is ended and named, wherever its reader is."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.errors import ConfigError, InputError
from tagwright.readers import limits
from tagwright.readers.documents import files
from tagwright.types import Document

ROOT = Path(__file__).resolve().parents[2]
SAID = "takes more than 1 s of processor time to read; raise TAGWRIGHT_MAX_READING_SECONDS"


@pytest.fixture(autouse=True)
def one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_MAX_READING_SECONDS", "1")


def in_python() -> None:
    while True:
        pass


def in_a_regular_expression() -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")


def swallowing() -> None:
    """As libraries do that catch everything."""
    caught = 0
    while caught < 2:
        try:
            in_python()
        except BaseException:
            caught += 1
    in_python()


def read_stuck(name: str, path: str) -> None:
    """What the program of the test below does: say how reading a file ends, and that a late signal ends nothing."""

    def reading(path: Path) -> Iterator[tuple[int, Document]]:
        yield 1, Document("1", "Bees")
        globals()[name]()

    files.READERS = {**files.READERS, "latex": files.Format(reading)}
    print(refusal(Path(path)))  # noqa: T201
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    signal.raise_signal(signal.SIGPROF)


@pytest.mark.parametrize(
    "stuck",
    [in_a_regular_expression, *(pytest.param(each, marks=pytest.mark.slow) for each in (in_python, swallowing))],
)
def test_a_reader_that_is_stuck_is_ended(tmp_path: Path, stuck: Callable[[], None]) -> None:
    """In a process of its own: beside torch, Python 3.11 may crash where a signal interrupts an empty loop."""
    path = written(tmp_path, "x", "x.tex")
    program = f"from tests.readers.test_time import read_stuck; read_stuck({stuck.__name__!r}, {str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"x.tex: {SAID}\n", 0), done.stderr


def test_every_reader_has_this_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All go one way: what is read comes through `within_time`."""
    given = list[str]()

    def within(documents: Iterator[object], path: Path) -> Iterator[object]:
        given.append(path.suffix)
        return iter([(0, Document("1", "Bees"))])

    monkeypatch.setattr(files, "within_time", within)
    for name in files.READERS:
        assert len(read(written(tmp_path, "x", f"{name}.{name}"), format=name)) == 1
    assert len(given) == len(files.READERS)


def test_a_large_file_has_more_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DEFAULT_SIZE", 10)
    path, clock = written(tmp_path, "x" * 25, "x.txt"), iter(range(9))
    monkeypatch.setattr("tagwright.readers.limits.time.process_time", lambda: next(clock))
    documents = limits.within_time(iter("abcdef"), path)
    assert [next(documents), next(documents), next(documents)] == ["a", "b", "c"]
    with pytest.raises(InputError, match="takes more than 3 s"):
        next(documents)


def test_beside_the_main_thread_the_time_is_looked_at_after_each_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((0.0, 0.5, 0.5, 1.6))
    monkeypatch.setattr("tagwright.readers.limits.time.process_time", lambda: next(clock))
    documents, found = limits.within_time(iter("ab"), written(tmp_path, "x", "x.txt")), list[object]()

    def take() -> None:
        found.append(next(documents))
        try:
            next(documents)
        except InputError as error:
            found.append(error.problem)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert found == ["a", SAID]


def test_a_time_that_is_no_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_MAX_READING_SECONDS", "soon")
    with pytest.raises(
        ConfigError, match="TAGWRIGHT_MAX_READING_SECONDS is 'soon', expected a number of seconds, such"
    ):
        read(written(tmp_path, "Bees", "x.txt"))
