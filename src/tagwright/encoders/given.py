"""Encoders that a program gives as an object or a function, known by a name in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tagwright.encoders.layers import normalize_in_place
from tagwright.encoders.prompts import Role
from tagwright.errors import ModelError
from tagwright.types import Floats

Encode: TypeAlias = Callable[[list[str]], Any]
"Texts -> (texts, dim) numbers, of any norm."

_given: dict[str, GivenEncoder] = {}


class GivenEncoder:
    """An encoder of texts by an object or a function: a `stages.dense.retriever.TextEncoder` that cannot be saved."""

    def __init__(self, name: str, encode: Encode, prompts: Mapping[str, str] = {}) -> None:
        self.name, self.function, self.prompts = name, encode, prompts
        self.dim = self._vectors(["a"]).shape[1]

    def encode(self, texts: Sequence[str], *, role: Role | None = None, progress: str = "") -> Floats:  # noqa: ARG002
        """(texts, dim) float32, each of norm 1. Raises ModelError for anything but a vector of numbers for each."""
        prompt = self.prompts.get(role, "") if role else ""
        return (
            normalize_in_place(self._vectors([prompt + text for text in texts]))
            if texts
            else np.zeros((0, self.dim), np.float32)
        )

    def save(self, folder: Path) -> None:  # noqa: ARG002
        """Raise ModelError: a program cannot be written into a folder."""
        raise ModelError(
            f"a tagger with the encoder {self.name}, which was given as an object, cannot be saved; make it anew where "
            "it is needed, or name a folder or a model that this encoder is in"
        )

    def _vectors(self, texts: list[str]) -> Floats:
        try:
            vectors = np.array(self.function(texts), np.float32)
            if vectors.ndim == 2 and len(vectors) == len(texts) and np.isfinite(vectors).all():
                return vectors
            problem = f"gives for {len(texts)} texts an array of the shape {vectors.shape}"
        except (TypeError, ValueError) as error:
            problem = f"gives no numbers ({error})"
        raise ModelError(f"the encoder {self.name} {problem}, expected a vector of finite numbers for each text")


def register(given: Any) -> str:
    """Keep an object with `encode(texts)`, or a function, until the process ends; return the name for `find`."""
    name = f"{getattr(given, '__name__', type(given).__name__)} (object {len(_given) + 1})"
    _given[name] = GivenEncoder(name, getattr(given, "encode", given))
    return name


def find(name: str, prompts: Mapping[str, str] = {}) -> GivenEncoder | None:
    """The encoder that was given and has this name, with these prompts by role; None for any other name."""
    known = _given.get(name)
    return GivenEncoder(name, known.function, prompts) if known and prompts else known
