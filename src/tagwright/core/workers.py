"""Run work in other processes: start them, send requests, limit memory and time, and end them.

A worker is a process that holds one object of a class and calls its methods on request. Requests and answers are lines
of JSON with the raw bytes of arrays behind them, never pickles, so a process that reads untrusted files cannot make its
parent run anything. The annotations of a method give the types of its arguments and its result.

A worker ends with its `Worker` object or its parent process, even during a request. If the parent dies, the worker
removes the last folder that a request named as `scratch`. The parent handles Ctrl-C and SIGTERM. Standard output of a
worker is dropped; its standard error goes to the parent's log.
"""

import importlib
import json
import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from types import NoneType, UnionType
from typing import IO, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from tagwright.errors import TagwrightError, one_line_of

Arrays: TypeAlias = dict[str, Any]

PROGRAM = "from tagwright.core.workers import main; main()"

_log = logging.getLogger(__name__)


class WorkerError(TagwrightError):
    """A worker could not do what it was asked. The message gives the reason, as part of a sentence."""


class WorkerDied(WorkerError):  # noqa: N818  (it says what has happened)
    """The process of a worker has ended."""


class WorkerTimeout(WorkerDied):
    """A request took too long, and the process of the worker was ended."""


class Worker:
    """A process that creates an object of a class, without arguments, and calls its methods on request.

    environment: all variables of the process. memory: limit of the address space in bytes, where the system has one.
    seconds: time limit of a request, including the start of the process. Threads may share a worker, forks may not.
    Raises WorkerDied if the process cannot be started.
    """

    def __init__(
        self, kind: type, *, environment: Mapping[str, str] = os.environ, memory: int = 0, seconds: float | None = None
    ) -> None:
        self._kind, self._seconds, self._late = kind, seconds, False
        self._owner, self._lock, self._said = os.getpid(), threading.Lock(), deque[str](maxlen=1)
        # import as this process does, but not from the working folder: an upload may have the name of a module
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, kind.__module__, kind.__name__, str(memory)],
                env={**environment, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise WorkerDied(f"{kind.__name__} cannot be started: {error.strerror}") from None
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
        with self._lock:
            if not self._end.alive:
                raise WorkerDied(f"the process of {self._kind.__name__} has ended; load the tagger again")
            timer = threading.Timer(self._seconds or 0, self._expire)
            if self._seconds:
                timer.start()
            try:
                reply, arrays = self._exchange([method, options])
            except BaseException:
                self._end()
                raise
            finally:
                timer.cancel()
        if "error" in reply:
            raise (TagwrightError if reply["expected"] else WorkerError)(reply["error"])
        return _typed(_hints(getattr(self._kind, method))["return"], reply["result"], arrays)

    def kill(self) -> None:
        """End the process at once; a thread waiting for an answer gets WorkerDied."""
        self._process.kill()

    def close(self) -> None:
        """End the process and free its resources."""
        self._end()

    def _exchange(self, request: object) -> tuple[Any, Arrays]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        with suppress(OSError, EOFError):
            _write(stdin, request)
            reply, size = _read_value(stdout)
            return reply, _read_arrays(stdout, size)
        status = self._process.wait()
        if self._late:
            raise WorkerTimeout(f"{self._kind.__name__} took more than {self._seconds:.0f} s")
        if status < 0:
            raise WorkerDied(f"{self._kind.__name__} was killed by signal {-status}; is there enough memory?")
        self._logger.join(1)  # a child of the worker may still hold standard error open
        raise WorkerDied(f"{self._kind.__name__} has died: {self._said[-1] if self._said else f'exit status {status}'}")

    def _expire(self) -> None:
        self._late = True
        self.kill()


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


def usable_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main() -> None:
    """Answer requests until standard input ends, as it does when the parent ends."""
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.SIG_IGN)  # sent to all processes of a terminal or a service; the parent handles them
    requests, answers, nowhere = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    module, name, memory = sys.argv[1:]
    _bound_memory(int(memory))
    waiting = queue.SimpleQueue[tuple[Any, Arrays]]()
    served: Any = None
    threading.Thread(target=_receive, args=(os.fdopen(requests, "rb"), waiting), daemon=True).start()
    with os.fdopen(answers, "wb") as stream:
        while True:
            (method, options), arrays = waiting.get()
            try:
                if served is None:
                    served = getattr(importlib.import_module(module), name)()
                hints = _hints(getattr(type(served), method))
                given = {option: _typed(hints[option], value, arrays) for option, value in options.items()}
                reply = {"result": getattr(served, method)(**given)}
            except TagwrightError as error:
                reply = {"error": str(error), "expected": True}
            except Exception as error:
                traceback.print_exc()
                reply = {"error": f"{type(error).__name__}: {one_line_of(error, 300)}", "expected": False}
            _write(stream, reply)


def _receive(stream: IO[bytes], waiting: queue.SimpleQueue[tuple[Any, Arrays]]) -> None:
    """Read requests ahead, to notice the end of the stream even during a request."""
    scratch = None
    with suppress(EOFError, OSError):
        while True:
            request, size = _read_value(stream)
            scratch = request[1].get("scratch", scratch)
            waiting.put((request, _read_arrays(stream, size)))
    if scratch:
        for _ in range(2):  # the other thread may write a file after the first has listed what there is
            shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _bound_memory(size: int) -> None:
    if size:
        with suppress(ImportError):  # Windows has no such bound
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (size, size))


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


def _write(stream: IO[bytes], value: object) -> None:
    """Write a message and flush it: a line with the value and the size of the arrays, and the arrays."""
    arrays: Arrays = {}
    line = json.dumps(value, default=lambda part: _plain(part, arrays))
    content = b""
    if arrays:
        from safetensors.numpy import save

        content = save(arrays)
    stream.write(f"[{line}, {len(content)}]\n".encode())
    stream.write(content)
    stream.flush()


def _read_value(stream: IO[bytes]) -> tuple[Any, int]:
    """The value of the next message and the size of its arrays. Raises EOFError where the stream ends."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    value, size = json.loads(line)
    return value, size


def _read_arrays(stream: IO[bytes], size: int) -> Arrays:
    if not size:
        return {}
    from safetensors.numpy import load

    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return load(content)


def _plain(value: Any, arrays: Arrays) -> object:
    """Return the JSON form of a value. Add an array to `arrays` and return its name there."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Path):
        return str(value)
    if not hasattr(value, "dtype"):
        raise TypeError(f"{type(value).__name__} cannot be sent to another process")
    name = str(len(arrays))
    arrays[name] = value if value.flags.c_contiguous else value.copy()  # safetensors ignores strides
    return name


@cache
def _hints(described: Any) -> dict[str, Any]:
    return get_type_hints(described)


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a type into the type without parameters and its parameters; treat X | None as X."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    return get_origin(kind) or kind, get_args(kind)


def _typed(kind: Any, value: Any, arrays: Arrays) -> Any:
    """Convert the JSON form of a value back to its type."""
    whole, parts = _parts(kind)
    if value is None or whole in (str, int, float, bool):
        return value
    if hasattr(whole, "__dataclass_fields__"):
        hints = _hints(whole)
        return whole(**{name: _typed(hints[name], part, arrays) for name, part in value.items()})
    if hasattr(whole, "_fields"):
        return whole(*(_typed(part, each, arrays) for part, each in zip(_hints(whole).values(), value, strict=True)))
    if whole is tuple and parts[-1] is not ...:
        return tuple(_typed(part, each, arrays) for part, each in zip(parts, value, strict=True))
    if whole in (list, tuple):
        return whole(_typed(parts[0], each, arrays) for each in value)
    if whole in (dict, Mapping):
        return {name: _typed(parts[1], each, arrays) for name, each in value.items()}
    if whole is Path:
        return Path(value)
    return arrays[value] if whole.__module__ == "numpy" else value
