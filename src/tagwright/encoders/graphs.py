"""Graphs of transformers for OpenVINO: BERT's from its weights, others from an exported file; torch is not needed.

OpenVINO parses an exported file, runs no code of it, and reads no other file than its weights beside it. Only to export
one takes torch.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagwright.core.progress import silence_log
from tagwright.encoders.compiled import openvino
from tagwright.types import Floats

if TYPE_CHECKING:
    from openvino import Model, Node


def bert_graph(config: Mapping[str, Any], weights: Mapping[str, Any], pooling: str, *, int8: bool = False) -> Model:
    """BERT (Devlin et al., 2019, section 3) from token ids to one vector a text.

    config: the transformer's own. weights: its tensors by their names in model.safetensors; that of token vectors
    may be a function of the node of their ids. int8: whether the weights of products are rounded to 8 bits, for each
    output by its largest one.

    Inputs: "ids" and "types", both (texts, tokens): all texts have the same number of tokens, so there is no mask.
    Output: (texts, dim), not normalised.
    Raises KeyError for a missing tensor and ValueError for one of another shape.
    """
    ov = openvino()
    ops = ov.opset13
    dim, heads = int(config["hidden_size"]), int(config["num_attention_heads"])

    def constant(values: NDArray[Any] | Sequence[int] | int) -> Node:
        return ops.constant(np.asarray(values, None if isinstance(values, np.ndarray) else np.int64))

    def tensor(name: str, *shape: int | None) -> Floats:
        array: Floats = weights[name]
        fits = len(array.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
        if not fits or array.dtype != np.float32:
            raise ValueError(f"{name} is {array.dtype} {array.shape}, expected float32 {shape}")
        return array

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

    def first(x: Node, count: Node, axis: int) -> Node:
        return ops.slice(x, constant([0]), count, constant([1]), constant([axis]))

    ids, types = (ops.parameter([-1, -1], ov.Type.i64, name=name) for name in ("ids", "types"))
    one = constant([1])
    embeddings = "embeddings.{}_embeddings.weight".format
    positions = tensor(embeddings("position"), None, dim)
    length = ops.gather(ops.shape_of(ids), constant([1]), constant(0))
    if callable(words := weights[embeddings("word")]):
        x = words(ids)
    else:
        x = ops.gather(constant(tensor(embeddings("word"), None, dim)), ids, constant(0))
    x = ops.add(x, ops.gather(constant(tensor(embeddings("token_type"), None, dim)), types, constant(0)))
    x = norm(ops.add(x, first(constant(positions[None]), length, 1)), "embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        q, k, v = (by_head(linear(x, f"{layer}.attention.self.{part}", dim, dim)) for part in ("query", "key", "value"))
        if pooling == "cls" and number == config["num_hidden_layers"] - 1:  # its other tokens are not used
            x, q = first(x, one, 1), first(q, one, 2)
        attended = ops.transpose(ops.scaled_dot_product_attention(q, k, v), constant([0, 2, 1, 3]))
        attended = ops.reshape(attended, constant([0, 0, dim]), True)
        x = ops.add(x, linear(attended, f"{layer}.attention.output.dense", dim, dim))
        x = norm(x, f"{layer}.attention.output.LayerNorm")
        inner = len(weights[f"{layer}.intermediate.dense.weight"])
        up = ops.gelu(linear(x, f"{layer}.intermediate.dense", inner, dim), "erf")
        x = norm(ops.add(x, linear(up, f"{layer}.output.dense", dim, inner)), f"{layer}.output.LayerNorm")
    pooled = ops.squeeze(x, one) if pooling == "cls" else ops.reduce_mean(x, one, False)
    return ov.Model([pooled], [ids, types], "bert")


def factors(weight: Floats, *, int8: bool) -> Node:
    """The weights (outputs, inputs) of a product; in int8 as 8 bits times a scale for each output."""
    ov = openvino()
    ops = ov.opset13
    if not int8:
        return ops.constant(weight)
    scales = np.maximum(np.abs(weight).max(1, keepdims=True), 1e-30) / 127
    rounded = ops.constant(np.round(weight / scales).astype(np.int8))
    return ops.multiply(ops.convert(rounded, ov.Type.f32), ops.constant(scales.astype(np.float32)))


def read_graph(file: Path, pooling: str) -> Model:
    """The graph in a file, with the inputs and the output of `bert_graph`.

    Raises ValueError for a graph with other inputs than token ids, attention mask and token types, or without vectors
    of tokens; RuntimeError when it is damaged.
    """
    ov = openvino()
    ops = ov.opset13
    model = ov.Core().read_model(file)
    ids, types = (ops.parameter([-1, -1], ov.Type.i64, name=name) for name in ("ids", "types"))
    every_token = ops.broadcast(ops.constant(np.int64(1)), ops.shape_of(ids))
    _feed(model, {"input_ids": ids, "attention_mask": every_token, "token_type_ids": types})
    outputs = {name: port.get_node().input_value(0) for port in model.outputs for name in port.get_names()}
    tokens = outputs.get("last_hidden_state", outputs.get("token_embeddings"))  # (texts, tokens, dim)
    sizes: Any = ov.PartialShape([]) if tokens is None else tokens.get_partial_shape()
    if sizes.rank.is_dynamic or len(sizes) != 3 or sizes[2].is_dynamic:
        expected = "last_hidden_state or token_embeddings, of a known length"
        raise ValueError(f"its outputs are {', '.join(map(str, model.outputs))[:100]}, expected {expected}")
    axis = ops.constant(np.array([1]))
    first = ops.gather(tokens, ops.constant(np.int64(0)), axis)
    return ov.Model([first if pooling == "cls" else ops.reduce_mean(tokens, axis, False)], [ids, types], "exported")


def write_graph(transformer: Any, file: Path) -> None:
    """Write the graph of a model of the transformers library, as other tools export it: see `read_graph`.

    Raises any error of three libraries where it cannot be traced. It is done by OpenVINO's reader of PyTorch itself, as
    the usual converter loads a telemetry.
    """
    import torch

    ov = openvino()
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    model = copy.deepcopy(transformer).cpu().float().eval()
    whole = model.forward

    def last_hidden_state(input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = whole(input_ids=input_ids, attention_mask=attention_mask)[0]
        return output

    model.forward = last_hidden_state
    ids = torch.tensor([[2, 5, 6, 3], [2, 7, 8, 3]])
    with warnings.catch_warnings(), silence_log("transformers"):
        warnings.simplefilter("ignore")  # about what tracing makes constant
        traced = TorchScriptPythonDecoder(model, example_input=(ids, torch.ones_like(ids)))
    reader = FrontEndManager().load_by_framework("pytorch")
    graph = reader.convert(reader.load(traced))
    graph.outputs[0].set_names({"last_hidden_state"})
    file.parent.mkdir(parents=True, exist_ok=True)
    ov.save_model(graph, file, compress_to_fp16=False)


def _feed(model: Model, values: Mapping[str, Node]) -> None:
    """Replace the inputs of a model by these values. Raises ValueError if it has others, or fixed sizes."""
    ov = openvino()
    ops, free = ov.opset13, ov.PartialShape([-1, -1])
    named = {next((name for name in values if name in port.get_names()), ""): port for port in model.inputs}
    if (
        "input_ids" not in named
        or "" in named
        or not all(port.partial_shape.same_scheme(free) for port in model.inputs)
    ):
        found = ", ".join(map(str, model.inputs))[:100]
        raise ValueError(f"its inputs are {found}, expected {', '.join(values)}, of any number of texts and tokens")
    for name, port in named.items():
        port.replace(ops.convert(values[name], port.element_type).output(0))
