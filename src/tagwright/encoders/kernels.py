"""The fastest kernels of a transformer on this machine, and their number format.

Figures are microseconds per token and layer on one AVX512-BF16 core (Zen 5, torch 2.13), 256 tokens, width 384.
"""

from __future__ import annotations

import logging
import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from tagwright.errors import ConfigError, one_line_of

if TYPE_CHECKING:
    import torch

Map: TypeAlias = "Callable[[torch.Tensor], torch.Tensor]"
_log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")


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
        if device == "cuda":
            best_device()  # fail now, not when the first text is encoded
        yield
    finally:
        _chosen.reset(token)


def chosen_device() -> Device:
    """The device requested by the enclosing block; models that are loaded later remember it."""
    return _chosen.get()


def best_device() -> torch.device:
    """The device of `on_device`, otherwise CUDA where there is one, otherwise the processor.

    Never Apple's GPU (MPS), which is untested; the libraries and our own code must use the same device.
    """
    import torch

    device = _chosen.get()
    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigError('device is "cuda", but torch finds no such device here; leave it out or take "cpu"')
    if device != "auto":
        return torch.device(device)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def best_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the device multiplies it in hardware (CUDA, AMX, AVX512-BF16), otherwise float32."""
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


def linear(weight: torch.Tensor, bias: torch.Tensor, *, gelu: bool = False) -> Map:
    """The map x -> x weight' + bias, then GELU (the exact one) if asked for.

    On x86 the weights are packed once into oneDNN's layout, and GELU is fused with the product: 8.3 with, 9.6 without.
    In float32 this also avoids MKL, half as fast as oneDNN on AMD.
    """
    x86 = weight.device.type == "cpu" and platform.machine() in {"x86_64", "AMD64"}
    return (_packed if x86 and packing_works(weight.dtype) else _plain)(weight, bias, gelu)


def _plain(weight: torch.Tensor, bias: torch.Tensor, gelu: bool) -> Map:
    from torch.nn import functional

    if gelu:
        return lambda x: functional.gelu(functional.linear(x, weight, bias))
    return lambda x: functional.linear(x, weight, bias)


def _packed(weight: torch.Tensor, bias: torch.Tensor, gelu: bool) -> Map:
    """By internal functions of torch's compiler, which may change; `packing_works` tests them."""
    import torch

    packed = torch.ops.mkldnn._reorder_linear_weight(weight)
    then, form = ("gelu", "none") if gelu else ("none", "")
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, bias, then, [], form)


@cache
def packing_works(dtype: torch.dtype) -> bool:
    """Whether packed weights give the same results as plain ones: tested once per GELU and number of dimensions."""
    import torch

    generator = torch.Generator().manual_seed(0)
    w, x = (torch.randn(shape, generator=generator).to(dtype) for shape in ((48, 32), (2, 5, 32)))
    bias = torch.arange(48).to(dtype)
    try:
        for gelu in (False, True):
            expected = _plain(w.float(), bias.float(), gelu)(x.float())
            error = (_packed(w, bias, gelu)(x).float() - expected).abs().max() / expected.abs().max()
            if not error < 16 * torch.finfo(dtype).eps:
                _log.info("weights are not packed: the product of packed weights is off by %s", error.item())
                return False
    except (AttributeError, RuntimeError, NotImplementedError, TypeError) as problem:
        _log.info("weights are not packed: %s", one_line_of(problem, 200))
        return False
    return True


def layer_norm(weight: torch.Tensor, bias: torch.Tensor, epsilon: float) -> Map:
    """The map that gives x mean 0 and variance 1 in its last dimension, then scales and shifts."""
    from torch.nn import functional

    return lambda x: functional.layer_norm(x, weight.shape, weight, bias, epsilon)


LOG2_E = math.log2(math.e)
"The factor of attention logits in the query weights: powers of two are cheaper than powers of e."


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """softmax(q k' / LOG2_E) v, all (texts, heads, tokens, width).

    In bfloat16 on the processor no row's maximum is subtracted first, as it cancels out: 2.2, with a softmax 3.4, with
    PyTorch's SDPA 6.3 (in float32 7.8, with SDPA 6.1). If all logits of a row exceed 88 the result is NaN, and
    `attend_any` is needed.
    """
    import torch

    if q.device.type == "cuda" or q.dtype == torch.float32:
        return attend_any(q, k, v)
    rows, keys, values = (part.reshape(-1, *part.shape[2:]) for part in (q, k, v))
    weights = torch.bmm(rows, keys.transpose(1, 2)).exp2_()
    return torch.bmm(weights, values).div_(weights.sum(-1, keepdim=True)).view(q.shape)


def attend_any(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The same, for logits of any size."""
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v, scale=1 / LOG2_E)


@contextmanager
def workers(device: torch.device) -> Iterator[Callable[[Callable[[T], R], Iterable[T]], Iterator[R]]]:
    """A `map` that works on one batch per core at a time; on a GPU on one batch.

    Threads that share each product wait for each other about a hundred times per batch. Threads with their own batches
    never wait.
    """
    from concurrent.futures import ThreadPoolExecutor

    import torch

    threads, before = _cores() if device.type == "cpu" else 1, torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)  # the setting of a worker is also the default of later threads


@cache
def _cores() -> int:
    """The initial number of threads: with two concurrent callers, the current number may be a worker's."""
    import torch

    return torch.get_num_threads()
