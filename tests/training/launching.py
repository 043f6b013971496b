"""How tests start processes that need not import everything anew."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a process that does this, forked from one that has imported the libraries, where the system can fork."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(["sentence_transformers", "tests.training.training_run"])
    process = context.Process(target=target, args=arguments)  # type: ignore[attr-defined]
    process.start()
    return process  # type: ignore[no-any-return]


def fork_ranks(processes: int, work: Callable[[], None]) -> None:
    """Do this in several processes that compute together, with the variables that `accelerate launch` sets for each.

    They are forked from this one, which has imported everything, and end as any Python does; so does this one, with
    exit code 1 if one of them failed.
    """
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    reading, writing = os.pipe()
    children = []
    for rank in range(processes):
        if child := os.fork():
            children.append(child)
            continue
        port = os.read(reading, 5).decode()
        numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}
        os.environ |= {name: str(number) for name, number in numbers.items()}
        os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True"}
        work()
        sys.exit()
    # Only now: its thread would not be there in the forked processes, which would wait for it in the end.
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    os.write(writing, f"{store.port:05}".encode() * processes)
    ended = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(any(ended))
