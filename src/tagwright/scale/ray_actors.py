"""Tag shards with the actors of a Ray cluster.

The tagger is put into the cluster once; an actor for each device writes it to its own disk and loads it. Documents
travel to the actors and suggestions back, so only this machine needs the input and the output. An actor has one shard
at a time. A node that dies costs the shard it was at; another actor takes it over.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray as _ray

from tagwright.core.scratch import remove_abandoned, scratch_folder
from tagwright.errors import ConfigError, one_line_of
from tagwright.scale.actor_pool import ActorDied, ActorPool
from tagwright.scale.local_processes import NO_CACHE, ONE_THREAD, Tagged
from tagwright.scale.output_folder import BatchOptions
from tagwright.scale.shards import Shard, Unread

ray: Any = _ray
"Its types do not know actors that are made at run time."


def on_ray(shards: Iterator[Shard], model: Path, options: BatchOptions, address: str) -> Iterator[Tagged]:
    """Tag shards on a cluster, in the order in which they are done.

    address: of the cluster, or "local" for one on this machine that ends with the work. Raises ConfigError when it
    cannot be reached, TagwrightError for a shard over which actors die again and again, and what a tagger raises.
    """
    with contextlib.redirect_stdout(sys.stderr):  # where Ray says that a node has died
        _connect(address)
        try:
            for shard, answer in ActorPool(_Cluster(model, options)).tag(shards):
                yield _received(shard, answer)
        finally:
            ray.shutdown()
            remove_abandoned()  # of the actors that were on this machine


def _connect(address: str) -> None:
    if address == "local":  # by default Ray takes the lowest priority: beside other work, almost no processor time
        os.environ.setdefault("RAY_worker_niceness", "0")
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
    """The actors of a cluster, one for each device."""

    def __init__(self, model: Path, options: BatchOptions) -> None:
        files = {file.relative_to(model).as_posix(): file.read_bytes() for file in model.rglob("*") if file.is_file()}
        self._model, self._options = ray.put(files), options

    def devices(self) -> int:
        """Number of GPUs, or of processors without GPUs; each actor has one."""
        resources = ray.cluster_resources()
        return max(1, int(resources.get("GPU", 0)) or int(resources.get("CPU", 1)))

    def start(self) -> tuple[Any, Any]:
        """Ray waits with it until a node has room."""
        gpus = 1 if ray.cluster_resources().get("GPU") else 0
        kind = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0)(_Actor)
        actor = kind.remote(self._model, self._options)
        return actor, actor.ready.remote()

    def give(self, actor: Any, shard: Shard) -> Any:
        return actor.tag.remote(shard.path.read_bytes())

    def first(self, answers: Sequence[Any]) -> Any:
        (ready, *_), _ = ray.wait(answers)
        return ready

    def read(self, answer: Any) -> Any:
        return read(answer)

    def discard(self, actor: Any) -> None:
        ray.kill(actor)


class _Actor:
    """A process on some node, with a tagger of its own."""

    def __init__(self, model: Mapping[str, bytes], options: BatchOptions) -> None:
        os.environ.update({**NO_CACHE, **ONE_THREAD, **os.environ})
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
        """A file of documents in, the file of suggestions and the documents without any out."""
        source, target = self._place / "documents.jsonl", self._place / "suggestions"
        source.write_bytes(documents)
        failed = self._tagger.write(source, target)
        return target.read_bytes(), failed


def read(answer: Any) -> Any:
    """Return an actor's result. Raises ActorDied, also if it was lost with its node, and errors of the actor."""
    try:
        return ray.get(answer)
    except ray.exceptions.RayTaskError as error:
        from tagwright.scale.shard_tagging import failure

        raise failure(error.cause) from None
    except ray.exceptions.RayError as error:
        raise ActorDied(str(error)) from None


def _received(shard: Shard, answer: tuple[bytes, list[Unread]]) -> Tagged:
    suggestions, failed = answer
    path = shard.path.with_suffix(".suggestions")
    path.write_bytes(suggestions)
    return Tagged(shard, path, failed)
