"""Encoders that a program gives as an object or a function, known by a name in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from tagwright.encoders.layers import unit
from tagwright.encoders.prompts import Role
from tagwright.errors import ModelError
from tagwright.types import Floats


@runtime_checkable
class Encodes(Protocol):
    """An object that turns a list of texts into vectors."""

    def encode(self, texts: list[str], /) -> Any:
        """(texts, dim) numbers, of any norm."""
        ...


Given: TypeAlias = Encodes | Callable[[list[str]], Any]
"An object with `encode`, or a function that does the same."

_given: dict[str, GivenEncoder] = {}


class GivenEncoder:
    """An encoder of texts by an object or a function: a `stages.dense.retriever.TextEncoder` that cannot be saved."""

    def __init__(self, name: str, given: Given, prompts: Mapping[str, str] = {}) -> None:
        self.name, self.given, self.prompts = name, given, prompts
        self.dim = self._vectors(["a"]).shape[1]

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        progress: str = "",  # noqa: ARG002
        keep: bool = True,  # noqa: ARG002
    ) -> Floats:
        """(texts, dim) float32, each of norm 1. Raises ModelError for anything but a vector of numbers for each."""
        prompt = self.prompts.get(role, "") if role else ""
        return unit(self._vectors([prompt + text for text in texts])) if texts else np.zeros((0, self.dim), np.float32)

    def save(self, folder: Path) -> None:
        """Raise ModelError: a program cannot be written into a folder."""
        raise ModelError(
            f"{folder}: a tagger with the encoder {self.name}, which was given as an object, cannot be saved; make it "
            "anew where it is needed, or name a folder or a model that this encoder is in"
        )

    def _vectors(self, texts: list[str]) -> Floats:
        encode = self.given.encode if isinstance(self.given, Encodes) else self.given
        try:
            vectors = np.array(encode(texts), np.float32)
        except (TypeError, ValueError) as error:
            raise ModelError(f"the encoder {self.name} gives no vectors of numbers ({error})") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ModelError(
                f"the encoder {self.name} gives for {len(texts)} texts an array of the shape {vectors.shape}, expected "
                "a vector of finite numbers for each"
            )
        return vectors


def register(given: Given) -> str:
    """Keep an encoder until the process ends, and return the name by which `find` knows it."""
    kind = getattr(given, "__name__", type(given).__name__)
    name = f"{kind} (object {len(_given) + 1})"
    _given[name] = GivenEncoder(name, given)
    return name


def find(name: str, prompts: Mapping[str, str] = {}) -> GivenEncoder | None:
    """The encoder that was given and has this name, with these prompts by role; None for any other name."""
    known = _given.get(name)
    return GivenEncoder(name, known.given, prompts) if known and prompts else known
