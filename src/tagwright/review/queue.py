"""Order documents for review, as `tagwright reviews --sample` does."""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tagwright.errors import TagwrightError
from tagwright.review import Order
from tagwright.review.decisions import Decisions
from tagwright.review.documents import Entry, ReviewedDocuments
from tagwright.review.sampling import sample
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document

AT_ONCE = 50
"Documents that are chosen together: once they are reviewed, a model learns from them."

_log = logging.getLogger(__name__)


class Model(Protocol):
    """The tagger in use. version changes with it. settings: conditions that suggested labels fulfil."""

    tagger: Tagger
    settings: SuggestOptions

    @property
    def version(self) -> str:
        """A text that identifies the tagger."""
        ...


@dataclass
class ReviewQueue:
    """The order of the documents, drawn again for new documents, for a new model, and after 50 more finished documents.

    If the order needs suggestions, documents are tagged in the background, and the order is random until then.
    """

    documents: ReviewedDocuments
    decisions: Decisions
    model: Model
    order: Order = "given"
    _places: Mapping[int, int] = field(default_factory=dict, init=False)
    _drawn_for: tuple[object, ...] = field(default=(), init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        if self.order == "uncertainty":  # the tagger may be one that is never unsure
            sample([Document("d", "d")], 1, self.order, tagger=self.model.tagger)

    def places(self, entries: Sequence[Entry]) -> Mapping[int, int]:
        """Return number of a document -> its place in the queue."""
        if self.order == "given":
            return {entry.number: entry.number for entry in entries}
        done, _ = self.decisions.totals()
        wanted = len(entries), self.model.version, done // AT_ONCE
        with self._lock:
            if wanted == self._drawn_for:
                return self._places
            self._drawn_for, self._places = wanted, _placed(entries, _at_random(entries))
            if self.order != "random":
                threading.Thread(target=self._redraw, args=(entries, wanted), daemon=True).start()
            return self._places

    def _redraw(self, entries: Sequence[Entry], wanted: tuple[object, ...]) -> None:
        """Choose from the unfinished documents."""
        assert self.order != "given"
        states = self.decisions.states()
        places = _at_random(entries)
        open_ = [place for place in places if entries[place].id not in states or not states[entries[place].id].done_by]
        try:
            looked_at = [self.documents[entries[place].number] for place in open_[:2000]]  # each has to be tagged
            rules = self.model.settings
            chosen = sample(
                looked_at, AT_ONCE, self.order, tagger=self.model.tagger, only=rules.only, without=rules.without
            )
        except TagwrightError as error:
            _log.warning("the order of the review stays random: %s", error)
            return
        first = [open_[each] for each in chosen]
        with self._lock:
            if wanted == self._drawn_for:
                self._places = _placed(entries, [*first, *places])


def _at_random(entries: Sequence[Entry]) -> list[int]:
    """Their places in the order of `tagwright reviews --sample --by random`."""
    return [int(place) for place in np.random.default_rng(0).permutation(len(entries))]


def _placed(entries: Sequence[Entry], order: Sequence[int]) -> dict[int, int]:
    """Return number of a document -> its place. order: may list a document twice; the first place counts."""
    return {entries[each].number: place for place, each in enumerate(dict.fromkeys(order))}
