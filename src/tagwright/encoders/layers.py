"""The layers after the pooling of a model, computed without torch: linear maps and lengths of 1, and their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tagwright.encoders.architecture import Architecture, read_json
from tagwright.errors import ModelError
from tagwright.types import Floats

Map: TypeAlias = Callable[[Floats], Floats]
"(texts, dim) vectors -> (texts, dim) vectors."


def normalize_in_place(vectors: Floats) -> Floats:
    """Vectors (n, dim) scaled to length 1, in place; zero stays zero.

    >>> normalize_in_place(np.array([[0, 2], [0, 0]], np.float32)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))  # as np.linalg.norm, but without all squares in memory
    vectors /= np.maximum(norms, np.finfo(np.float32).tiny)[:, None]
    return vectors


def normalize(vectors: Floats) -> Floats:
    """Copies of length 1; zero stays zero."""
    return normalize_in_place(vectors.copy())


def linear(weight: Floats, bias: Floats | None, *, tanh: bool = False) -> Map:
    """The map x -> x weight' + bias, then tanh if asked for.

    >>> linear(np.array([[1, 2]]), np.array([3]))(np.array([[1, 1]])).tolist()
    [[6]]
    """

    def apply(x: Floats) -> Floats:
        y: Floats = x @ weight.T + (0 if bias is None else bias)
        return np.tanh(y) if tanh else y

    return apply


def apply_layers(layers: Sequence[Map], vectors: Floats) -> Floats:
    """Apply the layers to vectors, one after the other."""
    for layer in layers:
        vectors = layer(vectors)
    return vectors


def read_layers(folder: Path, architecture: Architecture) -> list[Map] | None:
    """The modules of a model's folder after its pooling; None where one is of an unknown kind.

    Raises ModelError when the file of a layer is damaged.
    """
    layers = []
    for kind, path in architecture.after:
        layer = normalize if kind == "Normalize" else _read_dense(folder / path) if kind == "Dense" else None
        if layer is None:
            return None
        layers.append(layer)
    return layers


def _read_dense(folder: Path) -> Map | None:
    file = folder / "model.safetensors"
    activation = str(read_json(folder / "config.json").get("activation_function", "")).rpartition(".")[2]
    tensors = read_tensors(file) if file.is_file() else {}
    if activation not in {"Identity", "Tanh"} or "linear.weight" not in tensors:
        return None
    return linear(tensors["linear.weight"], tensors.get("linear.bias"), tanh=activation == "Tanh")


def read_tensors(file: Path, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, Floats]:
    """The tensors of a safetensors file by their names: numbers with a point as float32, others as they are.

    wanted: whether a tensor of this name is read. Raises ModelError when the file is damaged.
    """
    from safetensors import SafetensorError, deserialize, safe_open

    try:
        with safe_open(file, framework="numpy") as tensors:
            names = [name for name in tensors.keys() if wanted(name)]  # noqa: SIM118 - not a mapping
            halves = [name for name in names if tensors.get_slice(name).get_dtype() == "BF16"]
            found = {name: tensors.get_tensor(name) for name in names if name not in halves}
        if halves:  # bfloat16, which numpy lacks: the upper half of a float32
            for name, part in deserialize(file.read_bytes()):  # type: ignore[no-untyped-call]
                if name in halves:
                    upper = np.frombuffer(part["data"], np.uint16).astype(np.uint32)
                    found[name] = (upper << 16).view(np.float32).reshape(part["shape"])
    except (SafetensorError, OSError, TypeError, ValueError) as error:
        raise ModelError(f"{file}: damaged ({error}); get the model again") from None
    return {
        name: part.astype(np.float32, copy=False) if part.dtype.kind == "f" else part for name, part in found.items()
    }
