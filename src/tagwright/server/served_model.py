"""A tagger in, what the server asks of it out: suggestions for many requests at once, and a swap without a pause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple

from tagwright.data.in_memory import to_documents
from tagwright.server.request_queue import RequestQueue
from tagwright.tagger import Suggestion, Tagger
from tagwright.types import Document


class Wanted(NamedTuple):
    """One document and how many suggestions it should get."""

    document: Document
    limit: int


@dataclass
class ServedModel:
    """A tagger under the name by which clients ask for it.

    id: without blanks, part of addresses; language: code of the labels' names; learns: whether decisions are accepted;
    modified: when the tagger was saved, if it was.
    """

    id: str
    tagger: Tagger
    name: str
    language: str = "en"
    learns: bool = False
    modified: datetime | None = None
    queue: RequestQueue[Wanted, list[Suggestion]] = field(init=False)

    def __post_init__(self) -> None:
        self.queue = RequestQueue(partial(_suggest, self))

    async def suggest(self, text: str, limit: int) -> list[Suggestion]:
        """Suggestions for a text, best first; none for an empty one. Raises Busy when too many requests wait."""
        limit = min(limit, len(self.tagger.vocabulary))
        if limit < 1 or not text.strip():
            return []
        (document,) = to_documents([text])
        return await self.queue(Wanted(document, limit))


def _suggest(model: ServedModel, wanted: Sequence[Wanted]) -> list[list[Suggestion]]:
    """Suggestions for each request, computed together by the tagger that is in place when the batch begins."""
    rows = model.tagger.suggest(
        [each.document for each in wanted], k=max(each.limit for each in wanted), progress=False
    )
    return [row[: each.limit] for row, each in zip(rows, wanted, strict=True)]
