"""Choose the number format in which this machine computes transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from statistics import median
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from tagwright.core.cache import user_cache
from tagwright.encoders.bert import factors
from tagwright.encoders.compiled import Computed, compiled, is_installed, openvino
from tagwright.encoders.device import uses_gpu
from tagwright.errors import ConfigError
from tagwright.types import Floats

Precision: TypeAlias = Literal["auto", "float32", "bfloat16", "int8"]

KIND = "speeds"
"The name in the cache of what `speeds` found."

GAIN, LARGEST_ERROR = 1.2, 0.05
"A lower precision must be so many times as fast as float32, and its products as near to those of float32."

IMITATED = 1e-4
"""Products nearer than this to those of float32 were computed in float32.

The mean distance over the mean size. Rounding what is multiplied to 8 bits of a mantissa makes it 1e-3 or more.
"""

ROUNDS = 9
"How often each product is timed."

_chosen: ContextVar[Precision | None] = ContextVar("precision", default=None)


@contextmanager
def in_precision(precision: Precision | None) -> Iterator[None]:
    """Encoders of taggers that are loaded inside this block compute in it; None: as they were saved.

    Raises ConfigError for what is no precision.
    """
    if precision is not None:
        check(precision)
    token = _chosen.set(precision or _chosen.get())
    try:
        yield
    finally:
        _chosen.reset(token)


def chosen_precision() -> Precision | None:
    """What the block around asks for."""
    return _chosen.get()


def check(precision: str) -> None:
    """Raises ConfigError for what is no precision."""
    if precision not in get_args(Precision):
        raise ConfigError(f"precision is {precision!r}, expected one of {', '.join(get_args(Precision))}")


def resolve(precision: Precision, *, quantisable: bool = True) -> Computed:
    """The number format of a transformer: the fastest one on the device, or the requested one.

    auto: on a GPU bfloat16 where it has it; on a processor int8, then bfloat16, if its products are right and clearly
    faster than those of float32: see `speeds`; otherwise float32. int8 changes quality insignificantly: see `benchmarks
    encode quality`. quantisable: whether the encoder can be computed in int8. Raises ConfigError where the machine does
    not compute right in what was requested.
    """
    check(precision)
    if uses_gpu():
        import torch

        able = {"bfloat16"} if torch.cuda.is_bf16_supported(including_emulation=False) else set()
    else:
        able = {name for name, speed in speeds().items() if speed >= GAIN}
    if precision == "auto":
        order: tuple[Computed, ...] = ("int8", "bfloat16") if quantisable else ("bfloat16",)
        return next((name for name in order if name in able), "float32")
    if precision == "int8" and not quantisable:
        raise ConfigError('precision is "int8"; only encoders of the BERT architecture have it; leave it out')
    by_torch = uses_gpu() or not is_installed()
    if not (precision != "int8" if by_torch else precision == "float32" or precision in speeds()):
        raise ConfigError(f'precision is "{precision}"; this machine has no right product in it; leave it out')
    return precision


def speeds() -> Mapping[str, float]:
    """How many times as fast as in float32 this machine multiplies in each other format that gives right products.

    1 for one that OpenVINO imitates in float32, as it does where a processor has no such product. Tried once with
    layers of MiniLM's size, and kept in the cache.
    """
    if not is_installed():
        return {}
    key = _machine()
    if kept := user_cache().get(KIND, [key]).get(key):
        found: dict[str, float] = json.loads(bytes(kept))
        return found
    tried = _tried()
    user_cache().put(KIND, {key: json.dumps(tried).encode()})
    return tried


@cache
def _machine() -> bytes:
    """The processor, and what the user restricts OpenVINO's products to."""
    ov = openvino()
    limits = [os.environ.get(name, "") for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")]
    core = ov.Core()
    processor = [str(core.get_property("CPU", name)) for name in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")]
    return "\n".join([*processor, *limits, ov.__version__]).encode()


def _tried() -> dict[str, float]:
    """What `speeds` gives, measured now, in turns: by the median of the ratios, other work counts little.

    What is imitated is told by its products, not by its time, which other work would make it win by chance: they are
    those of float32 with the same weights.
    """
    ov = openvino()
    ops = ov.opset13
    random = np.random.default_rng(0)
    weights = [random.normal(0, 0.05, shape).astype(np.float32) for shape in ((1536, 384), (384, 1536))]
    x = random.normal(0, 1, (128, 384)).astype(np.float32)

    def request(precision: Computed, *, int8: bool) -> Any:
        parameter = ops.parameter([-1, 384], ov.Type.f32)
        up, down = (factors(weight, int8=int8) for weight in weights)
        y = ops.matmul(ops.gelu(ops.matmul(parameter, up, False, True), "erf"), down, False, True)
        return compiled(ov.Model([y], [parameter], "trial"), precision, 1).create_infer_request()

    def products(request: Any) -> Floats:
        found: Floats = request.infer([x])[0].copy()
        return found

    def error(got: Floats, expected: Floats) -> float:
        if got.shape != expected.shape:  # without any rows on some processors
            return np.inf
        return float(np.abs(got - expected).mean() / np.abs(expected).mean())

    def time(request: Any) -> float:
        start = perf_counter()
        request.infer([x])
        return perf_counter() - start

    exact = request("float32", int8=False)
    expected = products(exact)
    found = {}
    for precision in ("bfloat16", "int8"):
        int8 = precision == "int8"
        with suppress(RuntimeError):  # OpenVINO's for what it cannot do
            got = products(tried := request(precision, int8=int8))
            if error(got, expected) >= LARGEST_ERROR:
                continue
            is_imitated = error(got, products(request("float32", int8=int8))) < IMITATED
            found[precision] = 1.0 if is_imitated else median(time(exact) / time(tried) for _ in range(ROUNDS))
    return found
