"""A tagger in, what the server asks of it out: suggestions for many requests at once, and a swap without a pause."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple

from tagwright.data.in_memory import to_documents
from tagwright.data.vocabulary import Vocabulary
from tagwright.server.label_search import LabelSearch, kept_index
from tagwright.server.request_queue import RequestQueue
from tagwright.tagger import Suggestion, Tagger
from tagwright.types import Document

PARTS = 8
"Restricted taggers that are kept for the next request with the same labels."


class Wanted(NamedTuple):
    """One document, and which suggestions it should get.

    within: ids of the only labels that may be suggested, None for all; excluded: those that may not be; evidence:
    whether to say why. suggested: suggestions that are there already, and only lack their evidence.
    """

    document: Document
    limit: int
    within: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()
    evidence: bool = False
    suggested: tuple[Suggestion, ...] | None = None


@dataclass
class ServedModel:
    """A tagger under the name by which clients ask for it.

    id: without blanks, part of addresses; language: code of the labels' names; learns: whether decisions are accepted;
    modified: when the tagger was saved or last trained, if it was.
    """

    id: str
    tagger: Tagger
    name: str
    language: str = "en"
    learns: bool = False
    modified: datetime | None = None
    queue: RequestQueue[Wanted, list[Suggestion]] = field(init=False)
    _parts: dict[frozenset[str], Tagger] = field(default_factory=dict, init=False)
    _search: LabelSearch | None = field(default=None, init=False)
    _indexing: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.queue = RequestQueue(partial(_suggest, self))

    @property
    def version(self) -> str:
        """Which tagger it is, for the log of decisions: the id and when it was made."""
        return self.id if self.modified is None else f"{self.id} {self.modified.isoformat(timespec='seconds')}"

    async def suggest(self, text: str, limit: int) -> list[Suggestion]:
        """Suggestions for a text, best first; none for an empty one. Raises Busy when too many requests wait."""
        (document,) = to_documents([text])
        return await self.suggest_for(Wanted(document, limit))

    async def suggest_for(self, wanted: Wanted) -> list[Suggestion]:
        """The same for a document with conditions. Ids that the vocabulary lacks are no error: they never occur."""
        known = self.tagger.vocabulary.index.keys()
        within = None if wanted.within is None else frozenset(wanted.within & known)
        limit = min(wanted.limit, len(known) if within is None else len(within))
        if limit < 1 or not wanted.document.text.strip():
            return []
        return await self.queue(
            wanted._replace(limit=limit, within=within, excluded=frozenset(wanted.excluded & known))
        )

    async def explain(self, document: Document, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """The same suggestions for a document, with their evidence. Raises Busy."""
        return await self.queue(Wanted(document, len(suggested), suggested=tuple(suggested))) if suggested else []

    def search(self) -> LabelSearch:
        """The search in its labels; the first call makes the index, which takes time where there are many."""
        with self._indexing:
            if self._search is None:
                self._search = kept_index(self.tagger.vocabulary)
            return self._search

    def swap(self, tagger: Tagger, modified: datetime) -> None:
        """Answer with another tagger over the same labels from the next batch on."""
        self.tagger, self.modified, self._parts = tagger, modified, {}

    def part(self, tagger: Tagger, ids: frozenset[str]) -> Tagger:
        """The tagger over these labels alone."""
        parts = self._parts
        if ids not in parts:
            if len(parts) >= PARTS:
                del parts[next(iter(parts))]
            parts[ids] = tagger.restrict(ids)
        return parts[ids]


def branch(vocabulary: Vocabulary, top: str) -> frozenset[str]:
    """The ids of a label and of all labels below it. Raises KeyError for an unknown one.

    >>> from tagwright.types import Label
    >>> zoo = [Label("1", ("Birds",)), Label("2", ("Owls",), broader=("1",)), Label("3", ("Fish",))]
    >>> sorted(branch(Vocabulary(zoo), "1"))
    ['1', '2']
    """
    below: dict[str, list[str]] = {}
    for label in vocabulary:
        for upper in label.broader:
            below.setdefault(upper, []).append(label.id)
    found, open_ = {vocabulary.ids[vocabulary.index[top]]}, [top]
    while open_:
        new = [each for each in below.get(open_.pop(), ()) if each not in found]
        found.update(new)
        open_ += new
    return frozenset(found)


def _suggest(model: ServedModel, wanted: Sequence[Wanted]) -> list[list[Suggestion]]:
    """Suggestions for each request, by the tagger that is in place when the batch begins; plain ones together."""
    tagger = model.tagger
    plain = [each for each in wanted if _is_plain(each)]
    rows = iter(_together(tagger, plain))
    return [next(rows) if _is_plain(each) else _alone(model, tagger, each) for each in wanted]


def _is_plain(wanted: Wanted) -> bool:
    return wanted.within is None and not wanted.excluded and not wanted.evidence and wanted.suggested is None


def _together(tagger: Tagger, wanted: Sequence[Wanted]) -> Iterable[list[Suggestion]]:
    if not wanted:
        return []
    documents, most = [each.document for each in wanted], max(each.limit for each in wanted)
    rows = tagger.suggest(documents, k=most, progress=False)
    return [row[: each.limit] for row, each in zip(rows, wanted, strict=True)]


def _alone(model: ServedModel, tagger: Tagger, wanted: Wanted) -> list[Suggestion]:
    """As many more are asked for as are excluded, so that enough are left."""
    if wanted.suggested is not None:
        return tagger.explained(wanted.document, wanted.suggested)
    part = tagger if wanted.within is None else model.part(tagger, wanted.within)
    ask = part.explain if wanted.evidence else part.suggest
    (row,) = ask([wanted.document], k=wanted.limit + len(wanted.excluded), progress=False)
    return [each for each in row if each.id not in wanted.excluded][: wanted.limit]
