"""Linear maps in 8 bits, on the processor: weights quantised by output channel, activations by token."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from tagwright.encoders.kernels import Map

_log = logging.getLogger(__name__)

MOST = 255
"Steps between the least and the largest activation of a token, in 8 bits."

_UNAVAILABLE = (AttributeError, RuntimeError, NotImplementedError, TypeError)
"Errors of a product that this torch or processor lacks."


def linear(weight: torch.Tensor, bias: torch.Tensor, *, gelu: bool = False) -> Map:
    """The map x -> x weight' + bias, then the exact GELU if requested: float32 in and out, 8 bits between.

    Call it only where `levels` are not 0.
    """
    from torch.nn import functional

    product = _product(weight, bias, levels() or MOST)
    return (lambda x: functional.gelu(product(x))) if gelu else product


@cache
def levels() -> int:
    """Quantisation steps of activations with correct products on this processor; 0: none, no int8.

    Without VNNI, AVX2 adds two products in 16 bits, which 127 x 255 overflows: there activations get 7 bits.
    """
    import torch

    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(24, 160, generator=generator), torch.randn(96, 160, generator=generator)
    x[0], w[0] = 1, 1  # the largest possible sum
    bias = torch.arange(96, dtype=torch.float32)
    expected = torch.nn.functional.linear(x, w, bias)
    for steps in (MOST, MOST // 2):
        try:
            error = (_product(w, bias, steps)(x) - expected).abs().max() / expected.abs().max()
        except _UNAVAILABLE as problem:
            _log.info("int8 is not used: %s", " ".join(str(problem).split())[:200])
            return 0
        if error < 1 / 64:
            return steps
    _log.info("int8 is not used: torch's 8-bit product is wrong on this processor")
    return 0


def _product(weight: torch.Tensor, bias: torch.Tensor, steps: int) -> Map:
    """Torch's 8-bit product by oneDNN. steps: between the least and the largest activation of a token."""
    import torch

    scales = weight.abs().amax(1).clamp_(min=torch.finfo(torch.float32).tiny).div_(127)
    rounded = (weight / scales[:, None]).round_()
    sums, zeros = rounded.sum(1) * scales, torch.zeros(len(weight), dtype=torch.int64)
    packed = torch.ops.onednn.qlinear_prepack(rounded.to(torch.int8), None)
    half = (steps + 1) // 2

    def apply(x: torch.Tensor) -> torch.Tensor:
        least = x.amin(-1, keepdim=True).clamp_(max=0)
        size = x.amax(-1, keepdim=True).clamp_(min=0).sub_(least).clamp_(min=1e-30).div_(steps)
        # Via int8, since torch rounds to uint8 five times slower.
        codes = (x - (least + half * size)).div_(size).round_().to(torch.int8).view(torch.uint8).add_(half)
        y = torch.ops.onednn.qlinear_pointwise(
            codes, 1.0, 0, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return torch.addcmul(torch.addcmul(bias, least, sums), y, size)

    return apply
