"""Options in (a TOML file, KEY=VALUE settings), a checked configuration out."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar, get_type_hints

from tagwright.errors import ConfigError
from tagwright.fields import in_words, shown
from tagwright.recipes import configuration

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Option:
    """What `--set` knows: a name, what is expected, the default as it would be written, and what it means."""

    name: str
    expected: str
    default: str
    meaning: str


def options_of(kind: type, unused: Collection[str] = ()) -> list[Option]:
    """The fields of a dataclass but for the unused ones, with the text under each in its source."""
    types, meanings, defaults = get_type_hints(kind), _meanings(kind), kind()
    return [
        Option(field.name, in_words(types[field.name]), _written(getattr(defaults, field.name)), meanings[field.name])
        for field in fields(kind)
        if field.name not in unused
    ]


def configure(
    kind: type[C],
    /,
    file: Path | None = None,
    settings: Sequence[str] = (),
    unused: Collection[str] = (),
    **fixed: str,
) -> C:
    """The configuration of a method: its defaults, then the file's values, then the settings.

    kind: a dataclass. unused: fields that have no part in the method. fixed: what the method's name stands for. Raises
    ConfigError for an unknown or unused key, with the nearest known one, for a bad value, and for one other than is
    fixed.
    """
    values = {**(_read(file) if file else {}), **dict(map(_setting, settings))}
    return configuration(kind, values, unused, **fixed)


def in_language(settings: Sequence[str], language: str) -> list[str]:
    """The settings with the option --language before them: `--set language=` says the same."""
    return [*([f'language="{language}"'] if language else []), *settings]


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


def _meanings(kind: type) -> dict[str, str]:
    """Field -> the text under it; a class that only changes the default leaves the text of the class it builds on."""
    found: dict[str, str] = {}
    for part in filter(is_dataclass, reversed(kind.__mro__)):
        tree = ast.parse(dedent(inspect.getsource(part))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for field, text in pairwise([*tree.body, ast.Pass()]):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                written = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
                meaning = " ".join(str(text.value.value).split()) if written else ""  # type: ignore[attr-defined]
                found[field.target.id] = meaning or found.get(field.target.id, "")
    return found


def _written(value: object) -> str:
    return "none (not set)" if value is None else shown(list(value) if isinstance(value, tuple) else value)
