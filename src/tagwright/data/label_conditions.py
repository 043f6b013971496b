"""Conditions on labels, such as `notation:33*`: which labels of a vocabulary may be suggested.

A condition is `kind:value`. A `*` at the end of the value means "begins with"; a value without a kind is an id.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, Protocol, TypeAlias, get_args

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


class _Labels(Protocol):
    """What conditions read of a vocabulary, by the names that its members have there."""

    @property
    def ids(self) -> Sequence[str]: ...
    @property
    def index(self) -> Mapping[str, int]: ...
    def __len__(self) -> int: ...
    def branch(self, tops: Longs) -> Mask: ...
    def texts(self, field: Field) -> Iterator[tuple[int, Sequence[Any]]]: ...
    def resolve(self, value: str) -> int | None: ...


class LabelConditions:
    """Tells which labels of a vocabulary fulfil conditions."""

    def __init__(self, vocabulary: _Labels) -> None:
        self._vocabulary, self._values = vocabulary, cache(self._sorted)
        self.allowed = lru_cache(8)(self._allowed)  # for the next request with the same conditions

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelConditions, (self._vocabulary,)

    def _allowed(self, only: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Mask:
        """(labels,) true for labels that may be suggested.

        only: the label fulfils at least one condition of each kind that is named. without: it fulfils none. Raises
        ConfigError for a condition that no label fulfils, and where no label is left.
        """
        left = np.ones(len(self._vocabulary), np.bool_)
        for kind in get_args(Kind):
            if mine := [condition for condition in only if self._parsed(condition)[0] == kind]:
                left &= self._any("only", mine)
        left &= ~self._any("without", without)
        if not left.any():
            conditions = [*(f"only={each}" for each in only), *(f"without={each}" for each in without)]
            raise ConfigError(f"no label fulfils all of {', '.join(conditions)[:200]}; leave one of them out")
        return left

    def _any(self, name: str, conditions: Iterable[str]) -> Mask:
        """(labels,) true for labels that fulfil any of the conditions."""
        fulfilling, tops = (np.zeros(len(self._vocabulary), np.bool_) for _ in range(2))
        for condition in dict.fromkeys(conditions):
            kind, value = self._parsed(condition)
            places = self._places(kind, value)
            if not len(places):
                raise ConfigError(f"{option(name, show(condition))} fits no label; {self._remedy(kind, value)}")
            (tops if kind == "branch" else fulfilling)[places] = True
        return fulfilling | self._vocabulary.branch(np.flatnonzero(tops)) if tops.any() else fulfilling

    def _parsed(self, condition: str) -> tuple[Kind, str]:
        """Kind and value; a text that is the id of a label as it stands means that label."""
        kind, _, value = condition.partition(":")
        if condition in self._vocabulary.index or kind not in get_args(Kind):
            return "id", condition
        return kind, value  # type: ignore[return-value]  # which is a Kind, as was seen

    def _places(self, kind: Kind, value: str) -> Longs:
        """The positions of the labels that have the value, or one that begins with it."""
        if kind not in FIELDS and (place := self._vocabulary.index.get(value)) is not None:
            return np.array([place])
        values, places = self._values(kind)
        end = value[:-1] + "\U0010ffff" if value.endswith("*") else value  # which is sorted behind all others
        return places[bisect_left(values, value.removesuffix("*")) : bisect_right(values, end)]

    def _sorted(self, kind: Kind) -> tuple[list[str], Longs]:
        """All values of a kind in order, and the position of the label that has each."""
        ids = ((place, [label_id]) for place, label_id in enumerate(self._vocabulary.ids))
        texts = self._vocabulary.texts(FIELDS[kind]) if kind in FIELDS else ids
        pairs = sorted((text, place) for place, own in texts for text in own)
        return [text for text, _ in pairs], np.array([place for _, place in pairs], np.int64)

    def _remedy(self, kind: Kind, value: str) -> str:
        """The nearest value, or what values there are."""
        prefix = "" if kind == "id" else f"{kind}:"
        known = list(dict.fromkeys(self._values(kind)[0]))
        if not known:
            return f"no label of the vocabulary has a {kind}"
        label = None if kind in FIELDS else self._vocabulary.resolve(value)
        near = find_nearest(value, known) if label is None else self._vocabulary.ids[label]
        return f"did you mean {prefix}{near}?" if near else f"there are {prefix}{', '.join(known[:3])} ..."
