"""Share work among the processes of `accelerate launch`: each does a part, and all get the whole result.

All processes must call these with the same arguments and in the same order. A single process does all the work.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagwright.core.progress import note
from tagwright.encoders.device import best_device
from tagwright.stages.dense import Dense, DenseOptions, TextEncoder
from tagwright.stages.dense.index import Search, Vectors
from tagwright.types import Document, Label, Run

if TYPE_CHECKING:
    from accelerate import Accelerator


def join_processes() -> Accelerator:
    """Return the accelerator that connects this process to the others, if any, on the device of the encoders."""
    # Import this before there are connections: its functions keep existing ones alive for ever.
    import torch.distributed.nn.functional  # noqa: F401
    from accelerate import Accelerator, DistributedDataParallelKwargs

    _leave_in_order()
    # A BERT has a pooler that most encoders do not use; no buffer changes.
    options = DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False)
    return Accelerator(cpu=best_device().type == "cpu", kwargs_handlers=[options])


@cache
def _leave_in_order() -> None:
    """Destroy the process group before exit: its threads must not outlive Python.

    A thread that releases tensors of the last exchange during the exit of Python aborts the process.
    """

    def leave() -> None:
        from torch import distributed

        if distributed.is_available() and distributed.is_initialized():
            gc.collect()  # models that are trained together hold the connections
            distributed.destroy_process_group()

    atexit.register(leave)


Number = TypeVar("Number", bound=np.generic)


def own_part(count: int) -> slice:
    """Return this process's part of `count` items: consecutive parts of equal size.

    >>> own_part(7)
    slice(0, 7, None)
    """
    process, processes = (int(os.environ.get(name, default)) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1")))
    return slice(count * process // processes, count * (process + 1) // processes)


def shared_labels(labels: Sequence[Label]) -> list[Label]:
    """Return this process's part of the labels: none if there are more processes than labels."""
    return [labels[place] for place in range(len(labels))[own_part(len(labels))]]


def is_single_process() -> bool:
    """Whether this is the only process."""
    return os.environ.get("WORLD_SIZE", "1") == "1"


def all_gather(mine: NDArray[Number]) -> NDArray[Number]:
    """The arrays (rows, ...) of all processes, one after the other, bit for bit."""
    if is_single_process():
        return mine
    from accelerate.utils import gather_object

    join_processes()
    return np.concatenate(gather_object([mine]))


def shared_run(documents: Sequence[Document], find: Callable[[Sequence[Document]], Run]) -> Run:
    """Return the labels that `find` finds for all documents, which are read batch by batch."""
    mine = own_part(len(documents))
    starts = range(mine.start, mine.stop, 1024)  # documents in memory together
    run = Run.concat([find(documents[start : min(start + 1024, mine.stop)]) for start in starts])
    indptr = np.concatenate([[0], np.cumsum(all_gather(np.diff(run.indptr)))])
    return Run(indptr, all_gather(run.labels), all_gather(run.scores))


def shared_dense(labels: Sequence[Label], encoder: TextEncoder, options: DenseOptions) -> Dense:
    """The stage over all labels, whose texts the processes share."""
    if is_single_process():
        if len(labels) >= 1000 and not sys.stderr.isatty():  # no bar is shown there
            note(f"encoding {len(labels):,} labels")
        return Dense(labels, encoder, options)
    mine = Dense(shared_labels(labels), encoder, options).vectors
    return Dense(labels, encoder, options, Search(Vectors(all_gather(mine.codes)), options.index))
