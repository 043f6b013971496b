"""The name of a method and values for its options in, the method and a checked configuration out.

Shared by the command line and Python: the methods, their options, and the record of a training.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

import numpy as np

from tagwright.core.checked import build, shown
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.kernels import best_device
from tagwright.encoders.precision import resolve
from tagwright.errors import ConfigError, option
from tagwright.methods import auto, contrastive, depl, futex, maclr, micol, rts, svm
from tagwright.methods import zero_shot as zeroshot
from tagwright.tagger import Tagger
from tagwright.tagger.fuse import join
from tagwright.text.language import AUTO
from tagwright.training.config import TrainingConfig, lasting_options
from tagwright.training.pairs import sample_labels, sample_pairs
from tagwright.types import Run

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Method:
    """A method: the class of its options, what trains it, and the settings that its paper states, if it has one.

    fit(documents, labels, config, output, *, resume) -> Tagger; supervised ones and auto also take gold labels.
    """

    config: type[Any]
    fit: Callable[..., Tagger]
    paper: Callable[[], Any] | None = None


METHODS: dict[str, Method] = {
    "auto": Method(auto.Config, auto.fit),
    "rts": Method(rts.Config, rts.fit, rts.paper),
    "maclr": Method(maclr.Config, maclr.fit, maclr.paper),
    "micol": Method(micol.Config, micol.fit, micol.paper),
    "futex": Method(futex.Config, futex.fit, futex.paper),
    "ict": Method(contrastive.IctConfig, contrastive.fit, contrastive.paper),
    "simcse": Method(contrastive.Config, contrastive.fit, contrastive.simcse_paper),
    "svm": Method(svm.Config, svm.fit, svm.paper),
    "classifier": Method(depl.ClassifierConfig, depl.fit_classifier, depl.classifier_paper),
    "de-ret": Method(depl.DeRetConfig, depl.fit, depl.de_ret_paper),
    "depl": Method(depl.Config, depl.fit, depl.paper),
    "depl+cls": Method(depl.ClsConfig, depl.fit, depl.cls_paper),
}
"Methods that are trained from scratch, by name."

ZERO_SHOT = "zero-shot"
"The method without training: its tagger is saved as it is."

AUTO_METHOD = "auto"
"The method that trains what pays, whether documents have labels or not."

FINETUNE = "finetune"
"Continues training a tagger with gold labels."

SUPERVISED = ("svm", "classifier", "de-ret", "depl", "depl+cls")
"Methods that learn from gold labels."

FUSED = ("rts", "maclr", "ict", "simcse", *SUPERVISED, FINETUNE)
"Methods whose tagger ranks by its stages alone, so that it can be joined with others."

BELONGS: Mapping[str, Sequence[str]] = {
    "fuse": FUSED,
    "fuse_with": FUSED,
    "keywords": ("depl", "depl+cls"),
    "guesses": SUPERVISED,
    **dict.fromkeys(("reviews", "minutes"), (AUTO_METHOD,)),
    **dict.fromkeys(("model", "share_of_labels", "share_of_pairs"), (FINETUNE,)),
}
"Arguments of a training besides documents, labels and the method's options -> the methods that accept them."


RENAMED_OPTIONS: Mapping[str, str] = {
    "scope": "text_field",
    "titles": "title_match",
    "finders": "retrievers",
    "rankers": "rerankers",
    "held_out": "training.validation",
    "graph_tokens": "training.activation_token_budget",
    **{field.name: f"training.{field.name}" for field in fields(TrainingConfig)},
}
"Old name of an option -> its name. Accepted for one release."

RENAMED_VALUES: Mapping[str, Mapping[str, str]] = {
    "text_field": {"head": "title_and_abstract"},
    "stages": {"names": "exact_match"},
    "retrievers": {"names": "exact_match"},
}
"Option -> old value -> its value. Accepted for one release."

NAMED_BY_METHOD = ("kind", "pairs")
"Options that told the methods of one module apart, before each had its own. Accepted for one release."


def options_class(method: str) -> type[Any]:
    """The class of a method's options. Raises ConfigError with the names there are."""
    if method == ZERO_SHOT:
        return zeroshot.Config
    if method == FINETUNE:
        return maclr.FewShot
    if method not in METHODS:
        raise ConfigError(f"no method {shown(method)}; there are {', '.join((ZERO_SHOT, *METHODS, FINETUNE))}")
    return METHODS[method].config


def configuration(method: str, values: Mapping[str, Any]) -> Any:
    """The options of a method with these values, each checked; the others keep their defaults.

    Options of the training are in a table: `{"training": {"epochs": 2}}`. Old names and values are accepted with a
    warning. Raises ConfigError for an unknown method or option, with the nearest known one, and for a bad value.

    >>> configuration("zero-shot", {"stages": ["exact_match"], "candidates": 20}).candidates
    20
    """
    kind = options_class(method)
    return build(kind, modern(method, {key: _plain(value) for key, value in values.items()}))


def modern(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values under the names that options have today, with a warning for each old name or value."""
    known = {field.name for field in fields(options_class(method))}
    found: dict[str, Any] = {}
    for key, value in values.items():
        if key in NAMED_BY_METHOD and key not in known and value == method:
            _log.warning("option %s is no longer needed: the method is %s", key, method)
            continue
        name = RENAMED_OPTIONS.get(key, key) if key not in known else key
        if name.split(".")[0] not in known:
            name = key  # it is unknown under either name
        new = _renamed(value, RENAMED_VALUES.get(name, {}))
        if (name, new) != (key, value):
            _log.warning("%s = %s is the old spelling of %s = %s", key, shown(value), name, shown(new))
        put(found, name, new)
    return found


def nested(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword options of Python, where options of the training may stand beside the others: epochs=2.

    >>> nested("rts", {"epochs": 2, "temperature": 0.1})
    {'training': {'epochs': 2}, 'temperature': 0.1}
    """
    known = {field.name for field in fields(options_class(method))}
    ours = {field.name for field in fields(TrainingConfig)} - known if "training" in known else set()
    found: dict[str, Any] = {}
    for key, value in options.items():
        put(found, f"training.{key}" if key in ours else key, value)
    return found


def put(table: dict[str, Any], name: str, value: Any) -> None:
    """Set an option; "training.epochs" stands for epochs in the table training."""
    outer, dot, inner = name.partition(".")
    if dot and isinstance(table.get(outer), TrainingConfig):
        table[outer] = {field.name: getattr(table[outer], field.name) for field in fields(TrainingConfig)}
    if dot and isinstance(table.setdefault(outer, {}), Mapping):
        table[outer] = {**table[outer], inner: value}
    elif isinstance(value, Mapping) and isinstance(table.get(name), Mapping):
        table[name] = {**table[name], **value}
    else:
        table[name] = value


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value


def fused(tagger: Tagger, others: Iterable[Tagger] = (), *, zero_shot: bool, language: str = "") -> Tagger:
    """The tagger with the stages of the others and, where asked for, of the zero-shot method over its labels."""
    labels = tagger.vocabulary
    first = [zeroshot.fit(labels, zeroshot.Config(language=language or AUTO))] if zero_shot else []
    for other in (*first, *(other.with_labels(labels) for other in others)):
        tagger = join(other, tagger)
    return tagger


def check_given(method: str, given: Mapping[str, bool]) -> None:
    """Raise ConfigError for an argument of a training that the method does not accept. given: name -> whether it is."""
    for name, methods in BELONGS.items():
        if given.get(name) and method not in methods:
            raise ConfigError(f"{option(name)} belongs to {', '.join(methods)}, not to {method}")


def encoder_alone(tagger: Tagger) -> Tagger:
    """The fine-tuned encoder alone, to which `fused` adds the zero-shot stages anew, the plain encoder among them."""
    return Tagger(tagger.vocabulary, {"dense": tagger.retrievers["dense"]}, training=tagger.training)


def check_shares(of_labels: float | None, of_pairs: float | None) -> None:
    """Raise ConfigError where both are given."""
    if of_labels is not None and of_pairs is not None:
        one, other = option("share_of_labels"), option("share_of_pairs")
        raise ConfigError(f"a share of the labels, or of the pairs? give {one} or {other}")


def sampled(gold: Run, labels: Vocabulary, of_labels: float | None, of_pairs: float | None, seed: int) -> Run:
    """The training labels of fine-tuning: all of gold, or a share of the labels or of the (document, label) pairs."""
    if of_labels is not None:
        return sample_labels(gold, len(labels), of_labels, seed=seed)
    return gold if of_pairs is None else sample_pairs(gold, of_pairs, seed=seed)


def resolved(config: Any) -> Mapping[str, Any]:
    """The resolved values of "auto" and unset options on this machine."""
    found: Mapping[str, Any] = getattr(config, "resolved", {})
    return {name: value for name, value in found.items() if getattr(config, name) != value}


def options_of(config: Any) -> dict[str, Any]:
    """The options that determine a training, with "auto" resolved; plain values."""
    return {**lasting_options(config), **resolved(config)}


def machine() -> dict[str, str]:
    """Properties of the machine that affect the last digits of the weights. Plain texts."""
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
    """The training record that is saved with a tagger, for information."""
    date = datetime.now(timezone.utc).date().isoformat()
    return {"method": method, "options": dict(options), **more, "machine": dict(on), "version": version, "date": date}


def _plain(value: Any) -> Any:
    """Tuples as lists and numbers of numpy as Python's: values as TOML has them."""
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value.item() if isinstance(value, np.generic) else value
