"""Read the options of a method from a TOML file and from KEY=VALUE settings, and list them with their meanings."""

import ast
import inspect
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, get_type_hints

from tagwright.api.options import set_option
from tagwright.core.checked import NONE, describe_type, fits, show
from tagwright.errors import ConfigError


def options_of(kind: type, paper: Any = None, within: str = "") -> list[dict[str, str | None]]:
    """The fields of a dataclass, those of a dataclass that it holds as well, as options for `--set`.

    Of each its name, expected values, default as it is written, meaning (the text under it in the source) and, if the
    settings of a paper are given, its value there as it is written.
    """
    types, meanings, defaults = get_type_hints(kind, include_extras=True), _meanings(kind), kind()
    options = list[dict[str, str | None]]()
    for field in fields(kind):
        held, default, name = types[field.name], getattr(defaults, field.name), within + field.name
        in_paper = getattr(paper, field.name, None)
        if is_dataclass(held):
            options += options_of(type(default), in_paper, f"{name}.")
            continue
        expected = f"{describe_type(held)}, or {NONE}" if fits(None, held) else describe_type(held)
        theirs = None if paper is None else _format_default(in_paper)
        texts = (name, expected, _format_default(default), meanings[field.name], theirs)
        options.append(dict(zip(("name", "expected", "default", "meaning", "paper"), texts, strict=True)))
    return options


def values_of(file: Path | None, settings: Sequence[str]) -> dict[str, Any]:
    """Merge the options of a file and of --set in nested tables; --set takes precedence.

    A setting of a held table has a dot, as in llm.weight=2; that of training may be left out. Raises ConfigError.
    """
    values: dict[str, Any] = dict(_read(file)) if file else {}
    for name, value in map(_setting, settings):
        short, training = name.removeprefix("training."), values.get("training")
        if short in values:  # replace a value under the name that it has there
            name = short
        elif isinstance(training, dict) and short in training:
            name = f"training.{short}"
        set_option(values, name, value)
    return values


def _read(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as content:
            return tomllib.load(content)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ConfigError(f"{file}: not a TOML file ({error})") from None


def _setting(text: str) -> tuple[str, Any]:
    """KEY=VALUE; the value is read as TOML where it is TOML, else as text: 5, true, [1, 2], minilm, "P->P".

    Raises ConfigError for what is neither: a list or a table in another language than TOML.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f'--set "{text}": expected KEY=VALUE')
    try:
        parsed = tomllib.loads(f"value = {value}")
    except ValueError:
        if value.strip()[:1] in ("[", "{"):
            raise ConfigError(
                f'--set \'{text}\': the value is not TOML; write a list as ["a", "b"], a table as {{a = 1, b = 2}}'
            ) from None
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


def _format_default(value: object) -> str:
    return f"{NONE} (not set)" if value is None else show(list(value) if isinstance(value, tuple) else value)
