"""The name of a method and values for its options in, its module and a checked configuration out.

What the command line and Python share: which methods there are, which options each accepts, and what is recorded of a
training.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from difflib import get_close_matches
from types import ModuleType
from typing import Any, TypeVar, get_type_hints

import numpy as np

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.kernels import best_device
from tagwright.encoders.precision import resolve
from tagwright.errors import ConfigError, option
from tagwright.fields import fits, in_words, shown
from tagwright.joining import join
from tagwright.methods import contrastive, depl, futex, maclr, micol, rts, zeroshot
from tagwright.tagger import Tagger
from tagwright.text.language import AUTO
from tagwright.training.loop import FREE_TO_CHANGE
from tagwright.training.pairs import sample_labels, sample_pairs
from tagwright.types import Run

C = TypeVar("C")

METHODS: dict[str, tuple[ModuleType, Mapping[str, str]]] = {
    "rts": (rts, {}),
    "maclr": (maclr, {}),
    "micol": (micol, {}),
    "futex": (futex, {}),
    **{name: (contrastive, {"pairs": name}) for name in ("ict", "simcse")},
    **{name: (depl, {"kind": name}) for name in ("svm", "classifier", "de-ret", "depl", "depl+cls")},
}
"Methods that are trained from scratch: name -> the module, and the option that tells the methods of one module apart."

ZERO_SHOT = "zero-shot"
"The method that learns nothing: its tagger is saved as it is."

FINETUNE = "finetune"
"Going on with a trained tagger and gold labels."

SUPERVISED = tuple(name for name, (module, _) in METHODS.items() if module is depl)
"Methods that learn from gold labels."

FUSED = ("rts", "maclr", "ict", "simcse", *SUPERVISED, FINETUNE)
"Methods whose tagger ranks by its stages alone, so that it can be joined with others."

BELONGS: Mapping[str, Sequence[str]] = {
    "fuse": FUSED,
    "fuse_with": FUSED,
    "keywords": ("depl", "depl+cls"),
    "guesses": SUPERVISED,
    **dict.fromkeys(("model", "share_of_labels", "share_of_pairs"), (FINETUNE,)),
}
"What a training can be given besides documents, labels and the method's own options -> the methods that accept it."


@dataclass(frozen=True)
class Recipe:
    """One method by its name. kind: the class of its options. fixed: what the name stands for among them.

    unused: options of the module that have no part in this one of its methods.
    """

    method: str
    kind: type[Any]
    fixed: Mapping[str, str]
    unused: frozenset[str]

    def configuration(self, values: Mapping[str, Any]) -> Any:
        """The method's options. Raises ConfigError as `configuration` does."""
        return configuration(self.kind, values, self.unused, **self.fixed)


def recipe(method: str) -> Recipe:
    """The method of this name. Raises ConfigError with the names there are."""
    if method == ZERO_SHOT:
        return Recipe(method, zeroshot.Config, {}, frozenset())
    if method == FINETUNE:
        return Recipe(method, maclr.FewShot, {}, frozenset())
    if method not in METHODS:
        raise ConfigError(f"no method {shown(method)}; there are {', '.join((ZERO_SHOT, *METHODS, FINETUNE))}")
    module, fixed = METHODS[method]
    unused: Mapping[str, frozenset[str]] = getattr(module, "UNUSED", {})
    return Recipe(method, module.Config, fixed, unused.get(method, frozenset()) - fixed.keys())


def configuration(kind: type[C], values: Mapping[str, Any], unused: Collection[str] = (), /, **fixed: str) -> C:
    """A dataclass of options with these values, each checked against its type; the others keep their defaults.

    unused: fields that have no part in the method. fixed: what the method's name stands for. Raises ConfigError for an
    unknown or unused key, with the nearest known one, for a bad value, and for one other than is fixed.

    >>> configuration(zeroshot.Config, {"stages": ["exact_match"], "candidates": 20}).candidates
    20
    """
    values = {key: _plain(value) for key, value in values.items()}
    for key, value in fixed.items():
        if values.setdefault(key, value) != value:
            raise ConfigError(f"{key} is {shown(values[key])}, but the method's name stands for {shown(value)}")
    known = [field.name for field in fields(kind) if field.name not in unused]  # type: ignore[arg-type]
    free = ", ".join(name for name in known if name not in fixed)
    for key in values:
        if key in unused:
            raise ConfigError(f'option "{key}" has no part in this method; known are {free}')
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"known are {free}"
            raise ConfigError(f'unknown option "{key}"; {hint}')
    types, defaults = get_type_hints(kind), kind()
    for key, value in values.items():
        if not fits(value, types[key]):
            example = "" if getattr(defaults, key) is None else f", such as {shown(getattr(defaults, key))}"
            raise ConfigError(f"{key} is {shown(value)}, expected {in_words(types[key])}{example}")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})


def fused(tagger: Tagger, others: Iterable[Tagger] = (), *, zero_shot: bool, language: str = "") -> Tagger:
    """The tagger with the stages of the others and, where asked for, of the zero-shot method over its labels."""
    labels = tagger.vocabulary
    first = [zeroshot.fit(labels, zeroshot.Config(language=language or AUTO))] if zero_shot else []
    for other in (*first, *(other.with_labels(labels) for other in others)):
        tagger = join(other, tagger)
    return tagger


def check_shares(of_labels: float | None, of_pairs: float | None) -> None:
    """Raise ConfigError where both are given."""
    if of_labels is not None and of_pairs is not None:
        one, other = option("share_of_labels"), option("share_of_pairs")
        raise ConfigError(f"a share of the labels, or of the pairs? give {one} or {other}")


def sampled(gold: Run, labels: Vocabulary, of_labels: float | None, of_pairs: float | None, seed: int) -> Run:
    """What fine-tuning learns from: all of gold, or a share of the labels or of the pairs of document and label."""
    if of_labels is not None:
        return sample_labels(gold, len(labels), of_labels, seed=seed)
    return gold if of_pairs is None else sample_pairs(gold, of_pairs, seed=seed)


def resolved(config: Any) -> Mapping[str, Any]:
    """What the method's options that are "auto" or unset stand for on this machine."""
    found: Mapping[str, Any] = getattr(config, "resolved", {})
    return {name: value for name, value in found.items() if getattr(config, name) != value}


def options_of(config: Any) -> dict[str, Any]:
    """The options that make a training what it is, with what "auto" stands for; plain values."""
    options = {**asdict(config), **resolved(config)}
    return {name: options[name] for name in options if name not in FREE_TO_CHANGE}


def machine() -> dict[str, str]:
    """What of the machine bears on the last digits of what is learnt. Plain texts."""
    import torch

    device = best_device()
    return {
        "device": torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{device.type} {platform.machine()}",
        "precision": resolve("auto"),
        "threads": str(torch.get_num_threads()),
        "torch": torch.__version__,
    }


def record(method: str, options: Mapping[str, Any], on: Mapping[str, str], version: str, **more: Any) -> dict[str, Any]:
    """How a tagger came to be: what is saved with it for the reader."""
    date = datetime.now(timezone.utc).date().isoformat()
    return {"method": method, "options": dict(options), **more, "machine": dict(on), "version": version, "date": date}


def _plain(value: Any) -> Any:
    """Tuples as lists and numbers of numpy as Python's: values as TOML has them."""
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value
