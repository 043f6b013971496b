"""Read tensors of safetensors files without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import ModelError
from tagwright.types import Floats


def read_tensors(file: Path, wanted: Callable[[str], bool] | None = None) -> dict[str, Floats]:
    """The tensors of a file by their names: numbers with a point as float32, others as they are.

    wanted: whether a tensor of this name is read; None: all are. Raises ModelError when the file is damaged.
    """
    from safetensors import SafetensorError, deserialize, safe_open

    try:
        with safe_open(file, framework="numpy") as tensors:
            names = [name for name in tensors.keys() if wanted is None or wanted(name)]  # noqa: SIM118 - not a mapping
            halves = [name for name in names if tensors.get_slice(name).get_dtype() == "BF16"]
            found = {name: _single(tensors.get_tensor(name)) for name in names if name not in halves}
        if halves:  # bfloat16, which numpy lacks: the upper half of a float32
            for name, part in deserialize(file.read_bytes()):  # type: ignore[no-untyped-call]
                if name in halves:
                    upper = np.frombuffer(part["data"], np.uint16).astype(np.uint32)
                    found[name] = (upper << 16).view(np.float32).reshape(part["shape"])
    except (SafetensorError, OSError, TypeError, ValueError) as error:
        raise ModelError(f"{file}: damaged ({error}); get the model again") from None
    return found


def _single(tensor: NDArray[np.generic]) -> Floats:
    single: Floats = tensor.astype(np.float32, copy=False) if tensor.dtype.kind == "f" else tensor  # type: ignore[assignment]
    return single
