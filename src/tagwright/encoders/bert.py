"""Build BERT as an OpenVINO graph from its settings and weights; torch is not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagwright.encoders.compiled import openvino
from tagwright.types import Floats

if TYPE_CHECKING:
    from openvino import Model, Node


def graph(
    config: Mapping[str, Any], weights: Mapping[str, Floats], pooling: Literal["cls", "mean"], *, int8: bool = False
) -> Model:
    """BERT (Devlin et al., 2019, section 3) from token ids to one vector a text.

    config: the transformer's own. weights: its tensors by their names in model.safetensors. int8: whether the weights
    of products are rounded to 8 bits, for each output by its largest one.

    Inputs: "ids" and "types", both (texts, tokens): all texts have the same number of tokens, so there is no mask;
    "skipped": tokens at the start that pooling leaves out. Output: (texts, dim), not normalised.
    Raises KeyError for a missing tensor and ValueError for one of another shape.
    """
    ov = openvino()
    ops = ov.opset13
    dim, heads = int(config["hidden_size"]), int(config["num_attention_heads"])

    def constant(values: NDArray[Any] | Sequence[int] | int) -> Node:
        return ops.constant(np.asarray(values, None if isinstance(values, np.ndarray) else np.int64))

    def tensor(name: str, *shape: int | None) -> Floats:
        found = weights[name]
        if len(found.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
            raise ValueError(f"{name} is {found.shape}, expected {shape}")
        if found.dtype != np.float32:
            raise ValueError(f"{name} holds {found.dtype}, expected numbers with a point")
        return found

    def linear(x: Node, name: str, outputs: int, inputs: int) -> Node:
        weight, bias = tensor(f"{name}.weight", outputs, inputs), tensor(f"{name}.bias", outputs)
        return ops.add(ops.matmul(x, factors(weight, int8=int8), False, True), constant(bias[None, None]))

    def norm(x: Node, name: str) -> Node:
        scale, shift = tensor(f"{name}.weight", dim), tensor(f"{name}.bias", dim)
        standard = ops.mvn(x, constant([-1]), True, config["layer_norm_eps"], "INSIDE_SQRT")
        return ops.add(ops.multiply(standard, constant(scale)), constant(shift))

    def by_head(x: Node) -> Node:
        """(texts, tokens, dim) -> (texts, heads, tokens, dim of a head)."""
        return ops.transpose(ops.reshape(x, constant([0, 0, heads, dim // heads]), True), constant([0, 2, 1, 3]))

    def tokens(x: Node, start: Node, stop: Node, axis: int) -> Node:
        return ops.slice(x, start, stop, constant([1]), constant([axis]))

    ids, types = (ops.parameter([-1, -1], ov.Type.i64, name=name) for name in ("ids", "types"))
    skipped = ops.parameter([1], ov.Type.i64, name="skipped")
    one, end = constant([1]), constant([np.iinfo(np.int64).max])
    embeddings = "embeddings.{}_embeddings.weight".format
    positions = tensor(embeddings("position"), None, dim)
    length = ops.gather(ops.shape_of(ids), constant([1]), constant(0))
    x = ops.gather(constant(tensor(embeddings("word"), None, dim)), ids, constant(0))
    x = ops.add(x, ops.gather(constant(tensor(embeddings("token_type"), None, dim)), types, constant(0)))
    x = norm(ops.add(x, tokens(constant(positions[None]), constant([0]), length, 1)), "embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        q, k, v = (by_head(linear(x, f"{layer}.attention.self.{part}", dim, dim)) for part in ("query", "key", "value"))
        if pooling == "cls" and number == config["num_hidden_layers"] - 1:  # its other tokens are not used
            first = ops.add(skipped, one)
            x, q = tokens(x, skipped, first, 1), tokens(q, skipped, first, 2)
        attended = ops.transpose(ops.scaled_dot_product_attention(q, k, v), constant([0, 2, 1, 3]))
        attended = ops.reshape(attended, constant([0, 0, dim]), True)
        x = ops.add(x, linear(attended, f"{layer}.attention.output.dense", dim, dim))
        x = norm(x, f"{layer}.attention.output.LayerNorm")
        inner = len(weights[f"{layer}.intermediate.dense.weight"])
        up = ops.gelu(linear(x, f"{layer}.intermediate.dense", inner, dim), "erf")
        x = norm(ops.add(x, linear(up, f"{layer}.output.dense", dim, inner)), f"{layer}.output.LayerNorm")
    pooled = ops.squeeze(x, one) if pooling == "cls" else ops.reduce_mean(tokens(x, skipped, end, 1), one, False)
    return ov.Model([pooled], [ids, types, skipped], "bert")


def factors(weight: Floats, *, int8: bool) -> Node:
    """The weights (outputs, inputs) of a product; in int8 as 8 bits times a scale for each output."""
    ov = openvino()
    ops = ov.opset13
    if not int8:
        return ops.constant(weight)
    scales = np.maximum(np.abs(weight).max(1, keepdims=True), 1e-30) / 127
    rounded = ops.constant(np.round(weight / scales).astype(np.int8))
    return ops.multiply(ops.convert(rounded, ov.Type.f32), ops.constant(scales.astype(np.float32)))
