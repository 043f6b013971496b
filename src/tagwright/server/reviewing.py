"""Documents, suggestions and decisions in, what a reviewer sees and does next out. No HTML, no HTTP."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tagwright.server.decisions import Decisions
from tagwright.server.highlighting import Highlighted, highlight
from tagwright.server.review_file import ReviewFile
from tagwright.server.reviewed_documents import Entry, ReviewedDocuments
from tagwright.server.served_model import ServedModel, Wanted
from tagwright.server.standing_decisions import Decision, Verdict
from tagwright.tagger import Evidence, Suggestion
from tagwright.types import Document, EvidenceSpan

SUGGESTIONS = 20
"Suggestions that are shown."

MINUTES = 30
"For so long others get another document than the one that a reviewer has open."

_KEPT = 256
_SPANS = 4
"Pieces of evidence that a stage may mark for a label: more would mark the whole text."
_QUOTED = 40
"Characters of the text in a reason."
_LONGEST_DESCRIPTION = 400


class Row(NamedTuple):
    """A label beside the document.

    rank: from 1; None for a label that the reviewer added. path: the names above it, from the top. uses: documents of
    the review that have it. reason: why it is suggested, in one line. verdict: this reviewer's.
    """

    id: str
    name: str
    rank: int | None
    confidence: float | None
    reason: str
    path: tuple[str, ...]
    description: str
    uses: int
    verdict: Verdict | None


class Progress(NamedTuple):
    """done: documents that somebody has finished. agreement: share of the judged suggestions that were accepted."""

    done: int
    documents: int
    agreement: float | None


class Sheet(NamedTuple):
    """One document as a reviewer sees it. version: of the model whose suggestions these are."""

    number: int
    document: Document
    text: Highlighted
    rows: list[Row]
    note: str
    done: bool
    can_undo: bool
    others: tuple[str, ...]
    version: str


@dataclass
class Review:
    """The work of reviewers on the documents in a file, with the suggestions of one model."""

    model: ServedModel
    file: ReviewFile
    decisions: Decisions = field(init=False)
    documents: ReviewedDocuments = field(init=False)
    _found: OrderedDict[tuple[int, str], list[Suggestion]] = field(default_factory=OrderedDict, init=False)
    _opened: dict[int, tuple[str, float]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.decisions, self.documents = Decisions(self.file), ReviewedDocuments(self.file)

    def next(self, reviewer: str) -> Entry | None:
        """The document to open next: one that nobody has finished, or else one that only others have.

        What the reviewer has skipped comes again when nothing else is left; what somebody else has open is avoided.
        """
        states = self.decisions.states()
        done = {id_: state.done_by for id_, state in states.items() if state.done_by}
        skipped = {id_ for id_, state in states.items() if reviewer in state.skipped_by}

        def order(entry: Entry) -> tuple[bool, bool, bool]:
            return entry.id in done, entry.id in skipped, self._is_taken(entry.number, reviewer)

        open_ = [entry for entry in self.documents.entries() if reviewer not in done.get(entry.id, ())]
        return min(open_, key=order, default=None)

    async def sheet(self, number: int, reviewer: str) -> Sheet:
        """A document with its suggestions and this reviewer's verdicts. Raises KeyError, and Busy."""
        document, version = self.documents[number], self.model.version
        self._opened[number] = reviewer, time.monotonic()
        suggestions = await self._suggestions(number, document, version)
        standing = self.decisions.standing(document.id)
        own = [event for event in standing if event.reviewer == reviewer]
        spans = {rank: _marked(each.evidence) for rank, each in enumerate(suggestions, 1)}
        return Sheet(
            number=number,
            document=document,
            text=highlight(document, spans),
            rows=self._rows(document, suggestions, own),
            note=next((event.note for event in own if event.action == "note"), ""),
            done=any(event.action == "done" for event in own),
            can_undo=bool(own),
            others=tuple(sorted({event.reviewer for event in standing if event.action == "done"} - {reviewer})),
            version=version,
        )

    def search(self, query: str, k: int = 10) -> list[Row]:
        """Labels that may be meant, to be added."""
        found, uses = self.model.search()(query, k), self.decisions.uses()
        ids = self.model.tagger.vocabulary.ids
        return [self._row(ids[position], None, uses, {}) for position in found]

    def decide(self, number: int, decision: Decision) -> None:
        """Store a decision on the document with this number; it is on disk when this returns.

        Raises KeyError for an unknown document or label, InputError when the disk refuses.
        """
        if decision.label is not None and decision.label not in self.model.tagger.vocabulary.index:
            raise KeyError(decision.label)
        self.decisions.add(replace(decision, document=self.documents[number].id))

    def progress(self) -> Progress:
        """How far the work is."""
        done, agreement = self.decisions.totals()
        return Progress(done, len(self.documents), agreement)

    def labelled(self) -> tuple[list[Document], list[list[str]]]:
        """All documents with their labels so far, what a model may learn from; none for those not decided upon."""
        labels = self.decisions.labels()
        documents = [self.documents[entry.number] for entry in self.documents.entries()]
        return documents, [labels.get(document.id, []) for document in documents]

    async def _suggestions(self, number: int, document: Document, version: str) -> list[Suggestion]:
        key = number, version
        if key not in self._found:
            self._found[key] = await self.model.suggest_for(Wanted(document, SUGGESTIONS, evidence=True))
            if len(self._found) > _KEPT:
                self._found.popitem(last=False)
        return self._found[key]

    def _rows(self, document: Document, suggestions: Sequence[Suggestion], own: Sequence[Decision]) -> list[Row]:
        """The suggestions in their order, then labels that the reviewer added."""
        verdicts: dict[str, Verdict] = {
            event.label: event.action for event in own if event.label and event.action in ("accept", "reject")
        }
        uses, index = self.decisions.uses(), self.model.tagger.vocabulary.index
        rows = [
            self._row(each.id, rank, uses, verdicts)._replace(
                confidence=each.confidence, reason=reason(document, each.evidence)
            )
            for rank, each in enumerate(suggestions, 1)
        ]
        added = verdicts.keys() - {each.id for each in suggestions}
        return rows + [self._row(id_, None, uses, verdicts) for id_ in verdicts if id_ in added and id_ in index]

    def _row(self, id_: str, rank: int | None, uses: Mapping[str, int], verdicts: Mapping[str, Verdict]) -> Row:
        vocabulary = self.model.tagger.vocabulary
        position = vocabulary.index[id_]
        label, above = vocabulary[position], vocabulary.path(position)[:-1]
        description = label.description
        if len(description) > _LONGEST_DESCRIPTION:
            description = description[:_LONGEST_DESCRIPTION].rstrip() + "…"
        return Row(id_, label.name, rank, None, "", above, description, uses.get(id_, 0), verdicts.get(id_))

    def _is_taken(self, number: int, reviewer: str) -> bool:
        """Whether somebody else has it open."""
        who, when = self._opened.get(number, (reviewer, 0.0))
        return who != reviewer and time.monotonic() - when < 60 * MINUTES


def reason(document: Document, evidence: Sequence[Evidence]) -> str:
    """Why a label is suggested, in one line: the stages that rank it highest first, with what they point at.

    >>> bees = Document("d", title="Bees and bees")
    >>> spans = (EvidenceSpan(0, 4, 1.0), EvidenceSpan(9, 13, 1.0))
    >>> reason(bees, [Evidence("tfidf", 2, 0.5, ()), Evidence("exact_match", 1, 1.0, spans)])
    'exact match 1st: “Bees”; tfidf 2nd'
    """
    parts = []
    for each in sorted(evidence, key=lambda each: each.rank):
        spans = sorted(each.spans, key=lambda span: -span.weight)[:_SPANS]
        texts = [document.text[span.start : span.end] for span in spans]
        distinct = {text.casefold(): _quoted(text) for text in reversed(texts)}
        about = f": {', '.join(list(reversed(distinct.values()))[:2])}" if texts else ""
        parts.append(f"{each.stage.replace('_', ' ')} {_ordinal(each.rank)}{about}")
    return "; ".join(parts)


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return f"“{text if len(text) <= _QUOTED else text[: _QUOTED - 1].rstrip() + '…'}”"


def _ordinal(number: int) -> str:
    """The number as a rank: 1st, 2nd, 3rd, 11th."""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _marked(evidence: Sequence[Evidence]) -> list[EvidenceSpan]:
    """The strongest pieces of evidence of each stage."""
    return [
        span for each in evidence for span in sorted(each.spans, key=lambda span: (-span.weight, span.start))[:_SPANS]
    ]
