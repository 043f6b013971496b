"""How tests start programs: on two processes, or in a process that need not import everything anew."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

TWO_PROCESSES = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
"""The command, before `-m MODULE`: what `accelerate launch` calls for several devices.

`accelerate launch --cpu` starts one process only, unless MPI is installed.
"""


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a process that does this, forked from one that has imported the libraries, where the system can fork."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(["sentence_transformers", "tests.training.training_run"])
    process = context.Process(target=target, args=arguments)  # type: ignore[attr-defined]
    process.start()
    return process  # type: ignore[no-any-return]
