"""Workers answer, fail, die and are ended; nothing of them stays."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tagwright.core import workers
from tagwright.core.workers import Pool, Worker, WorkerDied, WorkerError, run
from tagwright.errors import InputError, TagwrightError


class Echo:
    """What the tests ask of another process."""

    def __init__(self) -> None:
        self.asked = 0

    def count(self) -> int:
        self.asked += 1
        return self.asked

    def pid(self) -> int:
        return os.getpid()

    def unsendable(self) -> object:
        return threading.Lock()

    def same(self, value: object) -> object:
        return value

    def environment(self) -> list[str | None]:
        return [os.environ.get("WANTED"), str(Path.cwd())]

    def mistake(self, expected: bool) -> None:
        if expected:
            raise InputError("is not JSON", "notes.jsonl", 3)
        raise KeyError("bees")

    def die(self, status: int) -> None:
        sys.stdout.write("nobody reads this\n")
        sys.stdout.flush()
        sys.stderr.write("first\rout of honey\n")
        sys.stderr.flush()
        os._exit(status)

    def die_once(self, mark: Path) -> int:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    def sleep(self, scratch: Path) -> None:
        (scratch / "begun").touch()
        threading.Event().wait()

    def interrupt(self) -> str:
        for sign in (signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), sign)
        return "still here"


@pytest.fixture(scope="module")
def echo() -> Iterator[Worker]:
    with closing(Worker(Echo)) as found:
        yield found


def wait_for(path: Path, seconds: float = 300) -> None:
    ends = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < ends, f"{path} does not come"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_is_one_process_with_one_object(echo: Worker) -> None:
    pid = echo.ask("pid")
    assert pid != os.getpid()
    assert [echo.ask("count"), echo.ask("count"), echo.ask("pid")] == [1, 2, pid]


def test_a_request_that_fails_says_why_and_the_process_goes_on(echo: Worker) -> None:
    pid = echo.ask("pid")
    with pytest.raises(TagwrightError, match=r"^notes.jsonl:3: is not JSON$") as raised:
        echo.ask("mistake", expected=True)
    assert not isinstance(raised.value, WorkerError)
    with pytest.raises(WorkerError, match=r"^KeyError: 'bees'$"):
        echo.ask("mistake", expected=False)
    with pytest.raises(WorkerError, match=r"^TypeError: cannot pickle"):
        echo.ask("unsendable")
    with pytest.raises(TypeError, match="cannot pickle"):
        echo.ask("same", value=threading.Lock())
    assert echo.ask("pid") == pid


def test_threads_get_their_own_answers(echo: Worker) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda n: echo.ask("same", value={n, "\ud800"}), range(100))
        assert list(found) == [{n, "\ud800"} for n in range(100)]


def test_the_environment_is_the_callers_and_the_signals_are_left_to_it(echo: Worker) -> None:
    with closing(Worker(Echo, {**os.environ, "WANTED": "yes"})) as worker:
        assert worker.ask("environment") == ["yes", str(Path.cwd())]
    assert echo.ask("environment")[0] is None
    assert echo.ask("interrupt") == "still here"


def test_a_file_in_the_working_folder_is_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    with closing(Worker(Echo)) as worker:
        assert worker.ask("count") == 1


def test_a_process_that_dies_is_named_with_its_last_words(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger=workers.__name__)
    worker = Worker(Echo)
    with pytest.raises(WorkerDied, match=r"^Echo has died: out of honey$"):
        worker.ask("die", status=3)
    with pytest.raises(WorkerDied, match="Echo has ended; load the tagger again"):
        worker.ask("count")
    assert not worker.is_alive
    assert capfd.readouterr() == ("", "")
    assert caplog.messages == ["Echo: first", "Echo: out of honey"]


def test_a_process_that_is_killed_is_named_with_the_signal() -> None:
    worker = Worker(Echo)
    os.kill(worker.ask("pid"), signal.SIGKILL)
    with pytest.raises(WorkerDied, match=r"^Echo was killed by signal 9; is there enough memory\?$"):
        worker.ask("count")


def test_a_process_that_cannot_be_started_is_a_death(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    for start in (lambda: Worker(Echo), lambda: run(["-c", ""], folder=tmp_path, seconds=1000, most=9)):
        with pytest.raises(WorkerDied, match=r"nothing cannot be started: "):
            start()


def test_a_program_prints_what_it_is_asked_and_reads_nothing(tmp_path: Path) -> None:
    program = "import sys; print(sys.argv[1], sys.stdin.read()); sys.exit('why')"
    printed, said, code = run(["-c", program, "bees"], folder=tmp_path, seconds=1000, most=1000)
    assert (printed.split(), said, code) == ([b"bees"], "why", 1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities count in all sessions alike, or not at all")
def test_a_program_lets_this_process_go_first_in_its_own_session(tmp_path: Path) -> None:
    program = "import os\nwhile os.getpriority(0, 0) < 10: pass\nprint(os.getsid(0), os.getpgid(0) == os.getpid())"
    printed, _, _ = run(["-c", program], folder=tmp_path, seconds=1000, most=100)
    assert printed.split() == [str(os.getsid(0)).encode(), b"True"]  # a group: it is ended with what it has started


def test_a_program_that_takes_too_long_or_prints_without_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"^took more than 0 s$"):
        run(["-c", "import time; time.sleep(1000)"], folder=tmp_path, seconds=0.01, most=9)
    printed, _, _ = run(["-c", "while True: print('bees')"], folder=tmp_path, seconds=1000, most=9)
    assert printed == b"bees\nbees\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere address space has no bound")
def test_the_memory_of_a_program_is_bounded(tmp_path: Path) -> None:
    limited = "import resource as r\nwhile r.getrlimit(r.RLIMIT_AS)[0] < 0: pass\nprint(len(bytearray(1 << {size})))"
    small, large = (
        run(["-c", limited.format(size=size)], folder=tmp_path, seconds=1000, memory=1 << 30, most=100)
        for size in (20, 30)
    )
    assert (small[0], small[2]) == (b"1048576\n", 0)
    assert (large[1].splitlines()[-1], large[2]) == ("MemoryError", 1)


def test_an_interrupted_request_leaves_no_answer_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    worker = Worker(Echo)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pickle, "load", interrupt)
        worker.ask("count")
    with pytest.raises(WorkerDied, match="has ended"):
        worker.ask("count")


def test_a_fork_is_told_to_load_its_own(echo: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(WorkerError, match="load the tagger in each process"):
        patch.setattr(os, "getpid", lambda: -1)
        echo.ask("count")
    assert echo.ask("pid")


def test_a_worker_that_is_no_longer_used_leaves_no_process() -> None:
    worker = Worker(Echo)
    process = worker._process
    del worker
    gc.collect()
    assert process.returncode is not None


PARENT = """
import sys
from pathlib import Path
from tests.core.test_workers import Echo
from tagwright.core.workers import Worker
idle, busy = Worker(Echo), Worker(Echo)
print(idle.ask("pid"), busy.ask("pid"), flush=True)
busy.ask("sleep", scratch=Path(sys.argv[1]))
"""


def test_when_the_parent_is_killed_its_workers_end_also_at_work(tmp_path: Path) -> None:
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **paths}) as parent:
        assert parent.stdout
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        wait_for(tmp_path / "begun")
        parent.kill()
    while any(map(is_running, pids)):
        time.sleep(0.01)


def test_a_pool_replaces_a_worker_that_dies_and_begins_its_request_again(tmp_path: Path) -> None:
    started = list[Worker]()

    def start() -> Worker:
        started.append(Worker(Echo))
        return started[-1]

    pool = Pool(start, 2, attempts=3)
    assert started == []
    first = pool.ask("pid")
    second = pool.ask("die_once", mark=tmp_path / "mark")
    assert first != second == pool.ask("pid")
    assert len(started) == 2
    with pytest.raises(WorkerDied, match="out of honey"):
        pool.ask("die", status=1)
    assert len(started) == 4  # the warm one and two in its place
    pool.close()
    assert not any(worker.is_alive for worker in started)


def test_a_pool_that_is_closed_ends_what_is_under_way(tmp_path: Path) -> None:
    pool, said = Pool(lambda: Worker(Echo), 2, attempts=3), list[str]()

    def ask() -> None:
        with pytest.raises(WorkerDied) as raised:
            pool.ask("sleep", scratch=tmp_path)
        said.append(str(raised.value))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_for(tmp_path / "begun")
    pool.close()
    thread.join()
    assert said == ["the workers have been ended"]
    with pytest.raises(WorkerDied, match="have been ended"):
        pool.ask("same", value=1)
