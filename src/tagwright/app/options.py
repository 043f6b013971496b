"""Options in (a TOML file, KEY=VALUE settings), a checked configuration out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from tagwright.data.lines import shown
from tagwright.errors import ConfigError
from tagwright.fields import fits, in_words

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

C = TypeVar("C")


def configure(kind: type[C], /, file: Path | None = None, settings: Sequence[str] = (), **fixed: str) -> C:
    """The configuration of a method: its defaults, then the file's values, then the settings.

    kind: a dataclass. fixed: what the method's name stands for. Raises ConfigError for an unknown key, with the nearest
    known one, for a bad value, and for one other than is fixed.
    """
    values = {**(_read(file) if file else {}), **dict(map(_setting, settings))}
    for key, value in fixed.items():
        if values.setdefault(key, value) != value:
            raise ConfigError(f"{key} is {shown(values[key])}, but the method's name stands for {shown(value)}")
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known)}"
            raise ConfigError(f'unknown option "{key}"; {hint}')
    types, defaults = get_type_hints(kind), kind()
    for key, value in values.items():
        if not fits(value, types[key]):
            example = "" if getattr(defaults, key) is None else f", such as {shown(getattr(defaults, key))}"
            raise ConfigError(f"{key} is {shown(value)}, expected {in_words(types[key])}{example}")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})


def _read(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as content:
            return tomllib.load(content)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ConfigError(f"{file}: not a TOML file ({error})") from None


def _setting(text: str) -> tuple[str, Any]:
    """KEY=VALUE; the value is read as TOML where it is TOML, else as text: 5, true, [1, 2], minilm, "P->P"."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f'--set "{text}": expected KEY=VALUE')
    try:
        parsed = tomllib.loads(f"value = {value}")
    except ValueError:
        parsed = {}
    return key.strip(), parsed["value"] if len(parsed) == 1 else value.strip()
