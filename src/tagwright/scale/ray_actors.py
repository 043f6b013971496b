"""Shards in, the same shards tagged by the actors of a Ray cluster out.

The tagger is put into the cluster once; an actor for each device writes it to its own disk and loads it. Documents
travel to the actors and suggestions back, so only this machine needs the input and the output. An actor has one shard
at a time. A node that dies costs the shard it was at; another actor takes it over.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray as _ray

from tagwright.errors import ConfigError, TagwrightError, one_line_of
from tagwright.scale.batch_options import BatchOptions
from tagwright.scale.local_processes import ATTEMPTS, ENVIRONMENT, Tagged
from tagwright.scale.shards import Shard, Unread
from tagwright.scratch import remove_abandoned, scratch_folder

ray: Any = _ray
"Its types do not know actors that are made at run time."


@dataclass(frozen=True)
class _Task:
    """What an actor is at. shard None: it loads the tagger. attempt: how often that has been begun."""

    actor: Any
    shard: Shard | None = None
    attempt: int = 1


def on_ray(shards: Iterator[Shard], model: Path, options: BatchOptions, address: str) -> Iterator[Tagged]:
    """Tag shards on a cluster, in the order in which they are done.

    address: of the cluster, or "local" for one on this machine that ends with the work. Raises ConfigError when it
    cannot be reached, TagwrightError for a shard over which actors die again and again, and what a tagger raises.
    """
    with contextlib.redirect_stdout(sys.stderr):  # where Ray says that a node has died
        _connect(address)
        try:
            yield from _Cluster(model, options).tag(shards)
        finally:
            ray.shutdown()
            remove_abandoned()  # of the actors that were on this machine


def _connect(address: str) -> None:
    try:
        ray.init(
            address=address,  # "local" starts a cluster, also where one runs or its death left traces
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigError(f"--ray {address}: no cluster can be reached there ({one_line_of(error)})") from None


class _Cluster:
    """The actors and what each is at."""

    def __init__(self, model: Path, options: BatchOptions) -> None:
        files = {file.relative_to(model).as_posix(): file.read_bytes() for file in model.rglob("*") if file.is_file()}
        self._model, self._options = ray.put(files), options
        self._tasks: dict[Any, _Task] = {}
        self._idle: list[Any] = []
        self._again: list[_Task] = []

    def tag(self, shards: Iterator[Shard]) -> Iterator[Tagged]:
        for _ in range(_devices()):
            self._start_actor()
        while True:
            while self._idle and (following := self._following(shards)):
                self._give(replace(following, actor=self._idle.pop()))
            if len(self._idle) and not any(task.shard for task in self._tasks.values()):
                return
            (ready, *_), _ = ray.wait(list(self._tasks))
            task = self._tasks.pop(ready)
            try:
                answer = ray.get(ready)
            except ray.exceptions.RayActorError as error:
                self._replace(task, error)
            except ray.exceptions.RayTaskError as error:
                raise _as_ours(error) from None
            else:
                self._idle.append(task.actor)
                if task.shard:
                    yield _received(task.shard, answer)

    def _following(self, shards: Iterator[Shard]) -> _Task | None:
        if self._again:
            return self._again.pop()
        shard = next(shards, None)
        return _Task(None, shard) if shard else None

    def _replace(self, task: _Task, error: Exception) -> None:
        """Another actor for one that died; its shard goes to whichever is free first."""
        following = _begun_again(task, error)
        if task.shard:
            self._again.append(following)
        self._start_actor(1 if task.shard else following.attempt)

    def _start_actor(self, attempt: int = 1) -> None:
        """Ray waits with it until a node has room. attempt: how many died in a row before they were ready, and one."""
        gpus = 1 if ray.cluster_resources().get("GPU") else 0
        kind = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0)(_Actor)
        actor = kind.remote(self._model, self._options)
        self._tasks[actor.ready.remote()] = _Task(actor, attempt=attempt)

    def _give(self, task: _Task) -> None:
        assert task.shard is not None
        self._tasks[task.actor.tag.remote(task.shard.path.read_bytes())] = task


class _Actor:
    """A process on some node, with a tagger of its own."""

    def __init__(self, model: Mapping[str, bytes], options: BatchOptions) -> None:
        os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
        self._files, self._options = model, options
        self._stack = contextlib.ExitStack()
        self._place = Path()
        self._tagger: Any = None

    def ready(self) -> None:
        """Load the tagger. An error in the constructor could not be told from the death of a node."""
        from tagwright.scale.shard_tagging import ShardTagger

        self._place = self._stack.enter_context(scratch_folder())
        for name, content in self._files.items():
            file = self._place / "model" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        self._files = {}
        self._tagger = ShardTagger.load(self._place / "model", self._options)

    def tag(self, documents: bytes) -> tuple[bytes, list[Unread]]:
        """Documents as an Arrow file in, the file of suggestions and the documents without any out."""
        source, target = self._place / "documents.arrow", self._place / "suggestions"
        source.write_bytes(documents)
        failed = self._tagger.write(source, target)
        return target.read_bytes(), failed


def _devices() -> int:
    """GPUs, or where there are none processors, each of which an actor gets for itself."""
    resources = ray.cluster_resources()
    return max(1, int(resources.get("GPU", 0)) or int(resources.get("CPU", 1)))


def _received(shard: Shard, answer: tuple[bytes, list[Unread]]) -> Tagged:
    suggestions, failed = answer
    path = shard.path.with_suffix(".suggestions")
    path.write_bytes(suggestions)
    return Tagged(shard, path, failed)


def _begun_again(task: _Task, error: Exception) -> _Task:
    if task.attempt >= ATTEMPTS:
        what = f"shard {task.shard.number}" if task.shard else "loading the tagger"
        problem = f"{what}: {ATTEMPTS} actors died over it ({one_line_of(error, 200)})"
        raise TagwrightError(f"{problem}; start again: what is done stays done")
    return replace(task, attempt=task.attempt + 1)


def _as_ours(error: Any) -> Exception:
    """What the tagger raised on its node."""
    cause = error.cause
    if isinstance(cause, TagwrightError):
        return TagwrightError(str(cause))
    return TagwrightError(f"tagging failed ({type(cause).__name__}: {one_line_of(cause, 300)})")
