"""Options in (a TOML file, KEY=VALUE settings), a checked configuration out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from tagwright.types import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

C = TypeVar("C")


def configure(kind: type[C], file: Path | None = None, settings: Sequence[str] = ()) -> C:
    """The configuration of a method: its defaults, then the file's values, then the settings.

    kind: a dataclass. Raises ConfigError for an unknown key, with the nearest known one, and for a bad value.
    """
    values = {**(_read(file) if file else {}), **dict(map(_setting, settings))}
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known)}"
            raise ConfigError(f'unknown option "{key}"; {hint}')
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
    except TypeError as error:
        raise ConfigError(f"options {values}: {error}") from None


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
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except ValueError:
        return key.strip(), value.strip()
