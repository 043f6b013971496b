"""The modules of sentence-transformers in any version, and checks of our forward passes against its own.

If our own forward pass replaces that of a model in memory, both compute a short text first. A model read from its
folder is not loaded by the library, and loading it only to compare would take too long.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from tagwright.encoders.compiled import Computed
from tagwright.errors import ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer

ModuleName: TypeAlias = Literal["Dense", "Normalize", "Pooling", "StaticEmbedding", "Transformer"]

PLACES = (
    "sentence_transformers.sentence_transformer.modules",
    "sentence_transformers.base.modules",
    "sentence_transformers.models",
)
"The packages that hold the modules of a model in different versions; the last is of older ones."

TEXT = "A bee visits a flower, and there is honey."
PAIRS = [(TEXT, "bees"), (TEXT, "money in the bank"), ("rain", TEXT)]

LEAST_COSINE = {"float32": 0.999, "bfloat16": 0.99, "int8": 0.95}
"The least cosine of two vectors of one text: rounding stays above, other pooling or a missing layer below."

LARGEST_SHARE, LARGEST_ERROR = 0.05, 0.02
"Relative and absolute tolerance of scores."

_log = logging.getLogger(__name__)
_agreed: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def module_class(name: ModuleName) -> Any:
    """The class of a model's module. Raises ModelError if the installed version lacks it."""
    found = next((found for place in PLACES if (found := _class_in(place, name)) is not None), None)
    if found is None:
        from sentence_transformers import __version__

        raise ModelError(f"sentence-transformers {__version__} has no module {name}; install sentence-transformers 6")
    return found


def _class_in(place: str, name: str) -> Any:
    try:
        return getattr(import_module(place), name, None)
    except ImportError:
        return None


def is_module(module: object, name: ModuleName) -> bool:
    """Whether a part of a model is of the library's class of this name."""
    return isinstance(module, module_class(name))


def same_vectors(
    own: Callable[[list[str]], Floats], model: SentenceTransformer, precision: Computed, text: str = TEXT
) -> bool:
    """Whether our forward pass gives the same vector of a text as `model.encode`; otherwise a line is logged."""

    def problem() -> str:
        ours, theirs = own([text])[0], np.asarray(model.encode([text], show_progress_bar=False))[0]
        cosine = float(ours @ theirs / (np.linalg.norm(ours) * np.linalg.norm(theirs)))
        return "" if cosine >= LEAST_COSINE[precision] else f"vectors of one text have a cosine of {cosine:.3f}"

    return _agrees(model, problem)


def same_scores(own: Callable[[list[tuple[str, str]]], Floats], model: CrossEncoder) -> bool:
    """Whether our forward pass gives the same scores of pairs as `model.predict`; otherwise a line is logged."""
    import torch

    def problem() -> str:
        theirs = np.asarray(model.predict(PAIRS, activation_fn=torch.nn.Identity(), show_progress_bar=False))
        error = float(np.abs(own(PAIRS) - theirs).max())
        allowed = LARGEST_SHARE * float(np.abs(theirs).max()) + LARGEST_ERROR
        return "" if error <= allowed else f"scores differ by {error:.3f}"

    return _agrees(model, problem)


def say_general(problem: object, file: Path | None = None) -> None:
    """Log that a model is left to its library, and why. file: the one with the problem, named in full."""
    reason = " ".join(str(problem).split())[:200]
    where = f"{file}: " if file else ""
    _log.warning("the model is computed by sentence-transformers, more slowly than by Tagwright: %s%s", where, reason)


def _agrees(model: Any, problem: Callable[[], str]) -> bool:
    """Whether there is no problem; checked once for each model, which is not changed."""
    if model in _agreed:
        return _agreed[model]
    modes = [(module, module.training) for module in model.modules()]
    try:
        found = problem()
    except Exception as error:  # any error that a version of four libraries may raise
        found = f"the comparison with it fails ({error})"
    finally:
        for module, training in modes:
            module.training = training
    if found:
        say_general(found)
    _agreed[model] = not found
    return not found
