"""Tag shards as tasks of a Ray cluster.

The tagger is put into the cluster once; each process that runs a task writes it to its own disk and loads it, once.
Documents travel with a task and suggestions back, so only this machine needs the input and the output. A process or
node that dies costs the shards it was at, which Ray gives to others.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import ray as _ray

from tagwright.batch.local_processes import ATTEMPTS, NO_CACHE, ONE_THREAD, REMEDY, Tagged
from tagwright.batch.output_folder import BatchOptions
from tagwright.batch.shards import Shard, Unread
from tagwright.core.atomic import remove_abandoned
from tagwright.core.kept_folders import new_folder
from tagwright.core.saved import pack, unpack
from tagwright.errors import ConfigError, TagwrightError, class_and_message, one_line_of

ray: Any = _ray
"Its types do not know tasks that are made at run time."


def on_ray(shards: Iterator[Shard], model: Path, digest: str, options: BatchOptions, address: str) -> Iterator[Tagged]:
    """Tag shards on a cluster, in the order in which they are done; at most two for each device are read at a time.

    address: of the cluster, or "local" for one on this machine that ends with the work. Raises ConfigError when it
    cannot be reached, TagwrightError for a shard whose processes die at every attempt, and what a tagger raises.
    """
    with contextlib.redirect_stdout(sys.stderr):  # where Ray says that a node has died
        _connect(address)
        try:
            files, at_work = ray.put(pack(model)), dict[Any, Shard]()
            gpus = 1 if ray.cluster_resources().get("GPU") else 0
            # max_calls: 0 stands for any number; by default a process with a GPU ends after one
            tag = ray.remote(num_cpus=1, num_gpus=gpus, max_calls=0, max_retries=ATTEMPTS - 1)(_tag)
            while True:
                for shard in islice(shards, max(0, 2 * _devices() - len(at_work))):
                    # in a list, the files are not fetched before they are needed
                    at_work[tag.remote([files], digest, options, shard.path.read_bytes())] = shard
                if not at_work:
                    return
                (answer, *_), _ = ray.wait(list(at_work))
                yield _receive_shard(at_work.pop(answer), answer)
        finally:
            ray.shutdown()
            remove_abandoned()  # of the processes that were on this machine


def _connect(address: str) -> None:
    if address == "local":  # by default Ray takes the lowest priority: beside other work, almost no processor time
        os.environ.setdefault("RAY_worker_niceness", "0")
    # After 20 s without a word a node is asked whether it is there, and must answer in 20 s. By default Ray waits for
    # five minutes and for two: all that time nothing is tagged where a node has lost its power or its network. With
    # these it was a minute at most.
    for wait in ("time", "timeout"):
        os.environ.setdefault(f"RAY_grpc_client_keepalive_{wait}_ms", "20000")
    try:
        ray.init(
            address=address,  # "local" starts a cluster, also where one runs or its death left traces
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigError(f"--ray {address}: no cluster can be reached there ({one_line_of(error)})") from None


def _devices() -> int:
    """Number of GPUs, or of processors without GPUs, also of nodes that have joined since; a task has one."""
    resources = ray.cluster_resources()
    return max(1, int(resources.get("GPU", 0)) or int(resources.get("CPU", 1)))


def _tag(model: list[Any], digest: str, options: BatchOptions, documents: bytes) -> tuple[bytes, list[Unread]]:
    """Tag a file of documents, given as bytes. Return the file of suggestions, and the documents that failed."""
    place, tagger = _unpack(model[0])  # sets variables that libraries read when they are imported
    from tagwright.batch.shard_tagging import tag_shard

    source, target = place / "documents.jsonl", place / "suggestions"
    source.write_bytes(documents)
    failed = tag_shard(tagger, digest, options, source, target)
    return target.read_bytes(), failed


@cache
def _unpack(files: Any) -> tuple[Path, Path]:
    """A folder for this process, and that of the tagger, from files in the cluster."""
    os.environ.update({**NO_CACHE, **ONE_THREAD, **os.environ})
    return new_folder(), unpack(ray.get(files))


def _receive_shard(shard: Shard, answer: Any) -> Tagged:
    try:
        suggestions, failed = ray.get(answer)
    except ray.exceptions.RayTaskError as error:
        problem = f"tagging failed ({class_and_message(error.cause)})"
        raise TagwrightError(str(error.cause) if isinstance(error.cause, TagwrightError) else problem) from None
    except ray.exceptions.RayError as error:
        died = f"shard {shard.number}: {ATTEMPTS} processes died ({one_line_of(error, 200)})"
        raise TagwrightError(f"{died}; {REMEDY}") from None
    path = shard.path.with_suffix(".suggestions")
    path.write_bytes(suggestions)
    return shard, path, failed
