"""Order documents for review, as `tagwright reviews --sample` does."""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tagwright.errors import TagwrightError
from tagwright.review import Order
from tagwright.review.decisions import Decisions
from tagwright.review.documents import Entry, ReviewedDocuments
from tagwright.review.sampling import sample
from tagwright.server.served_model import ServedModel
from tagwright.types import Document

BATCH_SIZE = 50
"Documents chosen at once; after them it is worth asking again, as the model may have learned from them."

_log = logging.getLogger(__name__)


@dataclass
class ReviewQueue:
    """The order of the documents of a review, see `Order`. Raises ConfigError for uncertainty that cannot be computed.

    The order is drawn again for new documents, for a new version of the model, and after 50 more finished documents.
    For orders other than random, documents are read and tagged in the background; until then the order is random.
    """

    documents: ReviewedDocuments
    decisions: Decisions
    model: ServedModel
    order: Order
    _key: tuple[object, ...] = field(default=(), init=False)
    "What `_places` was drawn for: numbers of documents, version, batches of finished documents."
    _places: Mapping[int, int] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        if self.order == "uncertainty":  # on any document: raises for a tagger that estimates no confidence
            sample([Document("d", "d")], 1, self.order, tagger=self.model.tagger)

    def places(self, entries: Sequence[Entry]) -> Mapping[int, int]:
        """Return number of a document -> its place in the queue. entries: all documents."""
        if self.order == "given":
            return {entry.number: entry.number for entry in entries}
        done, _ = self.decisions.progress()
        key = len(entries), self.model.version, done // BATCH_SIZE
        with self._lock:
            if key != self._key:
                shuffled = np.random.default_rng(0).permutation(len(entries)).tolist()  # as `sample` does at random
                self._key, self._places = key, _places_of(entries, shuffled)
                if self.order != "random":
                    threading.Thread(target=self._choose_first, args=(entries, shuffled, key), daemon=True).start()
            return self._places

    def _choose_first(self, entries: Sequence[Entry], shuffled: Sequence[int], key: tuple[object, ...]) -> None:
        """Put a sample of the unfinished documents first, and the others in random order."""
        assert self.order != "given"
        done = {id_ for id_, state in self.decisions.states().items() if state.done_by}
        unfinished = [position for position in shuffled if entries[position].id not in done]
        try:
            documents = [self.documents[entries[position].number] for position in unfinished[:2000]]  # all are tagged
            rules = self.model.settings
            chosen = sample(
                documents, BATCH_SIZE, self.order, tagger=self.model.tagger, only=rules.only, without=rules.without
            )
        except TagwrightError as error:
            _log.warning("the order of the review stays random: %s", error)
            return
        first = [unfinished[position] for position in chosen]
        with self._lock:
            if key == self._key:
                self._places = _places_of(entries, [*first, *shuffled])


def _places_of(entries: Sequence[Entry], order: Sequence[int]) -> dict[int, int]:
    """Return number of a document -> its place. order: positions of entries; of a repeated one the first counts."""
    return {entries[position].number: place for place, position in enumerate(dict.fromkeys(order))}
