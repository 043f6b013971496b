"""Run work in other processes: start them, send requests, limit memory and time, and end them.

A `Worker` is a process that holds one object of a class and calls its methods on request. Requests and answers are
pickles of our own objects: what reads files of others must not be a worker, but a program that `run` starts.

A worker ends with its `Worker` object or its parent process, even during a request. The parent handles Ctrl-C and
SIGTERM. Standard output of a worker is dropped; its standard error goes to the parent's log.

Processes of `concurrent.futures` cannot do this: they run the main script of a user once more and import from the
working folder; one that dies fails the requests of the others; and before Python 3.14 none of them can be ended.
"""

import importlib
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from tagwright.core.display import print_warnings
from tagwright.errors import TagwrightError, one_line_of

PROGRAM = "from tagwright.core.workers import main; main()"

_log = logging.getLogger(__name__)


class WorkerError(TagwrightError):
    """A worker could not do what it was asked. The message gives the reason, as part of a sentence."""


class WorkerDied(WorkerError):  # noqa: N818  (it says what has happened)
    """The process of a worker has ended."""


class Worker:
    """A process that creates an object of a class, without arguments, and calls its methods on request.

    environment: all variables of the process. Threads may share a worker, forks may not. Raises WorkerDied if the
    process cannot be started.
    """

    def __init__(self, kind: type, environment: Mapping[str, str] = os.environ) -> None:
        self._kind, self._owner, self._lock, self._said = kind, os.getpid(), threading.Lock(), deque[str](maxlen=1)
        self._process = _start(["-c", PROGRAM, kind.__module__, kind.__name__], environment, subprocess.PIPE)
        self._logger = threading.Thread(
            target=_log_lines, args=(self._process.stderr, kind.__name__, self._said), daemon=True
        )
        self._logger.start()
        self._end = weakref.finalize(self, _end, self._process, self._owner)

    @property
    def is_alive(self) -> bool:
        """Whether it accepts requests."""
        return self._end.alive

    def ask(self, method: str, **options: Any) -> Any:
        """Call a method and return its result. Raises its TagwrightError, or WorkerError for any other failure.

        An interrupted request ends the worker: its late answer would be taken for the answer to the next request.
        """
        if os.getpid() != self._owner:
            raise WorkerError(
                f"{self._kind.__name__} belongs to the process that started it; load the tagger in each process"
            )
        request = pickle.dumps((method, options))
        with self._lock:
            if not self._end.alive:
                raise WorkerDied(f"the process of {self._kind.__name__} has ended; load the tagger again")
            try:
                failure, result = self._exchange(request)
            except BaseException:
                self._end()
                raise
        if failure:
            raise failure(result)
        return result

    def kill(self) -> None:
        """End the process at once; a thread waiting for an answer gets WorkerDied."""
        self._process.kill()

    def close(self) -> None:
        """End the process and free its resources."""
        self._end()

    def _exchange(self, request: bytes) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        with suppress(OSError, EOFError, pickle.UnpicklingError):  # the last where an answer is cut off
            pickle.dump(request, stdin)  # bytes of bytes: what cannot be unpickled is an error of the request
            stdin.flush()
            return pickle.load(stdout)  # noqa: S301  (a process of our own)
        status = self._process.wait()
        if status < 0:
            raise WorkerDied(f"{self._kind.__name__} was killed by signal {-status}; is there enough memory?")
        self._logger.join(1)  # a child of the worker may still hold standard error open
        raise WorkerDied(f"{self._kind.__name__} has died: {self._said[-1] if self._said else f'exit status {status}'}")


class Pool:
    """Up to `count` workers, started when needed and shared by threads.

    When a worker dies, a new one repeats its request, up to `attempts` times in all.
    """

    def __init__(self, start: Callable[[], Worker], count: int, attempts: int) -> None:
        self.count = count
        self._start, self._attempts = start, attempts
        self._lock, self._closed, self._all = threading.Lock(), False, weakref.WeakSet[Worker]()
        self._idle = queue.LifoQueue[Worker | None]()  # the last one is still warm
        for _ in range(count):
            self._idle.put(None)

    def ask(self, method: str, **options: Any) -> Any:
        """Ask a free worker, see `Worker.ask`. Raises WorkerDied if the worker dies at every attempt."""
        worker = self._idle.get()
        try:
            for _ in range(self._attempts - 1):
                with suppress(WorkerDied):
                    worker = self._living(worker)
                    return worker.ask(method, **options)
            worker = self._living(worker)
            return worker.ask(method, **options)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End the processes; a thread waiting for an answer or for a free worker gets WorkerDied."""
        with self._lock:
            self._closed = True
            for worker in self._all:
                worker.kill()
        for _ in range(self.count):
            if idle := self._idle.get():
                idle.close()
        for _ in range(self.count):
            self._idle.put(None)

    def _living(self, worker: Worker | None) -> Worker:
        with self._lock:
            if self._closed:
                raise WorkerDied("the workers have been ended")
            if worker is None or not worker.is_alive:
                worker = self._start()
                self._all.add(worker)
            return worker


def run(
    arguments: Sequence[str],
    *,
    folder: Path,
    seconds: float,
    memory: int = 0,
    disk: int = 0,
    most: int,
    environment: Mapping[str, str] = os.environ,
) -> tuple[bytes, str, int]:
    """Run Python with these arguments, in limits: its standard output, the end of its standard error, its exit code.

    folder: where it runs, and where its messages are kept meanwhile. memory, disk: limits of the address space and of
    each file that it writes, in bytes, where the system has them. most: bytes of output after which it is ended; one
    more than these is then returned. environment: all variables of the process. Raises TimeoutError after `seconds`,
    WorkerDied if it cannot be started.
    """
    late = threading.Event()
    with (folder / ".messages").open("w+b") as messages:
        process = _start(arguments, environment, subprocess.DEVNULL, messages, folder)

        def expire() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(seconds, expire)
        timer.start()
        try:
            _limit_process(process.pid, memory, disk, seconds)
            with process:
                assert process.stdout
                printed = process.stdout.read(most + 1)
                if len(printed) > most:
                    _kill(process)
        finally:
            timer.cancel()
            if process.returncode is None:
                _kill(process)
        if late.is_set():
            raise TimeoutError(f"took more than {seconds:.0f} s")
        messages.seek(-min(messages.seek(0, os.SEEK_END), 10_000), os.SEEK_END)
        return printed, messages.read().decode("utf-8", "replace").rstrip(), process.returncode


def give_way(process: int = 0) -> None:
    """Let other processes of this session go before this one, or before another."""
    with suppress(AttributeError, OSError):  # Windows has no priorities; the process may have ended
        os.setpriority(os.PRIO_PROCESS, process, 10)


def usable_cores() -> int:
    """How many processors this process may use: those of its affinity, at most the quota of its container."""
    from joblib import cpu_count

    return int(cpu_count())


def main() -> None:
    """Answer requests until standard input ends, as it does when the parent ends."""
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.SIG_IGN)  # sent to all processes of a terminal or a service; the parent handles them
    requests, answers, nowhere = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    module, name = sys.argv[1:]
    print_warnings()
    waiting = queue.SimpleQueue[bytes]()
    served: Any = None
    threading.Thread(target=_receive, args=(os.fdopen(requests, "rb"), waiting), daemon=True).start()
    with os.fdopen(answers, "wb") as stream:
        while True:
            request = waiting.get()
            try:
                if served is None:
                    served = getattr(importlib.import_module(module), name)()
                method, options = pickle.loads(request)  # noqa: S301  (of the parent)
                reply = pickle.dumps((None, getattr(served, method)(**options)))
            except TagwrightError as error:
                reply = pickle.dumps((TagwrightError, str(error)))
            except Exception as error:
                traceback.print_exc()
                reply = pickle.dumps((WorkerError, f"{type(error).__name__}: {one_line_of(error, 300)}"))
            stream.write(reply)
            stream.flush()


def _receive(stream: IO[bytes], waiting: queue.SimpleQueue[bytes]) -> None:
    """Read requests ahead, to notice the end of the stream even during a request."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            waiting.put(pickle.load(stream))  # noqa: S301  (of the parent)
    os._exit(0)


def _start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: int,
    stderr: int | IO[bytes] = subprocess.PIPE,
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start Python. It imports as this process does, but not from the working folder: an upload may be named so."""
    paths = os.pathsep.join(path for path in sys.path if path)
    variables = {**environment, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, *arguments]
    try:
        return subprocess.Popen(
            command, env=variables, cwd=folder, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
            process_group=None if folder is None else 0,  # not a session: Linux compares priorities within one
        )  # fmt: skip
    except OSError as error:
        raise WorkerDied(f"{sys.executable} cannot be started: {error.strerror}") from None


def _limit_process(process: int, memory: int, disk: int, seconds: float) -> None:
    """Limit a program that has just been started, and let this process go before it.

    It ends after its time even if nobody is left to end it.
    """
    give_way(process)
    with suppress(ImportError, AttributeError, OSError):  # only Linux has such bounds
        import resource

        resource.prlimit(process, resource.RLIMIT_CPU, (2 * int(seconds) + 1,) * 2)
        for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, disk)):
            if most:
                resource.prlimit(process, kind, (most, most))


def _kill(program: subprocess.Popen[bytes]) -> None:
    """End a program of `run` with all that it has started."""
    with suppress(OSError):
        os.killpg(program.pid, signal.SIGKILL) if hasattr(os, "killpg") else program.kill()


def _log_lines(stream: IO[bytes], name: str, said: deque[str]) -> None:
    with TextIOWrapper(stream, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line := line.strip():
                said.append(line)
                _log.info("%s: %s", name, line)


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """End the process and free its resources, unless this is a fork of its owner."""
    if os.getpid() != owner:
        return
    process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()
    if process.stdin:
        with suppress(OSError):  # the rest of an interrupted request
            process.stdin.close()
