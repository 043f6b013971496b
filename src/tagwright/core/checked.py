"""Checked options: whether values fit the fields of a configuration, and what would fit.

A configuration is a frozen dataclass whose annotations hold the constraints of each field: its type, its choices
(Literal) and its range (`Annotated[int, Range(least=1)]`). A class that inherits from `Checked` is checked by them
whenever it is made, and `build` makes one from values as TOML and JSON have them.
"""

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache, wraps
from inspect import Parameter, signature
from math import inf, isfinite, isnan
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)  # fmt: skip

from tagwright.errors import ConfigError

C = TypeVar("C")
P = ParamSpec("P")

NONE = "none"
"How TOML and the command line write None."


def canonical(name: str) -> str:
    """The canonical spelling of a name: hyphens and plus signs become underscores.

    >>> canonical("zero-shot"), canonical("depl+cls"), canonical("exact_match")
    ('zero_shot', 'depl_cls', 'exact_match')
    """
    return name.replace("-", "_").replace("+", "_")


def find_nearest(name: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """The known name that was meant by a misspelt one, "" if none is like it. cutoff: from 0 to 1, the least likeness.

    None is found of more than 50,000, which take over a second; of a name without end its beginning is compared.

    >>> find_nearest("svn", ["auto", "svm"])
    'svm'
    """
    near = get_close_matches(name[:300], known, 1, cutoff) if len(known) <= 50_000 else []
    return near[0] if near else ""


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers that an option may have: between bounds that belong to the range (least, most) or not (above, below).

    >>> Range(least=0, below=1).admits(1.0), str(Range(least=0, below=1))
    (False, 'at least 0 and below 1')
    """

    least: float = -inf
    above: float = -inf
    most: float = inf
    below: float = inf

    def admits(self, value: Any) -> bool:
        """Whether the number is in the range."""
        return bool(self.least <= value <= self.most and self.above < value < self.below)

    def __str__(self) -> str:
        bounds = {"at least": self.least, "more than": self.above, "at most": self.most, "below": self.below}
        return " and ".join(f"{words} {bound:g}" for words, bound in bounds.items() if isfinite(bound))


@dataclass(frozen=True)
class Distinct:
    """A list with at least one value and no duplicates. Of names it may also say how it differs from a default.

    >>> Distinct(("exact_match", "tfidf")).apply("+bm25"), Distinct(("exact_match", "tfidf")).apply(["+bm25", "-tfidf"])
    (('exact_match', 'tfidf', 'bm25'), ('exact_match', 'bm25'))
    """

    default: tuple[str, ...] = ()

    def apply(self, value: Any) -> Any:
        """Return the default with what a list, or a text with commas, adds ("+name") and leaves out ("-name").

        A value without signs is returned as it is. Raises ConfigError for changes that make no sense.
        """
        names = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
        signed = [name.strip() for name in names if isinstance(name, str) and name.strip()[:1] in ("+", "-")]
        if not signed or not self.default:
            return value
        added, left_out = ([canonical(name[1:]) for name in signed if name[0] == sign] for sign in "+-")
        if len(signed) < len(names) or not set(left_out) <= set(self.default) or set(added) & set(self.default):
            raise ConfigError(
                f"got {show(value)}, expected only names, or only changes of {', '.join(self.default)}: "
                '"+" before each name to add, "-" before each of these to leave out'
            )
        return (*(name for name in self.default if name not in left_out), *added)

    def admits(self, value: Any) -> bool:
        """Whether the list has values, and none of them twice."""
        return 0 < len(value) == len(set(value))

    def __str__(self) -> str:
        return "one or more values without duplicates" + ', or changes as in "+name"' * bool(self.default)


@dataclass(frozen=True)
class OneOf:
    """One of these names, or another admitted name, such as one registered by an installed package.

    >>> OneOf(("tfidf",), str.isupper, "capitals").admits("ABC"), str(OneOf(("tfidf",), str.isupper, "capitals"))
    (True, 'one of tfidf, or capitals')
    """

    names: tuple[str, ...]
    others: Callable[[str], bool]
    "Whether another name is admitted; called with its canonical spelling."
    others_text: str
    "How messages name the others."

    def admits(self, value: Any) -> bool:
        """Whether the name is known."""
        return (name := canonical(value)) in self.names or self.others(name)

    def __str__(self) -> str:
        return f"one of {', '.join(self.names)}, or {self.others_text}"


AtLeastOne: TypeAlias = Annotated[int, Range(least=1)]
AtLeastZero: TypeAlias = Annotated[int, Range(least=0)]
Positive: TypeAlias = Annotated[float, Range(above=0)]
NotNegative: TypeAlias = Annotated[float, Range(least=0)]
Probability: TypeAlias = Annotated[float, Range(least=0, most=1)]
PartialShare: TypeAlias = Annotated[float, Range(least=0, below=1)]
"A share below 1, so that something is left."


class Checked:
    """A dataclass of options. Raises ConfigError when it is made with a value that does not fit its field.

    UnknownOptionError for a name that is no field. Values that are names are kept in their canonical spelling.
    """

    def __new__(cls, *_: Any, **values: Any) -> Self:  # noqa: D102
        check_names(values, _hints(cls))  # type: ignore[arg-type]
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, hint in _hints(type(self)).items():  # type: ignore[arg-type]
            if (value := getattr(self, name)) != (spelled := _canonicalise(value, hint)):
                object.__setattr__(self, name, spelled)  # the dataclass is frozen
        check(type(self), {field.name: getattr(self, field.name) for field in fields(self)})  # type: ignore[arg-type]


def build(kind: type[C], values: Mapping[str, Any], within: str = "") -> C:
    """The dataclass with these values, parsed from TOML or JSON; the other fields keep their defaults.

    A list becomes a tuple, a table the dataclass that its field is annotated with, and "none" None where the field may
    be None and no text fits, since TOML has no null. within: a prefix of the names in messages. Raises ConfigError for
    an unknown name, with the nearest known one, and for a value that does not fit.
    """
    hints = _hints(kind)  # type: ignore[arg-type]
    tables = {name: fields(hint) for name, hint in hints.items() if is_dataclass(hint)}
    nested = {field.name: f"{name}.{field.name}" for name, held in tables.items() for field in held}
    check_names(values, hints, nested, within)
    made = {
        name: build(hints[name], value, f"{within}{name}.")
        if is_dataclass(hints[name]) and isinstance(value, Mapping)
        else _read(value, hints[name])
        for name, value in values.items()
    }
    check(kind, made, within)
    return kind(**made)


def _read(value: Any, kind: Any) -> Any:
    if value == NONE and fits(None, kind) and not fits(value, kind):
        return None
    return _canonicalise(tuple(value) if isinstance(value, list) else value, kind)


_ELSEWHERE = {"C": "cost", "lr": "learning_rate", "random_state": "seed"}
"Names of options in scikit-learn and PyTorch that are not like ours, and ours."


class UnknownOptionError(ConfigError, TypeError):
    """An option, or a keyword argument, that does not exist; the message has the nearest one.

    known: the last part of a name, also within a table -> the whole name. within: a prefix of the names in messages.
    """

    def __init__(self, name: str, known: Mapping[str, str], within: str = "") -> None:
        elsewhere = _ELSEWHERE.get(name, "")
        near = elsewhere if elsewhere in known else find_nearest(name, known)
        listed = ", ".join(each for each, whole in known.items() if each == whole)
        hint = f'did you mean "{within}{known[near]}"?' if near else f"known are {listed}"
        super().__init__(f'unknown option "{within}{name[:100]}"; {hint}')
        self.name, self.known, self.within = name, known, within

    def __reduce__(self) -> tuple[type[Self], tuple[str, Mapping[str, str], str]]:
        return type(self), (self.name, self.known, self.within)  # from another process

    def among(self, names: Iterable[str]) -> "UnknownOptionError":
        """The same error, with these names known too."""
        return UnknownOptionError(self.name, {**self.known, **{name: name for name in names}}, self.within)


def check_names(names: Iterable[str], known: Collection[str], nested: Mapping[str, str] = {}, within: str = "") -> None:
    """Raise UnknownOptionError for the first name that is not known. nested: those in tables, as in the error."""
    for name in names:
        if name not in known:
            raise UnknownOptionError(name, {**nested, **{each: each for each in known}}, within)


def named_arguments(function: Callable[P, C]) -> Callable[P, C]:
    """Decorate a public function: an unknown keyword argument raises UnknownOptionError."""
    parameters = signature(function).parameters.values()
    by_name = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    own = [parameter.name for parameter in parameters if parameter.kind in by_name and parameter.name != "self"]
    takes_others = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> C:
        if not takes_others:
            check_names(named, own)
        try:
            return function(*given, **named)
        except UnknownOptionError as error:
            # Raised for one of its **options: the function's own arguments are suggested too.
            raise (error.among(own) if error.name in named else error) from None

    return checked


def check(kind: type, values: Mapping[str, object], within: str = "") -> None:
    """Raise ConfigError for the first value that does not fit the field of its name."""
    hints = _hints(kind)
    defaults = {field.name: field.default for field in fields(kind)}
    for name in (name for name in hints if name in values):
        if wanted := say_expected(values[name], hints[name]):
            default = defaults[name]
            example = "" if default is MISSING or default is None else f", such as {show(default)}"
            unset = f", or {NONE}" if fits(None, hints[name]) else ""
            raise ConfigError(f"{within}{name} is {show(values[name])}, expected {wanted}{unset}{example}")


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _canonicalise(value: Any, kind: Any) -> Any:
    """The value with names in their canonical spelling, where its field holds names: Literal, OneOf, tuples of them."""
    if isinstance(value, str) and get_origin(kind) is Literal and value not in get_args(kind):
        return next((name for name in get_args(kind) if canonical(name) == canonical(value)), value)
    if get_origin(kind) is Annotated:
        inner, *rules = get_args(kind)
        value = next((rule.apply(value) for rule in rules if isinstance(rule, Distinct)), value)
        named = isinstance(value, str) and any(isinstance(rule, OneOf) for rule in rules)
        return canonical(value) if named else _canonicalise(value, inner)
    if get_origin(kind) is tuple and isinstance(value, tuple | list):
        return tuple(_canonicalise(part, get_args(kind)[0]) for part in value)
    return value


def fits(value: object, kind: Any) -> bool:
    """Whether a value fits a field: Literal, tuple, Mapping[str, X], X | None, Annotated, a number, str, bool.

    >>> fits(5, float), fits([1, 2], tuple[int, ...]), fits(None, int | None), fits(True, int)
    (True, True, True, False)
    """
    return say_expected(value, kind) is None


def say_expected(value: object, kind: Any) -> str | None:
    """Name the values expected in place of one, or None where it fits.

    >>> say_expected(0, Annotated[int, Range(least=1)] | None), say_expected("0", Annotated[int, Range(least=1)] | None)
    ('at least 1', 'a whole number')
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        wanted = {part: say_expected(value, part) for part in parts}
        texts = [text for part, text in wanted.items() if text and part is not NoneType]
        return None if None in wanted.values() else " or ".join(texts)
    if origin is Annotated:
        inner, *rules = parts
        return say_expected(value, inner) or next((str(rule) for rule in rules if not rule.admits(value)), None)
    if origin in (tuple, Sequence):
        right = isinstance(value, list | tuple) and all(fits(part, parts[0]) for part in value)
    elif origin is Mapping:
        right = isinstance(value, Mapping) and all(fits(part, parts[1]) for part in value.values())
    elif origin is Literal:
        right = isinstance(value, str) and value in parts
    elif kind is float:
        right = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    else:
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return None if right else describe_type(kind)


def describe_type(kind: Any) -> str:
    """Describe in words the values that a field accepts.

    >>> describe_type(int | None), describe_type(tuple[str, ...]), describe_type(Annotated[int, Range(least=1)])
    ('a whole number', 'a list, each a text', 'a whole number, at least 1')
    """
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(describe_type(part) for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is Annotated:
        inner, *rules = get_args(kind)
        names = any(isinstance(rule, OneOf) for rule in rules)  # that a name is a text goes without saying
        return ", ".join([*([] if names else [describe_type(inner)]), *map(str, rules)])
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) in (tuple, Sequence):
        return f"a list, each {describe_type(get_args(kind)[0])}"
    if get_origin(kind) is Mapping:
        return f"a table, each value {describe_type(get_args(kind)[1])}"
    if is_dataclass(kind):
        return "a table"
    return {float: "a number", int: "a whole number", bool: "true or false"}.get(kind, "a text")


def show(value: object, limit: int = 60) -> str:
    """A value as JSON for a message, cut to a readable length. What is not shown is not visited: it may be a request.

    >>> show({"years": (2020, None)}), show(["bees"] * 1_000_000, 20)
    ('{"years": [2020, null]}', '["bees", "bees", "b…')
    """
    text = ""
    pieces = _ENCODER.iterencode(value[: limit + 1] if isinstance(value, str) else value)
    while len(text) <= limit and (piece := next(pieces, None)):
        text += piece
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _describe_unknown(value: object) -> object:
    """Return the text that is shown in place of a value that JSON does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, set | frozenset) else str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_describe_unknown)


def is_missing(value: object) -> bool:
    """Whether a value is null, NaN, or what else pandas has for a missing one."""
    is_nan = isinstance(value, float) and isnan(value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")
