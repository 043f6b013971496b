"""Store labels as memory-mapped arrays, so that a million of them load at once.

A label is put together when it is asked for. Beside ids, names, descriptions and broader labels, what ids and names
lead to is stored, so that nothing has to be built on loading. Every other field is stored where any label has it. An
SQLite file of the same labels would be three times as large, and take twice as long to look up ids and names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from itertools import chain, pairwise, repeat
from typing import Any, Self, overload

import numpy as np

from tagwright.data.string_table import CHUNK, Lookup, StringIndex, StringTable
from tagwright.types import Ints, Label, Longs, Run

FIELDS = tuple(field.name for field in fields(Label)[4:])
"The fields of a label that are stored where any label has them, from `languages` to `descriptions`."

Fold = Callable[[str], str]
"The form of a name in which it is compared with others."


class StoredLabels(Sequence[Label]):
    """Labels on disk, equal to a sequence of the same ones.

    by_id: id -> position. names: of all labels, one behind the other, and `label_names`, where those of each label
    end. broader: places in the ids, or, behind those, in `other_ids`, which are not in the vocabulary. by_name: the
    places of folded names.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.by_id, self.names = StringIndex.from_state(state["ids"]), StringTable.from_state(state["names"])
        self.descriptions, self._other_ids = map(StringTable.from_state, (state["descriptions"], state["other_ids"]))
        self.by_name, self._broader = Lookup(**state["by_name"]), state["broader"]
        if self._broader.min(initial=0) < 0:  # a matrix of links would read wherever they point
            raise ValueError("a broader label has no place")
        self._name_ends, self._broader_ends = state["name_ends"], state["broader_ends"]
        self._names = _Lists(self.names.between, self._name_ends)
        self._above = _Lists(partial(_read_placed, self._id, self._broader), self._broader_ends)
        self._fields = {field: _Lists.from_state(lists) for field, lists in state["fields"].items()}
        # documents of a corpus get the same labels again and again
        self._one = lru_cache(1 << 14)(lambda position: self._between(position, position + 1)[0])

    def each(self, field: str) -> Iterator[Any]:
        """This one of `FIELDS` for each label in turn, without putting labels together."""
        lists = self._fields.get(field)
        if lists is None:
            yield from repeat((), len(self))
            return
        for start in range(0, len(self), CHUNK):
            yield from map(_READ.get(field, tuple), lists.between(start, min(start + CHUNK, len(self))))

    def links(self) -> Run:
        """The labels directly above each label, a row for each, without putting labels together."""
        ends = np.concatenate([np.zeros(1, np.int64), self._broader_ends])
        above = Run(ends, self._broader, np.ones(len(self._broader), np.float32))
        return above.keep(above.labels < len(self))

    def __len__(self) -> int:
        return len(self.by_id)

    @overload
    def __getitem__(self, position: int) -> Label: ...
    @overload
    def __getitem__(self, position: slice) -> list[Label]: ...
    def __getitem__(self, position: int | slice) -> Label | list[Label]:
        if isinstance(position, slice):
            return [self[place] for place in range(len(self))[position]]
        return self._one(range(len(self))[position])

    def __iter__(self) -> Iterator[Label]:
        for start in range(0, len(self), CHUNK):
            yield from self._between(start, min(start + CHUNK, len(self)))

    def named(self, name: str, fold: Fold) -> Iterator[tuple[int, bool]]:
        """Each label with this folded name, and whether it is the preferred one."""
        for place in self.by_name.find(name, lambda place: fold(self.names[place])):
            label = int(self._name_ends.searchsorted(place, side="right"))
            yield label, place == (self._name_ends[label - 1] if label else 0)

    def with_name(self, name: str, fold: Fold) -> int | None:
        """The label with this folded name, None where there is none or several are; preferred names come first."""
        preferred, others = set[int](), set[int]()
        for label, is_preferred in self.named(name, fold):
            (preferred if is_preferred else others).add(label)
            if len(preferred) > 1:
                return None
        found = preferred or others
        return found.pop() if len(found) == 1 else None

    def _between(self, start: int, end: int) -> list[Label]:
        fixed = zip(
            self.by_id.texts.between(start, end),
            self._names.between(start, end),
            self.descriptions.between(start, end),
            self._above.between(start, end),
            strict=True,
        )
        # the fields that any label of the vocabulary has
        columns = [map(_READ.get(field, tuple), lists.between(start, end)) for field, lists in self._fields.items()]
        rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True) if columns else repeat((), end - start)
        others = (dict(zip(self._fields, row, strict=True)) for row in rows)
        return [Label(*texts, **own) for texts, own in zip(fixed, others, strict=True)]

    def _id(self, place: int) -> str:
        ids = self.by_id.texts
        return ids[place] if place < len(ids) else self._other_ids[place - len(ids)]


class _Lists:
    """Some texts for each label. texts: gives those from a number up to another; ends: where those of a label end."""

    def __init__(self, texts: Callable[[int, int], Sequence[str]], ends: Longs) -> None:
        self._texts, self._ends = texts, ends

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the lists of a saved state."""
        table, places = StringTable.from_state(state["texts"]), state["places"]
        texts = table.between if places is None else partial(_read_placed, table.__getitem__, places)
        return cls(texts, state["ends"])

    @staticmethod
    def state_of(lists: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Return what saved lists are made of; each text once where many labels share it, as types and schemes."""
        texts, places = list(chain.from_iterable(lists)), None
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        if len(distinct) <= len(texts) // 2:
            places = np.array([distinct[text] for text in texts], np.int32)
            texts = list(distinct)
        return {"texts": StringTable.of(texts), "places": places, "ends": _sum_counts(map(len, lists))}

    def between(self, start: int, end: int) -> list[tuple[str, ...]]:
        """The texts of the labels from `start` up to `end`."""
        ends = [int(self._ends[start - 1]) if start else 0, *self._ends[start:end].tolist()]
        texts = self._texts(ends[0], ends[-1])
        return [tuple(texts[one - ends[0] : other - ends[0]]) for one, other in pairwise(ends)]


def _read_placed(text_at: Callable[[int], str], places: Ints, start: int, end: int) -> list[str]:
    """The texts at some of these places."""
    wanted = places[start:end].tolist()
    known = {place: text_at(place) for place in set(wanted)}
    return [known[place] for place in wanted]


def labels_state(labels: Sequence[Label], fold: Fold) -> dict[str, Any]:
    """Return the state of `StoredLabels`."""
    index = {label.id: position for position, label in enumerate(labels)}
    others = dict.fromkeys(above for label in labels for above in label.broader if above not in index)
    places = {**index, **{other: len(index) + number for number, other in enumerate(others)}}
    names = list(chain.from_iterable(label.names for label in labels))
    fields = {field: [_as_texts(getattr(label, field) or ()) for label in labels] for field in FIELDS}
    return {
        "ids": StringIndex.of(list(index)),
        "other_ids": StringTable.of(others),
        "names": StringTable.of(names),
        "by_name": Lookup.of(list(map(fold, names))),
        "name_ends": _sum_counts(len(label.names) for label in labels),
        "descriptions": StringTable.of(label.description for label in labels),
        "broader": np.array([places[above] for label in labels for above in label.broader], np.int32),
        "broader_ends": _sum_counts(len(label.broader) for label in labels),
        "fields": {field: _Lists.state_of(lists) for field, lists in fields.items() if any(lists)},
    }


def _as_texts(value: str | Sequence[str | tuple[str, str]]) -> list[str]:
    """A field of a label as a list of texts: those with a language have its code in front."""
    if isinstance(value, str):
        return [value]
    return [text if isinstance(text, str) else " ".join(text) for text in value]


def _pairs(tagged: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Codes of languages and texts, which `_as_texts` joined."""
    return tuple((code, text) for code, _, text in (joined.partition(" ") for joined in tagged))


_READ: Mapping[str, Callable[[Sequence[str]], object]] = {
    "languages": _pairs, "descriptions": _pairs, "notation": "".join,
}  # fmt: skip
"How the texts become the field again."


def _sum_counts(counts: Iterator[int]) -> Longs:
    return np.cumsum(np.fromiter(counts, np.int64))
