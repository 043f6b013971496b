"""The logic of the review page, without HTML and HTTP: the next document, its suggestions, decisions."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from tagwright.review import Order
from tagwright.review.current import Decision, Verdict
from tagwright.review.decisions import Decisions
from tagwright.review.documents import Entry, ReviewedDocuments
from tagwright.review.file import ReviewFile
from tagwright.review.queue import ReviewQueue
from tagwright.review.recall import DEPTH, RANDOM_SHARE, SUGGESTIONS, drawn_place
from tagwright.server.current_request import current
from tagwright.server.predictor import SuggestRequest
from tagwright.server.rows import Block, Row, highlight, label_row, strongest_spans, suggested_row
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Suggestion, Tagger
from tagwright.types import Document

Candidate: TypeAlias = tuple[Suggestion, int, int | None]
"A label shown for a document, its rank, and of how many it was drawn at random; None for one of the suggestions."


class ReviewView(NamedTuple):
    """One document as a reviewer sees it.

    text: blocks, and number of characters left out, see `highlight`. marked: rank of the suggestion whose evidence is
    marked. model: its name. note, done, can_undo: of this reviewer. others: reviewers who have finished the document.
    """

    number: int
    document: Document
    text: tuple[list[Block], int]
    rows: list[Row]
    marked: int
    model: str
    note: str
    done: bool
    can_undo: bool
    others: tuple[str, ...]


@dataclass
class Review:
    """A review of the documents in a file, with the suggestions of one model.

    random_share: share of the documents that also show one candidate drawn at random from below the suggestions, to
    estimate recall. order: in which documents come up.
    """

    model: ServedModel
    file: ReviewFile
    random_share: float = RANDOM_SHARE
    order: Order = "given"
    decisions: Decisions = field(init=False)
    documents: ReviewedDocuments = field(init=False)
    _shown: OrderedDict[tuple[int, str], list[Candidate]] = field(default_factory=OrderedDict, init=False)
    _opened: dict[int, tuple[str, float]] = field(default_factory=dict, init=False)  # number -> by whom and when

    def __post_init__(self) -> None:
        self.decisions, self.documents = Decisions(self.file), ReviewedDocuments(self.file)
        self._queue = ReviewQueue(self.documents, self.decisions, self.model, self.order)

    def next(self, reviewer: str) -> Entry | None:
        """Return the next document for a reviewer; None if the reviewer has finished all.

        First come documents that nobody has finished; among these, skipped ones last, and before them those that
        another reviewer has opened within half an hour.
        """
        states = self.decisions.states()
        done = {id_: state.done_by for id_, state in states.items() if state.done_by}
        skipped = {id_ for id_, state in states.items() if reviewer in state.skipped_by}
        entries = self.documents.entries()
        places = self._queue.places(entries)

        def order(entry: Entry) -> tuple[bool, bool, bool, int]:
            who, when = self._opened.get(entry.number, (reviewer, 0.0))
            is_taken = who != reviewer and time.monotonic() - when < 1800
            return entry.id in done, entry.id in skipped, is_taken, places[entry.number]

        unfinished = [entry for entry in entries if reviewer not in done.get(entry.id, ())]
        return min(unfinished, key=order, default=None)

    async def view(self, number: int, reviewer: str, marked: int | None = None) -> ReviewView:
        """Return a document with its suggestions and this reviewer's verdicts, and store which labels were shown.

        marked: rank of the suggestion whose evidence is marked; None: the first one without a verdict. Raises KeyError
        for an unknown document, and Busy.
        """
        document, model = self.documents[number], self.model.for_request()
        self._opened[number] = reviewer, time.monotonic()
        candidates = await self._candidates(model, number, document)
        await current().record([document], [[suggestion for suggestion, _, _ in candidates]])
        shown = [
            Decision(document=document.id, reviewer=reviewer, action="shown", label=suggestion.id, rank=rank,
                     confidence=suggestion.confidence, drawn_from=drawn_from, model=model.version)
            for suggestion, rank, drawn_from in candidates
        ]  # fmt: skip
        await asyncio.to_thread(self.decisions.add_shown, shown)
        decisions = self.decisions.current(document.id)
        own = [decision for decision in decisions if decision.reviewer == reviewer]
        rows = self._rows(model.tagger, document, candidates, own)
        spans = {rank: strongest_spans(suggestion.evidence) for suggestion, rank, _ in candidates}
        finished_by = {decision.reviewer for decision in decisions if decision.action == "done"}
        return ReviewView(
            number=number,
            document=document,
            text=highlight(document, spans),
            rows=rows,
            marked=marked or next((row.rank for row in rows if row.rank and not row.verdict), 1),
            model=self.model.name,
            note=next((decision.note for decision in own if decision.action == "note"), ""),
            done=reviewer in finished_by,
            can_undo=bool(own),
            others=tuple(sorted(finished_by - {reviewer})),
        )

    def search(self, query: str, k: int = 10) -> list[Row]:
        """Return at most k labels to add, best first, see `LabelSearch`."""
        model, uses = self.model.snapshot(), self.decisions.uses()
        positions, vocabulary = model.search()(query, k), model.tagger.vocabulary
        rows = (label_row(vocabulary, vocabulary.ids[position]) for position in positions)
        return [row._replace(uses=uses.get(row.id, 0)) for row in rows]

    def decide(self, number: int, decision: Decision) -> None:
        """Store a decision on the document with this number; it is on disk when this returns.

        Rank, confidence and model are replaced by those that were shown to the reviewer. Raises KeyError for an
        unknown document or label, StorageError if the decision cannot be written.
        """
        if decision.label is not None and decision.label not in self.model.tagger.vocabulary.index:
            raise KeyError(decision.label)
        document = self.documents[number].id
        shown = self.decisions.shown(document).get((decision.reviewer, decision.label or ""))
        rank, confidence, drawn_from = (shown.rank, shown.confidence, shown.drawn_from) if shown else (None, None, None)
        model = shown.model if shown else self.model.version
        self.decisions.add(
            replace(decision, document=document, rank=rank, confidence=confidence, drawn_from=drawn_from, model=model)
        )

    def progress(self) -> dict[str, float | None]:
        """Return the number of finished documents, that of all, and the share of judged suggestions accepted."""
        done, agreement = self.decisions.totals()
        return {"done": done, "documents": len(self.documents), "agreement": agreement}

    def labelled(self) -> tuple[list[Document], list[set[str]]]:
        """Return all documents with their labels so far, none without decisions, and the judged labels of each.

        Only judged labels are examples, see `Decisions.judged`; none if all labels of a document count, or none.
        """
        labels, judged = self.decisions.labels(), self.decisions.judged()
        documents = [self.documents[entry.number] for entry in self.documents.entries()]
        labels = {id_: ids for id_, ids in labels.items() if id_ in judged}
        labelled = [replace(document, labels=tuple(labels.get(document.id, ()))) for document in documents]
        return labelled, [judged.get(document.id, set()) for document in documents]

    async def _candidates(self, model: ServedModel, number: int, document: Document) -> list[Candidate]:
        """Return suggestions with evidence and, for some documents, a random candidate from below them; cached."""
        key = number, model.version
        if key not in self._shown:
            (ranked,) = await model.suggest_all([SuggestRequest(document, model.options(k=DEPTH))])
            places = list(range(min(SUGGESTIONS, len(ranked))))
            drawn, below = drawn_place(document.id, len(ranked), self.random_share), len(ranked) - SUGGESTIONS
            places += [] if drawn is None else [drawn]
            explained = await model.explain(document, [ranked[place] for place in places])
            self._shown[key] = [
                (suggestion, place + 1, below if place == drawn else None)
                for place, suggestion in zip(places, explained, strict=True)
            ]
            if len(self._shown) > 256:
                self._shown.popitem(last=False)
        return self._shown[key]

    def _rows(
        self, tagger: Tagger, document: Document, candidates: Sequence[Candidate], own: Sequence[Decision]
    ) -> list[Row]:
        """Return the candidates in order, then the labels that the reviewer added."""
        verdicts: dict[str, Verdict] = {
            decision.label: decision.action
            for decision in own
            if decision.label and decision.action in ("accept", "reject")
        }
        uses = self.decisions.uses()
        rows = [suggested_row(tagger, document, suggestion, rank) for suggestion, rank, _ in candidates]
        suggested, vocabulary = {row.id for row in rows}, tagger.vocabulary
        added = (id_ for id_ in verdicts if id_ not in suggested and id_ in vocabulary.index)
        rows += [label_row(vocabulary, id_) for id_ in added]
        return [row._replace(uses=uses.get(row.id, 0), verdict=verdicts.get(row.id)) for row in rows]
