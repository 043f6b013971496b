"""Conditions on labels, such as `notation:33*`: which labels of a vocabulary may be suggested.

A condition is `kind:value`. A `*` at the end of the value means "begins with"; a value without a kind is an id.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from tagwright.core.checked import shown
from tagwright.errors import ConfigError, option
from tagwright.types import Mask

if TYPE_CHECKING:
    from tagwright.data.vocabulary import Vocabulary

Kind: TypeAlias = Literal["id", "notation", "type", "scheme", "collection", "branch"]
"branch: the id of a label, which means it and all labels below it."

FIELDS: Mapping[Kind, Literal["notation", "types", "schemes", "collections"]] = {
    "notation": "notation", "type": "types", "scheme": "schemes", "collection": "collections",
}  # fmt: skip

KEPT = 8
"Answers that are kept for the next request with the same conditions."

COMPARED = 50_000
"Values that a misspelt one is compared with, at most: more take over a second."


class LabelConditions:
    """Tells which labels of a vocabulary fulfil conditions."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._fields = vocabulary, dict[Kind, Mapping[str, list[int]]]()
        self.allowed = lru_cache(KEPT)(self._allowed)

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelConditions, (self._vocabulary,)

    def _allowed(self, only: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Mask:
        """(labels,) true for labels that may be suggested.

        only: the label fulfils at least one condition of each kind that is named. without: it fulfils none. Raises
        ConfigError for a condition that no label fulfils, and where no label is left.
        """
        left = np.ones(len(self._vocabulary), np.bool_)
        for kind in get_args(Kind):
            if mine := [each for each in only if self._parsed(each)[0] == kind]:
                left &= self._any("only", mine)
        left &= ~self._any("without", without)
        if not left.any():
            given = [f"{name}={each}" for name, texts in (("only", only), ("without", without)) for each in texts]
            raise ConfigError(f"no label fulfils all of {', '.join(given)[:200]}; leave one of them out")
        return left

    def _any(self, name: str, conditions: Iterable[str]) -> Mask:
        """(labels,) true for labels that fulfil any of the conditions."""
        found = np.zeros(len(self._vocabulary), np.bool_)
        for each in conditions:
            kind, value = self._parsed(each)
            places = self._places(kind, value)
            if not places:
                raise ConfigError(f"{option(name, shown(each))} fits no label; {self._remedy(kind, value)}")
            if kind == "branch":
                found |= self._vocabulary.branch(places)
            found[places] = True
        return found

    def _parsed(self, condition: str) -> tuple[Kind, str]:
        """Kind and value; a text that is the id of a label as it stands means that label."""
        kind, _, value = condition.partition(":")
        if condition in self._vocabulary.index or kind not in get_args(Kind):
            return "id", condition
        return kind, value  # type: ignore[return-value]  # which is a Kind, as was seen

    def _places(self, kind: Kind, value: str) -> list[int]:
        """The positions of the labels that have the value, or one that begins with it."""
        if kind not in FIELDS and (place := self._vocabulary.index.get(value)) is not None:
            return [place]
        if value.endswith("*"):
            return [place for place, texts in self._texts(kind) for text in texts if text.startswith(value[:-1])]
        return self._values(kind).get(value, []) if kind in FIELDS else []

    def _texts(self, kind: Kind) -> Iterable[tuple[int, Sequence[str]]]:
        """Position and values of each label that has any."""
        if kind in FIELDS:
            return self._vocabulary.texts(FIELDS[kind])
        return ((place, (text,)) for place, text in enumerate(self._vocabulary.ids))

    def _values(self, kind: Kind) -> Mapping[str, list[int]]:
        """Value of a field -> the positions of the labels that have it."""
        if kind not in self._fields:
            found: dict[str, list[int]] = {}
            for place, texts in self._texts(kind):
                for text in texts:
                    found.setdefault(text, []).append(place)
            self._fields[kind] = found
        return self._fields[kind]

    def _remedy(self, kind: Kind, value: str) -> str:
        """The nearest value, or what values there are."""
        prefix = "" if kind == "id" else f"{kind}:"
        known: Collection[str] = self._values(kind) if kind in FIELDS else self._vocabulary.index
        if not known:
            return f"no label of the vocabulary has a {kind}"
        named = None if kind in FIELDS else self._vocabulary.resolve(value)
        near = nearest(value, known) if named is None else [self._vocabulary.ids[named]]
        return f"did you mean {prefix}{near[0]}?" if near else f"there are {prefix}{', '.join(islice(known, 3))} ..."


def nearest(value: str, known: Collection[str]) -> list[str]:
    """The nearest known value, if any is near and not too many have to be compared."""
    return difflib.get_close_matches(value, known, 1) if len(known) <= COMPARED else []
