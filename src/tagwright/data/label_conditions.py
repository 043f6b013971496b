"""Conditions on labels, such as `notation:33*`: which labels of a vocabulary may be suggested.

A condition is `kind:value`. A `*` at the end of the value means "begins with"; a value without a kind is an id.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from tagwright.core.checked import find_nearest, show
from tagwright.errors import ConfigError, option
from tagwright.types import Longs, Mask

Kind: TypeAlias = Literal["id", "notation", "type", "scheme", "collection", "branch"]
"branch: the id of a label, which means it and all labels below it."

Field: TypeAlias = Literal["notation", "types", "schemes", "collections"]

FIELDS: Mapping[Kind, Field] = {
    "notation": "notation", "type": "types", "scheme": "schemes", "collection": "collections",
}  # fmt: skip
"The field of a label that holds the values of a kind. The values of the kinds that are not listed are ids."


class LabelConditions:
    """Tells which labels fulfil conditions. vocabulary: a `Vocabulary`, whose module imports this one."""

    def __init__(self, vocabulary: Any) -> None:
        self._vocabulary, self._sorted_values = vocabulary, cache(self._sort_values)
        self.allowed = lru_cache(8)(self._allowed)  # for the next request with the same conditions

    def _allowed(self, only: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Mask:
        """(labels,) true for labels that may be suggested.

        only: conditions, of which the label fulfils at least one of each kind that is named. without: conditions, of
        which it fulfils none. Raises ConfigError for a condition that no label fulfils, and if no label is left.
        """
        allowed = np.ones(len(self._vocabulary), np.bool_)
        for kind in get_args(Kind):
            if conditions := [condition for condition in only if self._parse(condition)[0] == kind]:
                allowed &= self._fulfil_any("only", conditions)
        allowed &= ~self._fulfil_any("without", without)
        if not allowed.any():
            options = [*(f"only={condition}" for condition in only), *(f"without={condition}" for condition in without)]
            raise ConfigError(f"no label fulfils all of {', '.join(options)[:200]}; leave one of them out")
        return allowed

    def _fulfil_any(self, option_name: str, conditions: Iterable[str]) -> Mask:
        """(labels,) true for labels that fulfil any of the conditions of an option."""
        fulfil, is_top = np.zeros((2, len(self._vocabulary)), np.bool_)
        for condition in dict.fromkeys(conditions):
            kind, value = self._parse(condition)
            places = self._find(kind, value)
            if not len(places):
                raise ConfigError(f"{option(option_name, show(condition))} fits no label; {self._remedy(kind, value)}")
            (is_top if kind == "branch" else fulfil)[places] = True
        return np.asarray(fulfil | self._vocabulary.branch(np.flatnonzero(is_top))) if is_top.any() else fulfil

    def _parse(self, condition: str) -> tuple[Kind, str]:
        """Return kind and value. A condition that is itself the id of a label means that label: ids may hold colons."""
        kind, _, value = condition.partition(":")
        if condition in self._vocabulary.index or kind not in get_args(Kind):
            return "id", condition
        return kind, value  # type: ignore[return-value]  # the line above made sure of the kind

    def _find(self, kind: Kind, value: str) -> Longs:
        """Return the positions of the labels with this value or, if it ends with `*`, with one that begins so."""
        if kind not in FIELDS and (place := self._vocabulary.index.get(value)) is not None:
            return np.array([place])
        values, places = self._sorted_values(kind)
        last = value[:-1] + "\U0010ffff" if value.endswith("*") else value  # no character sorts after U+10FFFF
        return places[bisect_left(values, value.removesuffix("*")) : bisect_right(values, last)]

    def _sort_values(self, kind: Kind) -> tuple[list[str], Longs]:
        """Return all values of a kind in order, and for each the position of the label that has it."""
        ids = ((place, [label_id]) for place, label_id in enumerate(self._vocabulary.ids))
        values_by_label = self._vocabulary.texts(FIELDS[kind]) if kind in FIELDS else ids
        pairs = sorted((value, place) for place, values in values_by_label for value in values)
        return [value for value, _ in pairs], np.array([place for _, place in pairs], np.int64)

    def _remedy(self, kind: Kind, value: str) -> str:
        """Suggest the nearest value, or list some."""
        prefix = "" if kind == "id" else f"{kind}:"
        known = list(dict.fromkeys(self._sorted_values(kind)[0]))
        if not known:
            return f"no label of the vocabulary has a {kind}"
        label = None if kind in FIELDS else self._vocabulary.resolve(value)
        near = find_nearest(value, known) if label is None else self._vocabulary.ids[label]
        return f"did you mean {prefix}{near}?" if near else f"there are {prefix}{', '.join(known[:3])} ..."
