"""Find the labels that a word may mean, and score how well: exact names, other spellings, names like it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.label_search import LabelSearch, folded
from tagwright.text.words import clean
from tagwright.types import Label

LONGEST = 200
"Characters of a query that are compared; names are shorter."

CONCEPT = "http://www.w3.org/2004/02/skos/core#Concept"
"The type that every label has."

PROPERTIES: Mapping[str, str] = {
    "notation": "Notation",
    "broader": "Broader label, by id or name",
    "scheme": "Concept scheme, by id",
}
"Properties of labels that a query may name, and what they are."

_EXACT, _EXACT_OTHER, _FOLDED, _FOLDED_OTHER, _SIMILAR, _NEAR = 100.0, 99.0, 95.0, 94.0, 90.0, 49.0
"Scores of the preferred or another name; with other case or accents; at most, if similar; at most, if only near."
_DISAGREES = 0.5
"Factor of the score for each property that a label does not have."
_FEWEST = 50
"Labels that are looked at, at least, so that filters and namesakes do not hide any."
_NAMES = 20
"Names of a label that are compared."


@dataclass(frozen=True)
class Query:
    """What is looked for. text: may be blank if there are properties; types: URIs, empty for all."""

    text: str
    limit: int = 10
    types: frozenset[str] = frozenset()
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Candidate(NamedTuple):
    """A label that a query may mean. score: from 0 to 100; similarity: of the names, from 0 to 1.

    match: whether the query is its id, or a name that it has and no other label.
    """

    label: Label
    score: float
    similarity: float
    match: bool


@dataclass(frozen=True)
class NameMatcher:
    """Finds candidates in a vocabulary."""

    vocabulary: Vocabulary
    search: LabelSearch

    def candidates(self, query: Query, near: Sequence[tuple[str, float]] = ()) -> list[Candidate]:
        """The best candidates of a query, best first. near: ids of labels that a tagger suggests, from 0 to 1."""
        text = " ".join(clean(query.text[:LONGEST]).split())
        values = dict(near)
        found = [self.vocabulary[position] for position in self._positions(text, query, values)]
        exact = [label for label in found if text and (text == label.id or text in _plain(label.names))]
        exact = exact or [label for label in found if text in _plain(label.all_names)]
        fitting = [label for label in found if not query.types or query.types & {CONCEPT, *label.types}]
        rated = [_rated(label, text, values.get(label.id, 0.0), exact) for label in fitting]
        judged = [self._judged(each, query.properties) for each in rated]
        return sorted(judged, key=lambda each: -each.score)[: query.limit]

    def is_named(self, text: str) -> bool:
        """Whether the query is a name or id of a label, up to case and accents."""
        wanted = folded(text[:LONGEST])
        labels = (self.vocabulary[position] for position in self.search(wanted, 1))
        return any(wanted in map(folded, (label.id, *label.all_names)) for label in labels)

    @cached_property
    def types(self) -> list[str]:
        """The types of all labels, the generic one first."""
        return list(dict.fromkeys([CONCEPT, *sorted({each for label in self.vocabulary for each in label.types})]))

    def _positions(self, text: str, query: Query, near: Iterable[str]) -> list[int]:
        """Labels to look at: of an id, with names like the text, near ones, and those of properties without a text."""
        index = self.vocabulary.index
        named = [index[text]] if text in index else []
        found = self.search(text, max(_FEWEST, query.limit))
        values = [] if text else [value for _, values in query.properties for value in values]
        resolved = (self.vocabulary.resolve(value) for value in values)
        every = [*named, *found, *(index[each] for each in near), *(each for each in resolved if each is not None)]
        allowed = self.search.allowed
        return [each for each in dict.fromkeys(every) if allowed is None or allowed[each]]

    def _judged(self, found: Candidate, properties: Iterable[tuple[str, Sequence[str]]]) -> Candidate:
        """The candidate with a lower score for each property that its label does not have."""
        wrong = sum(not self._has(found.label, name, values) for name, values in properties if name in PROPERTIES)
        return found._replace(score=round(found.score * _DISAGREES**wrong, 1), match=found.match and not wrong)

    def _has(self, label: Label, name: str, values: Sequence[str]) -> bool:
        if name == "notation":
            return label.notation in values
        if name == "scheme":
            return not {*label.schemes}.isdisjoint(values)
        above = (self.vocabulary.resolve(value) for value in values)
        return any(each is not None and self.vocabulary[each].id in label.broader for each in above)


def _rated(label: Label, text: str, near: float, exact: Sequence[Label]) -> Candidate:
    """Rate a label by its best name. near: how near a tagger finds it; exact: the labels that have the name exactly."""
    names, similarity = _plain(label.all_names), _similarity(label, text)
    others = [folded(name) for name in names]
    if text in (names[0], label.id):
        score = _EXACT
    elif text in names:
        score = _EXACT_OTHER
    elif folded(text) in others:
        score = _FOLDED if folded(text) == others[0] else _FOLDED_OTHER
    elif near and folded(text) not in " ".join(others):
        score = _NEAR * max(near, similarity)
    else:
        score = _NEAR + (_SIMILAR - _NEAR) * similarity
    return Candidate(label, score, similarity, [each.id for each in exact] == [label.id])


def _plain(names: Iterable[str]) -> list[str]:
    return [" ".join(name.split()) for name in names]


def _similarity(label: Label, text: str) -> float:
    """The greatest similarity of a name to the text, from 0 to 1: the share of characters in common runs."""
    wanted = folded(text)
    return max(SequenceMatcher(None, wanted, folded(name[:LONGEST])).ratio() for name in label.all_names[:_NAMES])
