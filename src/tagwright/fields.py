"""Values as TOML and JSON have them: whether one fits a field of a configuration, and what would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin


def fits(value: object, kind: Any) -> bool:
    """Whether a value fits a field: Literal, tuple, Mapping[str, X], X | None, a number, str, bool.

    >>> fits(5, float), fits([1, 2], tuple[int, ...]), fits(None, int | None), fits(True, int)
    (True, True, True, False)
    """
    if get_origin(kind) in (Union, UnionType):
        return any(fits(value, part) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, list) and all(fits(part, get_args(kind)[0]) for part in value)
    if get_origin(kind) is Mapping:
        return isinstance(value, dict) and all(fits(part, get_args(kind)[1]) for part in value.values())
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return type(value) is kind


def in_words(kind: Any) -> str:
    """What would fit.

    >>> in_words(int | None), in_words(tuple[str, ...])
    ('a whole number', 'a list, each a text')
    """
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(in_words(part) for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is tuple:
        return f"a list, each {in_words(get_args(kind)[0])}"
    if get_origin(kind) is Mapping:
        return f"a table, each value {in_words(get_args(kind)[1])}"
    return {float: "a number", int: "a whole number", bool: "true or false"}.get(kind, "a text")


def shown(value: object, limit: int = 60) -> str:
    """A value as JSON for an error message, cut to a readable length."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        text = f"a {type(value).__name__} nested too deep"
    return text if len(text) <= limit else text[: limit - 1] + "…"
