"""Tag shards with several processes of this machine.

Each process loads the tagger, memory-mapped, and computes with one thread: so the suggestions do not depend on the
number of processes. A process that is killed costs the shard it was at, which another one takes over.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tagwright.errors import TagwrightError, one_line_of
from tagwright.scale.batch_options import BatchOptions
from tagwright.scale.shards import Shard, Unread

ATTEMPTS = 3
"How often a shard is begun before the processes that died over it are taken to show a lasting problem."

REMEDY = "start again with fewer processes or on a machine with more memory: what is done stays done"

ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1"),
    "TOKENIZERS_PARALLELISM": "false",
    "TAGWRIGHT_CACHE_DOCUMENTS": "no",
}
"""One thread for every library. What is computed for millions of documents would fill the cache and is not needed
again."""


@dataclass(frozen=True)
class Tagged:
    """A shard with its file of suggestions, and the documents that could not be tagged."""

    shard: Shard
    suggestions: Path
    failed: list[Unread]


@dataclass
class _Worker:
    """A process, its end of the pipe, and the shard it is at. attempt: how often that shard has been begun."""

    process: Any
    pipe: Connection
    shard: Shard | None = None
    attempt: int = 0

    def give(self, shard: Shard, attempt: int) -> None:
        self.shard, self.attempt = shard, attempt
        with contextlib.suppress(OSError):  # the process is dead, as will be seen when its answer is awaited
            self.pipe.send((shard.path, _result(shard)))


def in_processes(shards: Iterator[Shard], model: Path, options: BatchOptions, processes: int) -> Iterator[Tagged]:
    """Tag shards in so many processes, in the order in which they are done.

    One shard more than there are processes has been read at a time. Raises TagwrightError for a shard over which
    processes die again and again, and what a tagger raises.
    """
    workers: list[_Worker] = []
    again: list[tuple[Shard, int]] = []
    try:
        while True:
            while len(workers) < processes or any(worker.shard is None for worker in workers):
                shard, attempt = again.pop() if again else (next(shards, None), 1)
                if shard is None:
                    break
                _idle(workers, model, options).give(shard, attempt)
            busy = [worker for worker in workers if worker.shard]
            if not busy:
                return
            for worker in _ready(busy):
                if tagged := _received(worker):
                    yield tagged
                else:
                    workers.remove(worker)
                    again.append(_begun_again(worker))
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()


def _idle(workers: list[_Worker], model: Path, options: BatchOptions) -> _Worker:
    for worker in workers:
        if worker.shard is None:
            return worker
    workers.append(_started(model, options))
    return workers[-1]


def _started(model: Path, options: BatchOptions) -> _Worker:
    """A new process; another one where it dies before it has read what it shall do."""
    context = multiprocessing.get_context("spawn")
    for _ in range(ATTEMPTS):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, model, options), daemon=True)
        try:
            with _environment(ENVIRONMENT):
                process.start()
            return _Worker(process, ours)
        except BrokenPipeError:
            ours.close()
        finally:
            theirs.close()  # so that the pipe ends with the process
    raise TagwrightError(f"{ATTEMPTS} processes died when they were started; {REMEDY}")


def _ready(busy: list[_Worker]) -> list[_Worker]:
    ready = wait([worker.pipe for worker in busy])
    return [worker for worker in busy if worker.pipe in ready]


def _received(worker: _Worker) -> Tagged | None:
    """What a worker has done; None when it is dead. Raises what it raised."""
    shard = worker.shard
    assert shard is not None
    try:
        answer = worker.pipe.recv()
    except (EOFError, OSError):
        return None
    if isinstance(answer, Exception):
        raise answer
    worker.shard = None
    return Tagged(shard, _result(shard), answer)


def _begun_again(worker: _Worker) -> tuple[Shard, int]:
    worker.process.join()
    shard = worker.shard
    assert shard is not None
    if worker.attempt >= ATTEMPTS:
        how = f"exit code {worker.process.exitcode}; -9 most often means that memory ran out"
        raise TagwrightError(f"shard {shard.number}: {ATTEMPTS} processes died over it ({how}); {REMEDY}")
    return shard, worker.attempt + 1


def _result(shard: Shard) -> Path:
    return shard.path.with_suffix(".suggestions")


def _work(pipe: Connection, model: Path, options: BatchOptions) -> None:
    """A process: tag what comes through the pipe until it ends, as it does when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    with contextlib.suppress(EOFError, OSError):  # of the pipe, when the parent is dead
        pipe.send(_failure(pipe, model, options))


def _failure(pipe: Connection, model: Path, options: BatchOptions) -> TagwrightError:
    """Work until the pipe ends, which is an EOFError or OSError, or tagging fails, and say how."""
    try:
        from tagwright.scale.shard_tagging import ShardTagger

        tagger = ShardTagger.load(model, options)
        while True:
            documents, suggestions = pipe.recv()
            pipe.send(tagger.write(documents, suggestions))
    except (EOFError, ConnectionError):
        raise
    except TagwrightError as error:
        return TagwrightError(str(error))
    except Exception as error:
        return TagwrightError(f"tagging failed ({type(error).__name__}: {one_line_of(error, 300)})")


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these for processes that are started here. A variable of our own that is set already keeps its value."""
    before = {name: os.environ.get(name) for name in variables}
    ours = {name for name in variables if name.startswith("TAGWRIGHT_") and before[name] is not None}
    os.environ.update({name: value for name, value in variables.items() if name not in ours})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
