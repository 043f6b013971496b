"""Tell functions apart by what they compute, so that a training is not resumed with another one."""

from collections.abc import Callable, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

PLAIN = (str, bytes, int, float, complex, type(None), type(Ellipsis))


def callable_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, with those that it is defined in; of another object that of its class.

    >>> callable_name(len), callable_name(partial(len))
    ('len', 'partial')
    """
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def content_of(value: Any, within: tuple[int, ...] = ()) -> Any:
    """Return what decides what a function or another value does: code, constants, defaults, variables that it uses.

    It has the same repr in every process. Modules and classes are told apart by their names alone. within: the ids of
    values that it is a part of.

    >>> content_of(lambda x, rate=2: x * rate) == content_of(lambda x, rate=3: x * rate)
    False
    """
    if isinstance(value, PLAIN):
        return value
    if id(value) in within:
        return "itself"
    inside = partial(content_of, within=(*within, id(value)))
    if isinstance(value, CodeType):
        return value.co_code.hex(), value.co_names, [*map(inside, value.co_consts)]
    if isinstance(value, FunctionType):
        used = {name: value.__globals__.get(name) for name in value.__code__.co_names}
        plain = {name: each for name, each in used.items() if isinstance(each, PLAIN)}
        variables = [cell.cell_contents for cell in value.__closure__ or () if cell != type(cell)()]
        parts = value.__code__, plain, variables, value.__defaults__, value.__kwdefaults__
        return value.__qualname__, [*map(inside, parts)]
    if isinstance(value, Mapping):
        return [(inside(key), inside(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [*map(inside, value)]
    if isinstance(value, set | frozenset):
        return sorted(map(repr, map(inside, value)))
    if isinstance(value, partial):
        return [*map(inside, (value.func, value.args, value.keywords))]
    if isinstance(value, MethodType):
        return [*map(inside, (value.__func__, value.__self__))]
    if isinstance(value, type | ModuleType):
        return value.__name__
    if hasattr(value, "tolist"):  # an array or a tensor
        return value.tolist()
    methods = [member for member in vars(type(value)).values() if isinstance(member, FunctionType)]
    return callable_name(type(value)), inside(methods), inside(getattr(value, "__dict__", {}))
