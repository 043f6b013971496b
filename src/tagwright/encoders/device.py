"""Choose the device on which models compute: a GPU by CUDA, or the processor."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from tagwright.core.workers import usable_cores
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    import torch

Device: TypeAlias = Literal["auto", "cpu", "cuda"]

_chosen: ContextVar[Device] = ContextVar("device", default="auto")


@contextmanager
def on_device(device: Device) -> Iterator[None]:
    """Models that are made or trained inside this block compute on this device; auto changes nothing.

    Raises ConfigError for a missing device.
    """
    if device not in get_args(Device):
        raise ConfigError(f"device is {device!r}, expected one of {', '.join(get_args(Device))}")
    token = _chosen.set(_chosen.get() if device == "auto" else device)
    try:
        uses_gpu()  # fail now, not when the first text is encoded
        yield
    finally:
        _chosen.reset(token)


def chosen_device() -> Device:
    """The device requested by the enclosing block; models that are loaded later remember it."""
    return _chosen.get()


def uses_gpu() -> bool:
    """Whether the device of `on_device` is CUDA, or it is auto and torch finds CUDA.

    Torch takes a second to import: it is asked only where the machine has NVIDIA's driver. Apple's GPU (MPS) is never
    used, as it is untested. Raises ConfigError where CUDA is requested and missing.
    """
    device = _chosen.get()
    if device == "cpu":
        return False
    found = has_driver() and find_spec("torch") is not None and _torch_finds_cuda()
    if device == "cuda" and not found:
        raise ConfigError('device is "cuda", but torch finds no such device here; leave it out or take "cpu"')
    return found


def gpu_name() -> str:
    """What the GPU is called. Call it only where `uses_gpu`."""
    import torch

    return torch.cuda.get_device_name()


def best_device() -> torch.device:
    """The device of `uses_gpu`, for torch."""
    import torch

    return torch.device("cuda" if uses_gpu() else "cpu")


def best_dtype(device: torch.device) -> torch.dtype:
    """The number format in which torch trains: bfloat16 where the device multiplies it in hardware, otherwise float32.

    CUDA, AMX and AVX512-BF16 do.
    """
    import torch

    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    able: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    in_hardware = able.get("avx512_bf16") or able.get("amx_bf16")
    return torch.bfloat16 if in_hardware and not _limited() else torch.float32


_BEFORE_BFLOAT16 = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI"}


def _limited() -> bool:
    """Whether the user restricts oneDNN or torch to fewer instructions than `torch.cpu` reports."""
    isa = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA") or ""
    return isa.upper() in _BEFORE_BFLOAT16 or os.environ.get("ATEN_CPU_CAPABILITY", "").lower() in {"default", "avx2"}


def threads() -> int:
    """How many cores encoding uses: those that this process may use, at most $OMP_NUM_THREADS."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(usable_cores(), int(limit))) if limit.isdecimal() else usable_cores()


@cache
def has_driver() -> bool:
    """Whether NVIDIA's driver is installed."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _torch_finds_cuda() -> bool:
    import torch

    return torch.cuda.is_available()
