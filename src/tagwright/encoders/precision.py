"""Choose the number format in which this machine computes transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias, get_args

from tagwright.encoders import int8, kernels
from tagwright.errors import ConfigError

Computed: TypeAlias = Literal["float32", "bfloat16", "int8"]
Precision: TypeAlias = Literal["auto", "float32", "bfloat16", "int8"]


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
    """The number format of a transformer: the fastest measured one for the device and processor, or the requested one.

    auto: bfloat16 where the device multiplies it in hardware, otherwise int8 on a processor whose torch has a right
    8-bit product, otherwise float32. int8 changes quality insignificantly: see `benchmarks encode quality`.
    quantisable: whether the encoder can be computed in int8. Raises ConfigError where int8 was requested and is not
    available.
    """
    import torch

    check(precision)
    device = kernels.best_device()
    if precision == "auto":
        if kernels.best_dtype(device) == torch.bfloat16:
            return "bfloat16"
        return "int8" if quantisable and device.type == "cpu" and int8.levels() else "float32"
    if precision != "int8":
        return precision
    if device.type != "cpu" or not int8.levels():
        raise ConfigError(f'precision is "int8"; torch has no right 8-bit product on this {device.type}; leave it out')
    if not quantisable:
        raise ConfigError('precision is "int8"; only encoders of the BERT architecture have it; leave it out')
    return "int8"
