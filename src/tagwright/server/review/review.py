"""A review as its pages need it, without HTML and HTTP: the next document, its suggestions, decisions.

Names of labels are in the language of the pages, where the vocabulary has them.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from tagwright.data.subjects import read_reference
from tagwright.data.vocabulary import Vocabulary
from tagwright.review import Order
from tagwright.review.applied import gone_labels
from tagwright.review.blind import drawn_blind
from tagwright.review.decisions import Decisions
from tagwright.review.documents import Entry, ReviewedDocuments
from tagwright.review.events import Decision, Verdict
from tagwright.review.file import ReviewFile
from tagwright.review.recall import DEPTH, RANDOM_SHARE, SHOWN_FROM, SUGGESTIONS, draw_candidate
from tagwright.review.sampling import sample
from tagwright.server.current_request import get_current_request
from tagwright.server.predictor import SuggestRequest
from tagwright.server.rows import Row, found_row, highlight, label_row, strongest_spans, suggested_row
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Suggestion, Suggestions, Tagger
from tagwright.types import Document

GoneLabels: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"Accepted label that is gone from the vocabulary -> id and name of each label that replaces it."


Candidate: TypeAlias = tuple[Suggestion, int, int | None, bool]
"""A label shown for a document: a suggestion, or a candidate drawn at random from below the suggestions.

With it its rank among all candidates, from 1; how many there were to draw from, None for a suggestion; and whether it
takes a click to see it, so that it is not stored as shown."""

Subject: TypeAlias = dict[str, str]
"""A label that a document came with: its id, "" where it is none of the tagger's vocabulary; its name; the code of its
vocabulary (source), "" if the record does not say it; and its text in the document."""


class TrainingData(NamedTuple):
    """Documents to train on, with label ids for each.

    labels: the right labels; none without decisions. judged: the labels that are examples, see `Decisions.judged`;
    empty if all labels are known, or none. blind: the labels of documents that were reviewed blind, which have none in
    `labels`: they measure what was trained.
    """

    documents: list[Document]
    labels: list[list[str]]
    judged: list[set[str]]
    blind: list[list[str]]


@dataclass
class Review:
    """A review of the documents in a file, with the suggestions of one model.

    random_share: share of the documents with one candidate drawn at random from below the suggestions. order: of the
    documents; drawn again for new ones. blind_share: of those that are reviewed blind. show: number of suggestions that
    are shown at once, see `SHOWN_FROM`. Those of a record, or with a verdict, are always shown.
    """

    model: ServedModel
    file: ReviewFile
    random_share: float = RANDOM_SHARE
    order: Order = "given"
    blind_share: float = 0.0
    show: int = SUGGESTIONS
    decisions: Decisions = field(init=False)
    documents: ReviewedDocuments = field(init=False)
    _candidates: OrderedDict[tuple[int, str], tuple[list[Candidate], float | None]] = field(
        default_factory=OrderedDict, init=False
    )
    "(Number, version of the model) -> candidates, and that none fits; the last 256, as verdicts open the page again."
    _opened: dict[int, tuple[str, float]] = field(default_factory=dict, init=False)
    "Number of a document -> who opened it last, and when."

    def __post_init__(self) -> None:
        self.decisions, self.documents = Decisions(self.file), ReviewedDocuments(self.file)

    def next(self, reviewer: str) -> Entry | None:
        """Return the next document for a reviewer: an unfinished one, or else one finished only by others.

        Skipped documents come again at the end. Documents that another reviewer has open come after others.
        """
        states, entries = self.decisions.states(), self.documents.entries()
        done = {id_: state.done_by for id_, state in states.items() if state.done_by}
        skipped = {id_ for id_, state in states.items() if reviewer in state.skipped_by}
        if self.order == "random" and entries:
            entries = [entries[position] for position in sample(len(entries), len(entries))]

        def rank(entry: Entry) -> tuple[bool, bool, bool]:
            opened_by, opened = self._opened.get(entry.number, (reviewer, 0.0))
            is_open = opened_by != reviewer and time.monotonic() - opened < 1800  # forgotten after half an hour
            return entry.id in done, entry.id in skipped, is_open

        unfinished = [entry for entry in entries if reviewer not in done.get(entry.id, ())]
        return min(unfinished, key=rank, default=None)

    async def sheet(self, number: int, reviewer: str, marked: int | None = None) -> dict[str, Any]:
        """Return what the page of a document shows to this reviewer, and store which suggestions were shown.

        A document that is reviewed blind has none before the reviewer's own labels are given.

        number: see `Entry`. marked: rank of the suggestion whose evidence is marked; None: the first one without a
        verdict. Raises KeyError for an unknown document, Problem (503) if the model has too many requests.

        The page has of the document the text with the evidence marked, and the number of characters left out; as rows
        the candidates, then labels that the reviewer added; others, who have finished it; whether it is blind, and
        unjudged: the suggestions were hidden, and the reviewer, who gave no labels, has judged none since; the labels
        that somebody accepted and that are gone, see `gone_labels`; the subjects that it came with; none: the
        probability that no label of the vocabulary fits, as far as it is estimated.
        """
        document, model = self.documents[number], self.model.for_request()
        self._opened[number] = reviewer, time.monotonic()
        drawn = drawn_blind(document.id, self.blind_share)
        is_blind = drawn and await asyncio.to_thread(self.decisions.can_be_blind, document.id, reviewer)
        candidates, none = ([], None) if is_blind else await self._suggest(model, number, document)
        get_current_request().count([[suggestion for suggestion, *_ in candidates]])
        shown = [
            Decision(document=document.id, reviewer=reviewer, action="shown", label=suggestion.id, rank=rank,
                     confidence=suggestion.confidence, drawn_from=drawn_from, model=model.version)
            for suggestion, rank, drawn_from, is_folded in candidates
            if not is_folded
        ]  # fmt: skip
        await asyncio.to_thread(self.decisions.add_shown, shown)
        events = self.decisions.current(document.id)
        own = [event for event in events if event.reviewer == reviewer]
        rows = self._rows(model.tagger, document, candidates, own)
        subjects = _subjects(document, model.tagger.vocabulary)
        kept = {subject["id"] for subject in subjects if subject["id"]}
        spans = {rank: strongest_spans(document.text, suggestion.evidence) for suggestion, rank, *_ in candidates}
        unmarked = (row.rank for row in rows if row.rank and not row.verdict and not row.is_folded)
        return {
            "number": number, "document": document, "text": highlight(document, spans), "rows": rows,
            "marked": marked or next(unmarked, 1),
            "note": next((event.note for event in own if event.action == "note"), ""),
            "done": any(event.action == "done" for event in own), "can_undo": bool(own),
            "others": sorted({event.reviewer for event in events if event.action == "done"} - {reviewer}),
            "blind": is_blind,
            "unjudged": bool(rows) and {event.action for event in own if event.label not in kept} == {"blind"},
            "gone": {} if is_blind else self.gone([document.id]).get(document.id, {}),
            "subjects": subjects, "none": none,
        }  # fmt: skip

    def gone(self, of: Sequence[str] | None = None) -> dict[str, GoneLabels]:
        """Return id of a document -> its accepted labels that are gone from the vocabulary. of: ids; None: all."""
        vocabulary, language = self.model.tagger.vocabulary, get_current_request().language
        return {
            document: {old: [(id_, vocabulary[id_].name_in(language)) for id_ in new] for old, new in labels.items()}
            for document, labels in gone_labels(self.decisions, vocabulary, of).items()
        }

    def search(self, query: str) -> list[Row]:
        """Return up to ten labels that match a query, the best first, to add to a document, see `found_row`."""
        model, uses = self.model.snapshot(), self.decisions.uses()
        vocabulary, language = model.tagger.vocabulary, get_current_request().language
        found = model.search()(query, 10)
        rows = (found_row(vocabulary, vocabulary.ids[position], query, language) for position in found)
        return [row._replace(uses=uses.get(row.id, 0)) for row in rows]

    def decide(self, number: int, decision: Decision, *, is_suggested: bool = False) -> None:
        """Store a decision on the document with this number; it is on disk when this returns.

        Labels of the vocabulary that the document came with are accepted by who gives all labels ("blind"), and by who
        finishes it, unless they have another verdict; the note of such a verdict is the label as the document has it.

        Document, rank, confidence and model of the decision are replaced: by those that were shown to the reviewer, who
        may have opened the page before the model changed, or those of a suggestion that takes a click to see
        (is_suggested). Raises KeyError for an unknown document or label, which may be gone from the vocabulary if it
        was decided on before, StorageError if the decision cannot be written.
        """
        document, label = self.documents[number], decision.label
        is_known = label is None or label in self.model.tagger.vocabulary.index
        if not is_known and all(event.label != label for event in self.decisions.current(document.id)):
            raise KeyError(label)
        kept = self._kept(document, decision.reviewer) if decision.action in ("blind", "done") else []
        accepted = [replace(decision, action="accept", label=each["id"], note=each["text"]) for each in kept]
        chosen = self._as_suggested(number, decision) if is_suggested else decision
        self.decisions.add_all([self._as_shown(document.id, each) for each in (*accepted, chosen)])

    def _as_suggested(self, number: int, decision: Decision) -> Decision:
        """The decision with rank, confidence and model of the last suggestion of its label for the document."""
        for (document, version), (candidates, _) in reversed(list(self._candidates.items())):
            for suggestion, rank, *_ in candidates if document == number else ():
                if suggestion.id == decision.label:
                    return replace(decision, rank=rank, confidence=suggestion.confidence, model=version)
        return decision

    def _kept(self, document: Document, reviewer: str) -> list[Subject]:
        """The labels that a document came with, on which a reviewer has not decided."""
        decided = {event.label for event in self.decisions.current(document.id) if event.reviewer == reviewer}
        subjects = _subjects(document, self.model.tagger.vocabulary)
        return [subject for subject in subjects if subject["id"] and subject["id"] not in decided]

    def _as_shown(self, document: str, decision: Decision) -> Decision:
        """The decision with the rank and the model that were shown to the reviewer, if anything was."""
        if shown := self.decisions.shown(document).get((decision.reviewer, decision.label or "")):
            return replace(shown, action=decision.action, note=decision.note, time=decision.time)
        return replace(decision, document=document, model=decision.model or self.model.version)

    def progress(self) -> dict[str, int]:
        """Return what the header of each page shows: the numbers of finished documents and of all."""
        return {"done": self.decisions.progress()[0], "documents": len(self.documents)}

    def training_data(self) -> TrainingData:
        """Return all documents with their labels so far; those of which nothing is known have no labels."""
        labels, blind = self.decisions.labels(), self.decisions.blind()
        judged = {id_: known for id_, known in self.decisions.judged().items() if id_ not in blind}
        documents = [self.documents[entry.number] for entry in self.documents.entries()]
        return TrainingData(
            documents,
            labels=[labels.get(document.id, []) if document.id in judged else [] for document in documents],
            judged=[judged.get(document.id, set()) for document in documents],
            blind=[blind.get(document.id, []) for document in documents],
        )

    async def _suggest(
        self, model: ServedModel, number: int, document: Document
    ) -> tuple[list[Candidate], float | None]:
        """Return the suggestions and, for some documents, a random candidate from below; and that no label fits."""
        key = number, model.version
        if key not in self._candidates:
            (ranked,) = await model.suggest_all([SuggestRequest(document, await model.options(k=DEPTH))])
            is_shown = [
                not place or (place < self.show and (each.confidence is None or each.confidence >= SHOWN_FROM))
                for place, each in enumerate(ranked)
            ]
            below = [place for place, shown in enumerate(is_shown) if not shown]
            drawn = draw_candidate(document.id, below, self.random_share)
            places = [place for place in range(min(SUGGESTIONS, len(ranked))) if place != drawn]
            places += [] if drawn is None else [drawn]
            explained = await model.explain(
                document, Suggestions((ranked[place] for place in places), none=ranked.none)
            )
            candidates = [
                (each, place + 1, len(below) if place == drawn else None, not is_shown[place] and place != drawn)
                for place, each in zip(places, explained, strict=True)
            ]
            self._candidates[key] = candidates, ranked.none
            if len(self._candidates) > 256:
                self._candidates.popitem(last=False)
        return self._candidates[key]

    def _rows(
        self, tagger: Tagger, document: Document, candidates: Sequence[Candidate], own: Sequence[Decision]
    ) -> list[Row]:
        """Return the candidates in order, then the labels that the reviewer added. own: the reviewer's events."""
        verdicts: dict[str, Verdict] = {
            event.label: event.action for event in own if event.label and event.action in ("accept", "reject")
        }
        by_hand = {event.label for event in own if event.rank is None}
        known = {subject["id"] for subject in _subjects(document, tagger.vocabulary)}
        uses, language = self.decisions.uses(), get_current_request().language
        rows = [
            suggested_row(tagger, document, suggestion, rank, language)._replace(
                is_folded=is_folded and suggestion.id not in verdicts and suggestion.id not in known
            )
            for suggestion, rank, _, is_folded in candidates
        ]
        suggested, vocabulary = {row.id for row in rows}, tagger.vocabulary
        added = (id_ for id_ in verdicts if id_ not in suggested and id_ in vocabulary.index)
        rows += [
            label_row(vocabulary, id_, language)._replace(is_added=id_ in by_hand and id_ not in known) for id_ in added
        ]
        return [
            row._replace(uses=uses.get(row.id, 0), verdict=verdicts.get(row.id), in_record=row.id in known)
            for row in rows
        ]


def _subjects(document: Document, vocabulary: Vocabulary) -> list[Subject]:
    """The labels that a document came with, those of the vocabulary first and each once, then those of others."""
    known, others, language = dict[str, Subject](), list[Subject](), get_current_request().language
    for text, source, position, other in vocabulary.subjects(document):
        if position is None:
            others.append({"id": "", "name": read_reference(text)[1] or text, "source": source or other})
        else:
            label = vocabulary[position]
            subject = {"id": label.id, "name": label.name_in(language), "source": source, "text": text}
            known.setdefault(label.id, subject)
    others += [{"id": "", "name": name, "source": ""} for name in document.metadata.get("subject", ())]
    return [*known.values(), *others]
