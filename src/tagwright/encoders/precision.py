"""Choose the number format in which this machine computes transformers; its speed is never measured for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from threading import Lock

import numpy as np

from tagwright.core.cache import user_cache
from tagwright.encoders.compiled import Computed, compile_graph, is_installed, openvino
from tagwright.encoders.device import Precision as Precision
from tagwright.encoders.device import gpu_name, is_held_before_bfloat16, uses_gpu
from tagwright.encoders.graphs import factors
from tagwright.errors import ConfigError
from tagwright.types import Floats

_trying = Lock()  # the second to ask gets the answer of the first


def resolve(precision: Precision, *, quantisable: bool = True) -> Computed:
    """The number format of a transformer: the fastest one on the device, or the requested one.

    auto: int8, then bfloat16, if the device has such products, otherwise float32: see `formats`. int8 changes quality
    insignificantly: see `benchmarks encode quality`. quantisable: whether the encoder can be computed in int8. Raises
    ConfigError for what is no precision, and where the machine does not compute right in what was requested.
    """
    if precision == "float32":
        return precision
    able = {name: has for name, has in formats().items() if quantisable or name != "int8"}
    if precision == "auto":
        return next((name for name in ("int8", "bfloat16") if able.get(name)), "float32")
    if precision not in able:
        raise ConfigError(
            f"precision is {precision!r}, expected one of {', '.join(['auto', 'float32', *able])} for this encoder on "
            'this machine (int8 is for BERT in OpenVINO: pip install "tagwright[minilm]"); leave it out'
        )
    return precision


def formats() -> Mapping[Computed, bool]:
    """The formats whose products are right on this device, apart from float32, and whether it has products in them.

    A processor without them has bfloat16 and int8 imitated in float32 by OpenVINO: nothing is won. For bfloat16,
    OpenVINO says which it is; for int8 it always says yes, and a product tells. A time would not: other work on the
    machine lets any format win by chance, and a training would end otherwise.
    """
    if uses_gpu():
        import torch

        return {"bfloat16": torch.cuda.is_bf16_supported(including_emulation=False)}
    if not is_installed():
        return {"bfloat16": False}
    has_int8 = _has_int8()
    able: dict[Computed, bool] = {} if has_int8 is None else {"int8": has_int8}
    if not is_held_before_bfloat16():
        # WINOGRAD stands for AVX-512: AVX2 with NE-CONVERT has BF16 as well, but multiplies in float32.
        said = openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        able["bfloat16"] = {"BF16", "WINOGRAD"} <= set(said)
    return able


def machine() -> bytes:
    """Return the settings that decide which formats are right and fast: the device, and its limits by the user."""
    if uses_gpu():
        return gpu_name().encode()
    return _processor() if is_installed() else b""


def _has_int8() -> bool | None:
    """Whether the processor has products in int8; None if they are wrong. Kept in the cache."""
    kind, key = "int8 products", _processor()
    with _trying:
        if kept := user_cache().get(kind, [key]).get(key):
            found: bool | None = json.loads(bytes(kept))
            return found
        tried = try_int8()
        user_cache().put(kind, {key: json.dumps(tried).encode()})
        return tried


@cache
def _processor() -> bytes:
    """The processor, and what the user restricts OpenVINO's products to."""
    ov = openvino()
    limits = [os.environ.get(name, "") for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")]
    core = ov.Core()
    processor = [str(core.get_property("CPU", name)) for name in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES")]
    return "\n".join([*processor, *limits, ov.__version__]).encode()


def try_int8() -> bool | None:
    """Whether the processor has products in int8, told by one of them; None if it is wrong.

    A product in int8 rounds its activations, too: by 0.7 percent of the mean here. Imitated in float32, it differs from
    the product of the same weights in float32 by the order of the sums, less than 1e-4.
    """
    ov = openvino()
    ops = ov.opset13
    random = np.random.default_rng(0)
    weight = random.normal(0, 0.05, (384, 384)).astype(np.float32)  # of MiniLM's size
    x = random.normal(0, 1, (128, 384)).astype(np.float32)

    def product(precision: Computed) -> Floats:
        parameter = ops.parameter([-1, 384], ov.Type.f32, name="x")
        model = ov.Model([ops.matmul(parameter, factors(weight, int8=True), False, True)], [parameter], "product")
        [(_, values)] = compile_graph(model, precision)([x], lambda x: {"x": x})
        return values

    def error(values: Floats, expected: Floats) -> float:
        if values.shape != expected.shape:  # without any rows on some processors
            return np.inf
        return float(np.abs(values - expected).mean() / np.abs(expected).mean())

    try:
        values = product("int8")
    except RuntimeError:  # OpenVINO's for what it cannot do
        return None
    return error(values, product("float32")) > 1e-4 if error(values, x @ weight.T) < 0.05 else None
