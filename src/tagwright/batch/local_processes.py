"""Tag shards with several processes of this machine.

Each process loads the tagger, memory-mapped, and computes with one thread: so the suggestions do not depend on the
number of processes. A process that is killed costs the shard it was at, which another one takes over.
"""

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from tagwright.batch.output_folder import BatchOptions
from tagwright.batch.shards import Shard, Unread
from tagwright.core.workers import Pool, Worker, WorkerDied
from tagwright.errors import TagwrightError

ATTEMPTS = 3
"Number of attempts at a shard whose processes die, before an error is raised."

REMEDY = "start again with fewer processes or on a machine with more memory: what is done stays done"

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1"),
    "TOKENIZERS_PARALLELISM": "false",
}
"Environment variables: one thread in every library."

NO_CACHE = {"TAGWRIGHT_CACHE_DOCUMENTS": "no"}
"Vectors of millions of documents would fill the cache, and are not needed again."


Tagged: TypeAlias = tuple[Shard, Path, list[Unread]]
"A shard with its file of suggestions, and the documents that could not be tagged."


def in_processes(
    shards: Iterator[Shard], model: Path, digest: str, options: BatchOptions, processes: int
) -> Iterator[Tagged]:
    """Tag shards in several processes, and yield them in the order in which they are finished.

    At most two shards per process are read at a time: while a process tags one, the next one is read for it. Raises
    TagwrightError for a shard whose processes die at every attempt, and the errors of the tagger.
    """
    from tagwright.batch.shard_tagging import ShardWorker

    def start() -> Worker:
        return Worker(ShardWorker, {**NO_CACHE, **os.environ, **ONE_THREAD})

    pool, at_work = Pool(start, processes, ATTEMPTS), dict[Future[Any], tuple[Shard, Path]]()
    with ThreadPoolExecutor(processes) as threads:
        try:
            while True:
                for shard in islice(shards, 2 * processes - len(at_work)):
                    target = shard.path.with_suffix(".suggestions")
                    arguments = {"model": model, "digest": digest, "options": options}
                    arguments |= {"documents": shard.path, "suggestions": target}
                    at_work[threads.submit(pool.ask, "tag", **arguments)] = shard, target
                if not at_work:
                    return
                for answer in wait(at_work, return_when=FIRST_COMPLETED).done:
                    shard, target = at_work.pop(answer)
                    try:
                        yield shard, target, answer.result()
                    except WorkerDied as error:
                        died = f"shard {shard.number}: {ATTEMPTS} processes died ({error})"
                        raise TagwrightError(f"{died}; {REMEDY}") from None
        finally:
            pool.close()
