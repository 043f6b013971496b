"""The options of the methods by name, checked, and the record of a training."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import numpy as np

from tagwright import registry
from tagwright.core.checked import build, canonical, find_nearest, show
from tagwright.core.progress import note
from tagwright.encoders.device import gpu_name, threads, uses_gpu
from tagwright.encoders.given import register
from tagwright.encoders.model_folder import encoder_name
from tagwright.encoders.precision import resolve
from tagwright.errors import ConfigError, option
from tagwright.registry import METHODS, Method
from tagwright.training.config import OF_ENCODER, TrainingConfig, lasting_options

ARGUMENTS = tuple(dict.fromkeys(name for method in METHODS.values() for name in sorted(method.accepts)))
"Arguments of a training that only some methods accept."

ZERO_SHOT = "zero_shot"


def find_method(method: str) -> Method:
    """The method of this name; "zero-shot" means "zero_shot".

    Raises ConfigError with the nearest name, or the names there are.
    """
    name = canonical(method)
    if (registered := registry.method(name)) is None:
        near = find_nearest(name, METHODS, cutoff=0.61)
        hint = f'did you mean "{near}"?' if near else f"there are {', '.join(METHODS)}"
        raise ConfigError(f"no method {show(method)}; {hint}")
    return registered


def method_name(method: str) -> str:
    """The name of a method as it is registered. Raises ConfigError as `find_method` does."""
    find_method(method)
    return canonical(method)


def configuration(
    method: str, values: Mapping[str, Any], language: str = "", *, paper: bool = False, published_code: bool = False
) -> Any:
    """Return the options of a method with these values, each checked; the others keep their defaults.

    language: for a method that has this option, unless the values name one. paper: the others are the paper's,
    published_code: as its authors' programs have them, but for those that do not fit a static encoder. An encoder may
    be a Path or a model of sentence-transformers as well, see `encoder_name`. Options of the training stand among the
    others, or in a table: `{"training": {"epochs": 2}}`. Raises ConfigError for an unknown method or option, with the
    nearest known one, or a bad value; ModelError for an encoder that is neither here nor to be fetched, with paper.

    >>> configuration("rts", {"epochs": 2, "temperature": 0.1}).training.epochs
    2
    """
    kind = find_method(method).config
    values = _nest_training_options(kind, values)
    if language and "language" in {field.name for field in fields(kind)}:
        values = {"language": language, **values}
    if "encoder" in values:
        values = {**values, "encoder": _encoder(method, values["encoder"])}
    if paper or published_code:
        values = _over_the_paper(method, values, published_code=published_code)
    return build(kind, {key: _to_plain_value(value) for key, value in values.items()})


def _encoder(method: str, given: Any) -> str | None:
    """The name of an encoder. Raises ConfigError for what is none, and for an object that the method cannot train."""
    name = encoder_name(given)
    if name is None or isinstance(name, str):
        return name
    if find_method(method).encodes and callable(getattr(given, "encode", given)):
        return register(given)
    objects = "an object with encode(texts), or a function of texts"
    others = " and ".join(name for name, kind in METHODS.items() if kind.encodes)
    rest = (
        f", {objects}" if find_method(method).encodes else f", which {method} can train; {others} take {objects}, too"
    )
    raise ConfigError(f"encoder is {show(given)}, expected a name, a folder, or a SentenceTransformer{rest}")


def settings_of_paper(method: str, *, published_code: bool = False) -> Any:
    """The options of the method's paper, or of its published code. Raises ConfigError for a method that has none."""
    given = "published_code" if published_code else "paper"
    if (settings := getattr(find_method(method), given)) is None:
        methods = ", ".join(name for name, kind in METHODS.items() if getattr(kind, given))
        raise ConfigError(f"{option(given, python=f'{given}=True')} is accepted by {methods}, not by {method}")
    return settings()


def _over_the_paper(method: str, values: Mapping[str, Any], *, published_code: bool) -> dict[str, Any]:
    """The options of `settings_of_paper` with these values. Raises ConfigError as it does."""
    table = asdict(settings_of_paper(method, published_code=published_code))
    if "encoder" in values:
        _follow_encoder(table, method, values["encoder"])
    for name, value in values.items():
        set_option(table, name, value)
        if name == "training" and isinstance(value, Mapping):
            for own, paper in (("epochs", "steps"), ("warmup", "warmup_steps")):  # the second has precedence
                if own in value and paper not in value:
                    table[name][paper] = None
    return table


def _follow_encoder(table: dict[str, Any], method: str, encoder: str) -> None:
    """Unset what the paper says of a transformer where the encoder is static, so that the method's own holds.

    FuTex and MICoL train a cross-encoder by `training`, and DEPL's paper does not state it: they keep it.
    """
    from tagwright.training.encoder import OF_TRANSFORMERS, EncoderOptions, RetrievalOptions

    if not EncoderOptions(encoder=encoder).is_static:
        return
    unset = [name for name in OF_TRANSFORMERS if table.get(name)]
    table |= dict.fromkeys(unset)
    if issubclass(find_method(method).config, RetrievalOptions):
        unset += [name for name in OF_ENCODER if table["training"][name] is not None]
        table["training"] |= dict.fromkeys(OF_ENCODER)
    if unset:
        paper = option("paper", python="paper=True")
        note(f"{paper}: the encoder is static, for which {', '.join(unset)} are the method's own, not the paper's")


def _nest_training_options(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Move options of the training, such as epochs=2, into its table. Raises ConfigError for two values of one."""
    known = {field.name for field in fields(kind)}
    ours = {field.name for field in fields(TrainingConfig)} - known if "training" in known else set()
    nested = {key: value for key, value in values.items() if key not in ours}
    if isinstance(given := nested.get("training"), TrainingConfig):
        nested["training"] = {
            field.name: value for field in fields(given) if (value := getattr(given, field.name)) != field.default
        }
    for key in sorted(ours & values.keys()):
        table = nested.get("training")
        if isinstance(table, Mapping) and table.get(key, values[key]) != values[key]:
            raise ConfigError(f"{key} is {show(values[key])}, but training.{key} is {show(table[key])}; give one")
        set_option(nested, f"training.{key}", values[key])
    return nested


def set_option(table: dict[str, Any], name: str, value: Any) -> None:
    """Set an option; "training.epochs" stands for epochs in the table training."""
    outer, dot, inner = name.partition(".")
    if dot and isinstance(table.setdefault(outer, {}), Mapping):
        table[outer] = {**table[outer], inner: value}
    elif isinstance(value, Mapping) and isinstance(table.get(name), Mapping):
        table[name] = {**table[name], **value}
    else:
        table[name] = value


def check_given(method: str, given: Mapping[str, bool]) -> None:
    """Raise ConfigError for a given argument that the method does not accept. given: name -> whether it is given."""
    accepted = find_method(method).accepts
    for name in ARGUMENTS:
        if given.get(name) and name not in accepted:
            methods = [each for each, kind in METHODS.items() if name in kind.accepts]
            why = "; it compares vectors of pairs of texts, as these do in training" if name == "loss" else ""
            raise ConfigError(f"{option(name)} is accepted by {', '.join(methods)}, not by {method}{why}")


def resolve_defaults(config: Any) -> Mapping[str, Any]:
    """Return the values of "auto" and unset options on this machine."""
    resolved: Mapping[str, Any] = getattr(config, "resolved", {})
    return {name: value for name, value in resolved.items() if getattr(config, name) != value}


def options_of(config: Any) -> dict[str, Any]:
    """The options that determine a training, with "auto" resolved; plain values."""
    return {**lasting_options(config), **resolve_defaults(config)}


def machine() -> dict[str, str]:
    """Properties of the machine that affect the last digits of the weights. Plain texts."""
    from importlib.metadata import version as installed

    return {
        "device": gpu_name() if uses_gpu() else f"cpu {platform.machine()}",
        "precision": resolve("auto"),
        "threads": str(threads()),
        **{name: installed(name) for name in ("torch", "openvino") if find_spec(name)},
    }


def record(method: str, options: Mapping[str, Any], on: Mapping[str, str], version: str, **more: Any) -> dict[str, Any]:
    """The training record that is saved with a tagger, for information."""
    date = datetime.now(UTC).date().isoformat()
    return {"method": method, "options": dict(options), **more, "machine": dict(on), "version": version, "date": date}


def _to_plain_value(value: Any) -> Any:
    """Convert tuples to lists, and numpy numbers to Python numbers, as in TOML."""
    if isinstance(value, list | tuple):
        return list(map(_to_plain_value, value))
    if isinstance(value, Mapping):
        return {key: _to_plain_value(item) for key, item in value.items()}
    return value.item() if isinstance(value, np.generic) else value
