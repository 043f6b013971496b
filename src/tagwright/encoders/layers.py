"""Layers of a model after its pooling, computed without torch: lengths of 1 and linear maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tagwright.encoders.architecture import Architecture, read_json
from tagwright.encoders.unit_vectors import unit
from tagwright.encoders.weights import read_tensors
from tagwright.types import Floats

Map: TypeAlias = Callable[[Floats], Floats]
"(texts, dim) vectors -> (texts, dim) vectors."


def linear(weight: Floats, bias: Floats | None, *, tanh: bool = False) -> Map:
    """The map x -> x weight' + bias, then tanh if asked for.

    >>> linear(np.array([[1, 2]]), np.array([3]))(np.array([[1, 1]])).tolist()
    [[6]]
    """

    def apply(x: Floats) -> Floats:
        y: Floats = x @ weight.T + (0 if bias is None else bias)
        return np.tanh(y) if tanh else y

    return apply


def normalize(vectors: Floats) -> Floats:
    """Vectors of length 1; zero stays zero."""
    return unit(vectors.copy())


def applied(layers: Sequence[Map], vectors: Floats) -> Floats:
    """What the layers make of vectors, one after the other."""
    for layer in layers:
        vectors = layer(vectors)
    return vectors


def read_layers(folder: Path, architecture: Architecture) -> list[Map] | None:
    """The modules of a model's folder after its pooling; None where one is of an unknown kind."""
    found = [_read(folder / path, kind) for kind, path in architecture.after]
    return None if None in found else [each for each in found if each is not None]


def layer_of(module: Any) -> Map:
    """The same of a module in memory. Raises KeyError for one of an unknown kind."""
    kind = type(module).__name__
    if kind == "Normalize":
        return normalize
    found = None if kind != "Dense" else _dense(type(module.activation_function).__name__, numpy_weights(module))
    if found is None:
        raise KeyError(kind)
    return found


def numpy_weights(module: Any) -> dict[str, Floats]:
    """The tensors of a module of torch, as float32 copies on the processor."""
    return {name: tensor.float().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


def _read(folder: Path, kind: str) -> Map | None:
    if kind == "Normalize":
        return normalize
    if kind != "Dense" or not (folder / "model.safetensors").is_file():
        return None
    activation = str(read_json(folder / "config.json").get("activation_function", ""))
    return _dense(activation.rpartition(".")[2], read_tensors(folder / "model.safetensors"))


def _dense(activation: str, weights: Mapping[str, Floats]) -> Map | None:
    if activation not in {"Identity", "Tanh"} or "linear.weight" not in weights:
        return None
    return linear(weights["linear.weight"], weights.get("linear.bias"), tanh=activation == "Tanh")
