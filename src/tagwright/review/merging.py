"""Add the decisions of other review files and of exports to a review. Twice gives the same.

Every reviewer keeps a verdict of one's own. Where the same reviewer decided otherwise here and there, the decision here
stays, and the account names it; where two reviewers differ, both verdicts hold, and it names these.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

from tagwright.core.checked import show
from tagwright.core.display import plural
from tagwright.data.corpus import was_reviewed_blind
from tagwright.errors import ConfigError, option
from tagwright.readers.documents.files import open_sources
from tagwright.readers.lines import Place, json_lines, open_bytes, text_field
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision, Verdict
from tagwright.review.file import ReviewFile
from tagwright.types import Document

_EXPORTED = (*get_args(Verdict), "note", "done", "skip", "blind", "shown")
"The actions that an export of decisions has."


_Source: TypeAlias = tuple[list[Document], list[Decision]]
"What is read to be added: documents, and decisions that hold, also which candidates were shown."


@dataclass
class Merged:
    """The outcome of a source. documents, decisions: how many were added. known: decisions that were there already.

    kept: what is otherwise in the source, of the same reviewer. differing: (document, label) -> reviewer -> verdict, of
    labels of the source that one reviewer accepts and another rejects. without_text: ids of documents with decisions of
    which the review has no text.
    """

    documents: int = 0
    decisions: int = 0
    known: int = 0
    kept: list[str] = field(default_factory=list)
    differing: Mapping[tuple[str, str], Mapping[str, Verdict]] = field(default_factory=dict)
    without_text: list[str] = field(default_factory=list)

    def lines(self, path: Path) -> Iterator[str]:
        """Say it, the counts in the first line. path: of the source."""
        added = f"{plural(self.documents, 'document')} and {plural(self.decisions, 'decision')} added"
        yield f"{path}: {added}, {self.known:,} known"
        if self.without_text:
            yield f"no text here of {plural(len(self.without_text), 'document')} (first: {self.without_text[0]})"
        yield from (f"kept here: {line}" for line in self.kept)
        for (document, label), verdicts in self.differing.items():
            said = ", ".join(f"{verdict}ed by {reviewer}" for reviewer, verdict in sorted(verdicts.items()))
            yield f"reviewers differ: {document}: {label} {said}"


def merge(file: ReviewFile, path: Path, reviewer: str = "") -> Merged:
    """Add what a review file or an export holds to a review, all of its decisions or none.

    reviewer: who decided on the labels of an export of documents, which does not say it. Raises InputError for a file
    of another kind, ConfigError without a reviewer where one is needed, StorageError.
    """
    (others, events), merged = _read_other_review(path, reviewer), Merged()
    documents, decisions = ReviewedDocuments(file), Decisions(file)
    renamed = [replace(document, id=documents.first_id(document)) for document in others]
    own_ids, merged.documents, _ = documents.add(renamed)
    ids = dict(zip((document.id for document in others), own_ids, strict=True))
    here = [
        replace(event, document=ids.get(event.document, event.document), reviewer=decisions.name_of(event.reviewer))
        for event in events
    ]
    wanted = [decision for decision in here if decision.action != "shown"]
    new = _find_new_decisions(wanted, decisions, merged)
    merged.decisions = len(new)
    seen = {_key(event) for event in decisions.events_shown()}
    decisions.add_all([*new, *(each for each in here if each.action == "shown" and _key(each) not in seen)])
    touched = {(decision.document, decision.label) for decision in wanted if decision.label}
    every = decisions.verdicts()
    merged.differing = {key: every[key] for key in every if key in touched and len({*every[key].values()}) > 1}
    stored = {entry.id for entry in documents.entries()}
    merged.without_text = [*dict.fromkeys(decision.document for decision in wanted if decision.document not in stored)]
    return merged


def _find_new_decisions(wanted: Iterable[Decision], decisions: Decisions, merged: Merged) -> list[Decision]:
    """The decisions to add; `merged` counts those that are known, and gets those that are otherwise here.

    A decision that has been undone here since is known. Who has seen suggestions of a document cannot have reviewed it
    blind.
    """
    log = {(_key(event), event.action, event.note, event.time) for _, event in decisions.events()}
    current = {_key(decision): decision for decision in decisions.current()}
    begun = {(decision.document, decision.reviewer) for decision in (*current.values(), *decisions.events_shown())}
    new = list[Decision]()
    for decision in wanted:
        mine = current.get(_key(decision))
        if (mine and (mine.action, mine.note) == (decision.action, decision.note)) or (
            (_key(decision), decision.action, decision.note, decision.time) in log
        ):
            merged.known += 1
        elif mine:
            here, there = (one.note or f"{one.action}ed" for one in (mine, decision))
            what = decision.label or "the note"
            merged.kept.append(f"{decision.document}: {what} {here} by {decision.reviewer}, {there} in the other file")
        elif decision.action == "blind" and (decision.document, decision.reviewer) in begun:
            merged.kept.append(f"{decision.document}: reviewed by {decision.reviewer} here, blind in the other file")
        else:
            new.append(decision)
    return new


def _key(event: Decision) -> tuple[str, str, str | None, str]:
    """Document, reviewer, label and kind of a decision: a later one replaces an earlier one with the same."""
    return event.document, event.reviewer, event.label, "" if event.label is not None else event.action


def _read_other_review(path: Path, reviewer: str) -> _Source:
    with open_bytes(path) as file:
        start = file.read(16)
    if start == b"SQLite format 3\0":
        with closing(ReviewFile.open_existing(path)) as review:
            stored, log = ReviewedDocuments(review), Decisions(review)
            return [stored[entry.number] for entry in stored.entries()], [*log.current(), *log.events_shown()]
    first = next((record for _, record in json_lines(path)), {}) if start.lstrip()[:1] == b"{" else {}
    if "reviewer" in first and "document" in first:
        return [], [_decision(record, Place(path, line)) for line, record in json_lines(path)]
    documents = [document for _, located in open_sources(path) for _, document in located]
    if not reviewer:
        raise ConfigError(
            f"{path}: who decided on these labels? give {option('reviewer', 'NAME')}, or an export of "
            f"{option('format', 'decisions')}, which says it"
        )
    return documents, [event for document in documents for event in _decisions_of_document(document, reviewer)]


def _decision(record: Mapping[str, Any], place: Place) -> Decision:
    names = ("document", "reviewer", "label", "note", "model", "time")
    texts: dict[str, Any] = {name: text_field(record, name, place) for name in names}
    action: Any = text_field(record, "action", place)
    if not texts["document"] or not texts["reviewer"] or action not in _EXPORTED:
        raise place.error(f"is no decision of a reviewer; expected an export of {option('format', 'decisions')}")
    numbers = {name: record.get(name) for name in ("rank", "confidence", "drawn_from")}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise place.error(f"{name} is {show(value)}, expected a number")
    try:
        return Decision(action=action, **(texts | {"label": texts["label"] or None} | numbers))
    except ConfigError as error:
        raise place.error(str(error)) from None


def _decisions_of_document(document: Document, reviewer: str) -> Iterator[Decision]:
    """The decisions behind a document of an export: its labels, accepted, and that it is finished."""
    of: dict[str, Any] = {"document": document.id, "reviewer": reviewer}
    yield from (Decision(action="accept", label=label, **of) for label in document.labels)
    if was_reviewed_blind(document):
        yield Decision(action="blind", **of)
    yield Decision(action="done", **of)
