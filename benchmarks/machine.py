"""What the figures were measured on, and measurements in a process of their own."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

LEVELS: Mapping[str, Mapping[str, str]] = {
    "as it is": {},
    "AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    "AVX-512 with VNNI": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI", "ATEN_CPU_CAPABILITY": "avx512"},
}
"""What oneDNN and torch are told that the processor has. MKL, with which other libraries compute, has no such variable.

See `levels`."""


def levels() -> dict[str, Mapping[str, str]]:
    """Those of LEVELS that this processor has."""
    return {name: each for name, each in LEVELS.items() if "VNNI" not in name or "avx512_vnni" in processor()}


def describe() -> str:
    """Processor, cores, Python, torch where it is installed, and the day, in one line."""
    parts = [processor(), f"{os.cpu_count()} cores", f"Python {platform.python_version()}"]
    if find_spec("torch"):
        import torch

        parts.append(f"torch {torch.__version__}")
        if torch.cuda.is_available():
            parts.insert(0, torch.cuda.get_device_name())
    return ", ".join([*parts, datetime.now(UTC).strftime("%Y-%m-%d")])


def processor() -> str:
    """The processor's own name and the extensions that matter for matrix products."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    found = {key.strip(): value.strip() for key, value in fields.items()}
    flags = [flag for flag in ("amx_bf16", "avx512_bf16", "avx512_vnni") if flag in found.get("flags", "").split()]
    return f"{found.get('model name', platform.processor())}{f' ({chr(44).join(flags)})' if flags else ''}"


def timed(function: Callable[[], Result]) -> tuple[float, float, Result]:
    """Seconds on the clock and of the processor, which other work on the machine changes less; and what it gives."""
    clock, processor = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - clock, time.process_time() - processor, result


SELF, CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


def processor_seconds(*who: int) -> float:
    """Of this process, of its children that have ended, or of both."""
    return sum(resource.getrusage(each).ru_utime + resource.getrusage(each).ru_stime for each in who)


def peak_mb() -> float:
    """The most memory of this process. What getrusage says includes, on Linux, that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return int(fields["VmHWM"].split()[0]) / 2**10
    return resource.getrusage(SELF).ru_maxrss / 2**20


def family(pid: int) -> list[int]:
    """A process and those below it (Linux)."""
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        for children in Path(f"/proc/{found[-1]}").glob("task/*/children"):
            with suppress(OSError):  # it has ended meanwhile
                todo += map(int, children.read_text(encoding="ascii").split())
    return found


def in_own_process(name: str, *arguments: str, variables: Mapping[str, str] | None = None) -> Any:
    """What the command of this name prints last, as JSON; variables: of its environment, besides those of this one."""
    command = [sys.executable, "-m", "benchmarks", name, *arguments]
    done = subprocess.run(command, env={**os.environ, **(variables or {})}, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])
