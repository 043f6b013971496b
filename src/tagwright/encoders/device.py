"""Where models compute: on a GPU by CUDA or on the processor, as the block around asks for."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from tagwright.core.workers import usable_cores
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    import torch

Device: TypeAlias = Literal["auto", "cpu", "cuda"]
Precision: TypeAlias = Literal["auto", "float32", "bfloat16", "int8"]


class ModelSettings(NamedTuple):
    """The settings of a block. precision: None leaves to each tagger what it was saved with."""

    device: Device = "auto"
    precision: Precision | None = None
    offline: bool = False


class Feed(NamedTuple):
    """How texts are fed to a device in training and in encoding: see `feed`."""

    chunk: int | None
    "Tokens, padding included, that a training encodes together; None: as many as have room."
    small: int
    "Tokens, padding included, up to which padding a chunk costs less than packing or parting it."
    padding: float
    "The most tokens of a larger chunk, padding included, for each token without it."
    kept: int | None
    "Tokens of a batch whose activations are kept; None: as many as fit in the memory that is free."
    packed: bool
    "Whether larger chunks are packed without padding, if the model can be."
    workers: int
    "The most processes that draw and tokenise batches ahead; 0: a thread does."
    captured: int
    "The most tokens of a step, padding included, that is done as a CUDA graph; 0: none."
    encoded: int
    "Tokens, padding included, that sentence-transformers encodes in a call, if that is more texts than usual."


PROCESSOR = Feed(chunk=4096, small=512, padding=1.1, kept=8192, packed=False, workers=0, captured=0, encoded=0)
"Larger chunks are not faster, and padding costs as much as any token."

CARD = Feed(chunk=None, small=16_384, padding=2.0, kept=None, packed=True, workers=8, captured=16_384, encoded=262_144)
"""Launching the kernels of a chunk takes as long as computing thousands of tokens.

As CUDA graphs, on an H100 beside other work, MiniLM did 221 steps of 8 pairs a second in place of 57, and 206 of 4
triples in place of 55 (up to 4,096 tokens), 46 of 64 pairs in place of 34 (32,768), 25 of 128 pairs in place of 20, but
22 of 64 triples in place of 24 (65,536): graphs pad, and other steps need not. The gain of larger models is smaller.
"""


def feed(device: torch.device) -> Feed:
    """How this device is fed: the one place where the kind of a device decides how texts are batched."""
    return CARD if device.type == "cuda" else PROCESSOR


def group_lengths(lengths: Sequence[int], least: int, budget: int) -> list[slice]:
    """Parts of texts to be encoded in a call: of at least so many texts, of more while they are within the budget.

    lengths: tokens of each text, similar ones next to each other. budget: tokens of a part, padding included.

    >>> [(part.start, part.stop) for part in group_lengths([1, 1, 1, 1, 5, 9], least=2, budget=4)]
    [(0, 4), (4, 6)]
    """
    chunks, start, longest = [], 0, 0
    for end, length in enumerate(lengths):
        longest = max(longest, length)
        if end - start >= least and longest * (end - start + 1) > budget:
            chunks.append(slice(start, end))
            start, longest = end, length
    return [*chunks, slice(start, len(lengths))] if lengths else []


_settings: ContextVar[ModelSettings] = ContextVar("model_settings", default=ModelSettings())  # noqa: B039 - it is immutable


@contextmanager
def model_settings(
    *, device: Device = "auto", precision: Precision | None = None, offline: bool = False
) -> Iterator[None]:
    """Models that are loaded, made or trained inside this block follow these settings.

    device: where they compute. precision: the number format of taggers that are loaded. offline: fetch nothing. The
    defaults change nothing of what a block around asks for. Raises ConfigError for a device that is missing, and for
    unknown names.
    """
    given = {"device": (device, get_args(Device)), "precision": (precision or "auto", get_args(Precision))}
    for name, (value, known) in given.items():
        if value not in known:
            raise ConfigError(f"{name} is {value!r}, expected one of {', '.join(known)}")
    outer = _settings.get()
    device = outer.device if device == "auto" else device
    token = _settings.set(ModelSettings(device, precision or outer.precision, offline or outer.offline))
    try:
        if device == "cuda":
            uses_gpu()  # fail now, not when the first text is encoded
        yield
    finally:
        _settings.reset(token)


def current_settings() -> ModelSettings:
    """Return the settings of the block around; models that are loaded later remember them."""
    return _settings.get()


def uses_gpu() -> bool:
    """Whether the device that is asked for is CUDA, or it is auto and torch finds CUDA.

    Torch takes a second to import: it is asked only where the machine has NVIDIA's driver. Apple's GPU (MPS) is never
    used, as it is untested. Raises ConfigError where CUDA is requested and missing.
    """
    device = current_settings().device
    if device == "cpu":
        return False
    has_gpu = False
    if has_driver() and find_spec("torch") is not None:
        import torch

        has_gpu = torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise ConfigError('device is "cuda", but torch finds no such device here; leave it out or take "cpu"')
    return has_gpu


def gpu_name() -> str:
    """Return the name of the GPU. Call it only where `uses_gpu`."""
    import torch

    return torch.cuda.get_device_name()


def best_device() -> torch.device:
    """The device of `uses_gpu`, for torch."""
    import torch

    return torch.device("cuda" if uses_gpu() else "cpu")


def best_dtype(device: torch.device) -> torch.dtype:
    """The number format in which torch trains: bfloat16 where the device multiplies it in hardware, otherwise float32.

    CUDA, AMX and AVX512-BF16 do, unless the user holds torch or oneDNN to fewer instructions.
    """
    import torch

    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    able: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    in_hardware = able.get("avx512_bf16") or able.get("amx_bf16")
    held_to = os.environ.get("ATEN_CPU_CAPABILITY", "").lower()
    is_held = held_to in {"default", "avx2"} or is_held_before_bfloat16()
    return torch.bfloat16 if in_hardware and not is_held else torch.float32


def is_held_before_bfloat16() -> bool:
    """Whether the user holds oneDNN, which computes for torch and OpenVINO, to instructions without bfloat16.

    What the libraries report of the processor does not consider it.
    """
    isa = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA") or ""
    older = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI"}
    return isa.upper() in older


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
