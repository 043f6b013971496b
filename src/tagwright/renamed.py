"""What 0.10 renamed or merged: the old names work with a warning, and go with 0.11. Nothing else knows them."""

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tagwright.errors import option
from tagwright.registry import METHODS, Method

_log = logging.getLogger(__name__)

_VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "classifier": ("depl", {"variant": "classifier"}),
    "de_ret": ("depl", {"variant": "de_ret"}),
    "depl_cls": ("depl", {"variant": "depl_cls"}),
    "combine": ("auto", {"corpus": 10_000}),
    "ict": (
        "maclr",
        dict.fromkeys(("clustering", "label_regularisation", "encoder_pairs", "tfidf_pairs"), False),
    ),
}
"Old method -> the method that it is now, with the options that make it the same."

_PAIRS = METHODS["rts"]
BASELINES: Mapping[str, Method] = {
    "simcse": Method(
        "tagwright.papers.contrastive", "texts", _PAIRS.accepts, _PAIRS.needs, ("Config", "fit_simcse", "paper")
    ),
}
"Methods that are only rows of a benchmark now."

_CONSTANTS = ("log_every", "evaluations")
"Options of the training that always have their default now."

COMMANDS: Mapping[str, tuple[str, Sequence[str], Mapping[str, str]]] = {
    "options": ("train METHOD --options", ("train", "--options"), {}),
    "sample": ("reviews DOCS --sample", ("reviews", "--sample"), {}),
    "describe-labels": ("labels --describe NAME", ("labels",), {"--model": "--describe"}),
    "synthesise": ("labels DOCS --synthesise NAME", ("labels",), {"--model": "--synthesise"}),
    "graph": ("describe DOCS --graph", ("describe", "--graph"), {}),
    "candidates": ("describe DOCS --candidates", ("describe", "--candidates"), {}),
    "verify": ("labels --verify --model DIR", ("labels", "--verify"), {"": "--model"}),
}
"""Old command -> what to write now, the arguments that stand for it, and its options by their new names; "" is its
argument."""


def new_method(name: str) -> str:
    """The method that an old name stands for; the name itself if it is none."""
    return _VARIANTS[name][0] if name in _VARIANTS else name


def new_options(name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options that an old method stands for with the given ones, without those that are gone. Logs a warning."""
    if name in _VARIANTS:
        method, own = _VARIANTS[name]
        options = "model=..." if name == "combine" else ", ".join(f"{key}={value}" for key, value in own.items())
        _warn(f"the method {name} is {method} with {options} since 0.10; the old name goes with 0.11")
        values = {**own, **{key: value for key, value in values.items() if key != "combiner"}}
    elif name in BASELINES:
        _warn(f"the method {name} is only a baseline of benchmarks since 0.10, and goes with 0.11")
    training = values.get("training", {})
    for gone in _CONSTANTS:
        if gone in values or (isinstance(training, Mapping) and gone in training):
            _warn(f"training.{gone} is ignored since 0.10, and is unknown from 0.11 on")
    left = {key: value for key, value in values.items() if key not in _CONSTANTS}
    if isinstance(training, Mapping) and training:
        left["training"] = {key: value for key, value in training.items() if key not in _CONSTANTS}
    return left


def new_arguments(arguments: Sequence[str], say: Callable[[str], object]) -> list[str]:
    """The arguments of a command line in place of those of an old command."""
    if not arguments or arguments[0] not in COMMANDS:
        return list(arguments)
    written, standing, options = COMMANDS[arguments[0]]
    say(f"{arguments[0]} is `tagwright {written}` since 0.10; the old name goes with 0.11")
    changed, before = list(standing), ""
    for argument in arguments[1:]:
        if "" in options and not argument.startswith("-") and before not in ("--labels", "--language"):
            changed.append(options[""])
        name, equals, value = argument.partition("=")
        changed.append(options.get(name, name) + equals + value)
        before = argument
    return changed


def names_in(language: str, *, saved: bool) -> str:
    """What --language meant with a saved tagger alone (--model): the language of the names to print. Logs a warning."""
    if not saved or language in ("", "auto", "none", "all"):
        return ""
    _warn(
        f"--language {language} with --model alone is --names-in {language} since 0.10; it has no effect from 0.11 on"
    )
    return language


def config_of_depl(name: str, config: Callable[..., Any], paper: Callable[[], Any]) -> Callable[..., Any]:
    """What was a class of options, or settings, of one of DEPL's variants in `papers.depl`.

    Raises AttributeError for another name.
    """
    old = {"ClassifierConfig": "classifier", "DeRetConfig": "de_ret", "ClsConfig": "depl_cls"}
    papers = {"classifier_paper": "classifier", "de_ret_paper": "de_ret", "cls_paper": "depl_cls"}
    if name not in {**old, **papers}:
        raise AttributeError(f"module 'tagwright.papers.depl' has no attribute {name!r}")
    variant = {**old, **papers}[name]
    _warn(f"depl.{name} is depl.Config with variant={variant} since 0.10; the old name goes with 0.11")
    return partial(config, variant=variant) if name in old else lambda: replace(paper(), variant=variant)


def _warn(text: str) -> None:
    """A line on the command line, a DeprecationWarning in Python."""
    if option("method").startswith("--"):
        _log.warning("%s", text)
    else:
        warnings.warn(text, DeprecationWarning, stacklevel=5)
