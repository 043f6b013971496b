"""The processes that `accelerate launch` started together, of which this is one."""

from __future__ import annotations

import atexit
import gc
from functools import cache
from typing import TYPE_CHECKING

from tagwright.encoders.kernels import best_device

if TYPE_CHECKING:
    from accelerate import Accelerator


def accelerator() -> Accelerator:
    """What joins this process to the others, if there are any. Its device is that on which texts are encoded."""
    # Imported while there are no connections: its functions hold those that there are for ever.
    import torch.distributed.nn.functional  # noqa: F401
    from accelerate import Accelerator

    _leave_in_order()
    return Accelerator(cpu=best_device().type == "cpu")


@cache
def _leave_in_order() -> None:
    """Take leave of the others before Python ends: their connections have threads that must not outlive it.

    A thread that still releases the tensors of the last exchange while Python ends aborts the process.
    """

    def leave() -> None:
        from torch import distributed

        if distributed.is_available() and distributed.is_initialized():
            gc.collect()  # models that are trained together hold the connections
            distributed.destroy_process_group()

    atexit.register(leave)
