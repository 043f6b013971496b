"""Read the graph of a transformer that was exported to OpenVINO or ONNX, without torch; write one, with it.

OpenVINO parses the file, runs no code of it, and reads no other file than its weights beside it.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tagwright.core.progress import unlogged
from tagwright.encoders.compiled import openvino

if TYPE_CHECKING:
    from openvino import Model, Node

TOKENS, TEXTS = ("last_hidden_state", "token_embeddings"), "sentence_embedding"
"What exporters call the vectors of tokens, (texts, tokens, dim), and those of texts, (texts, dim)."


def read_graph(file: Path, pooling: Literal["cls", "mean"]) -> tuple[Model, bool]:
    """The graph in a file, with the inputs and the output of `bert.graph`, and whether it pools by itself.

    One that does has the layers after pooling too, and cannot skip tokens. Raises ValueError for a graph with other
    inputs than token ids, attention mask and token types, or without such vectors; RuntimeError when it is damaged.
    """
    ov = openvino()
    ops = ov.opset13
    model = ov.Core().read_model(file)
    ids, types = (ops.parameter([-1, -1], ov.Type.i64, name=name) for name in ("ids", "types"))
    skipped = ops.parameter([1], ov.Type.i64, name="skipped")
    every_token = ops.broadcast(ops.constant(np.int64(1)), ops.shape_of(ids))
    _feed(model, {"input_ids": ids, "attention_mask": every_token, "token_type_ids": types})
    outputs = {name: port.get_node().input_value(0) for port in model.outputs for name in port.get_names()}
    tokens = next((outputs[name] for name in TOKENS if name in outputs), None)
    if tokens is None and TEXTS not in outputs:
        raise ValueError(f"its outputs are {_listed(outputs)}, expected one of {_listed([*TOKENS, TEXTS])}")
    found = outputs[TEXTS] if tokens is None else tokens
    sizes: Any = found.get_partial_shape()
    if sizes.rank.is_dynamic or len(sizes) != (2 if tokens is None else 3) or sizes[len(sizes) - 1].is_dynamic:
        raise ValueError(f"its output is {sizes}, expected vectors of a known length")
    vectors = found if tokens is None else _pooled(tokens, skipped, pooling)
    return ov.Model([vectors], [ids, types, skipped], "exported"), tokens is None


def _pooled(tokens: Node, skipped: Node, pooling: Literal["cls", "mean"]) -> Node:
    """(texts, tokens, dim) -> (texts, dim), without the skipped tokens at the start."""
    ops = openvino().opset13
    axis = ops.constant(np.array([1]))
    if pooling == "cls":
        return ops.squeeze(ops.gather(tokens, skipped, axis), axis)
    end = ops.constant(np.array([np.iinfo(np.int64).max]))
    return ops.reduce_mean(ops.slice(tokens, skipped, end, axis, axis), axis, False)


def write_graph(transformer: Any, file: Path) -> None:
    """Write the graph of a model of the transformers library, as other tools export it: see `read_graph`.

    Raises any error of three libraries where it cannot be traced. It is done by OpenVINO's reader of PyTorch itself, as
    the usual converter loads a telemetry.
    """
    import torch

    ov = openvino()
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    class LastHiddenState(torch.nn.Module):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask)[0]
            return found

    model = LastHiddenState(copy.deepcopy(transformer).cpu().float()).eval()
    ids = torch.tensor([[2, 5, 6, 3], [2, 7, 8, 3]])
    with warnings.catch_warnings(), unlogged("transformers"):
        warnings.simplefilter("ignore")  # about what tracing makes constant
        traced = TorchScriptPythonDecoder(model, example_input=(ids, torch.ones_like(ids)))
    reader = FrontEndManager().load_by_framework("pytorch")
    graph = reader.convert(reader.load(traced))
    graph.outputs[0].set_names({TOKENS[0]})
    file.parent.mkdir(parents=True, exist_ok=True)
    ov.save_model(graph, file, compress_to_fp16=False)


def _feed(model: Model, values: Mapping[str, Node]) -> None:
    """Replace the inputs of a model by these values. Raises ValueError if it has others, or fixed sizes."""
    ops = openvino().opset13
    fed = set()
    for port in model.inputs:
        name = next((name for name in values if name in port.get_names()), None)
        if name is None:
            raise ValueError(f"it has the input {_listed(port.get_names())}, expected only {_listed(values)}")
        sizes: Any = port.partial_shape
        if sizes.rank.is_dynamic or [side.is_dynamic for side in sizes] != [True, True]:
            raise ValueError(f"its input {name} is {sizes}, expected any number of texts and of tokens")
        fed.add(name)
        port.replace(ops.convert(values[name], port.element_type).output(0))
    if "input_ids" not in fed:
        raise ValueError("it has no input input_ids")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))[:200]
