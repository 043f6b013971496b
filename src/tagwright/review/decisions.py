"""The log of reviewers' decisions, which is only appended to; current decisions and disagreements.

A decision is acknowledged when it is on disk: a killed server loses none. Undo is an event as well, and so is what was
shown to whom: what was never shown is not taken for rejected.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from typing import NamedTuple

from tagwright.review.agreement import krippendorffs_alpha, pairwise_kappas
from tagwright.review.current import Decision, DocumentState, StandingDecisions, Verdict, balance, verdicts_of
from tagwright.review.file import ReviewFile
from tagwright.review.recall import Drawn, Recall, estimate_recall


class Difference(NamedTuple):
    """Two reviewers' verdicts on one label of one document that contradict each other."""

    document: str
    label: str
    accepted_by: tuple[str, ...]
    rejected_by: tuple[str, ...]


@dataclass(frozen=True)
class Statistics:
    """Progress and agreement.

    documents: those with a verdict; done: those that a reviewer has finished. accepted_share: share of the shown
    suggestions with a verdict that were accepted. recall: share of the right candidates that are suggested, estimated.
    kappa: Cohen's, by pair of reviewers; alpha: Krippendorff's.
    """

    documents: int
    done: int
    verdicts: int
    accepted_share: float | None
    recall: Recall | None
    kappa: Mapping[tuple[str, str], float | None]
    alpha: float | None


_COLUMNS = tuple(field.name for field in fields(Decision))


class Decisions:
    """The log in a file of reviews; several threads and processes may use it at a time."""

    def __init__(self, file: ReviewFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._last, self._now = 0, StandingDecisions()

    def add(self, decision: Decision) -> int:
        """Store an event; it is on disk when this returns. Returns its number.

        Raises StorageError when the disk does not take it.
        """
        return self.add_all([decision])[-1]

    def add_all(self, decisions: Iterable[Decision]) -> list[int]:
        """Store events together: all of them or none."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        statement = f"INSERT INTO events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
        return self._file.insert(statement, [(*astuple(each)[:-1], each.time or now) for each in decisions])

    def events(self, after: int = 0) -> Iterator[tuple[int, Decision]]:
        """All events in order, with their numbers; undone ones and the undoing too. after: only those behind it."""
        statement = f"SELECT id, {', '.join(_COLUMNS)} FROM events WHERE id > ? ORDER BY id"  # noqa: S608
        rows = self._file.rows(statement, (after,))
        return ((number, Decision(**dict(zip(_COLUMNS, values, strict=True)))) for number, *values in rows)

    def current(self, document: str | None = None) -> list[Decision]:
        """The events that hold: none that was undone; of several verdicts of a reviewer on a label the last."""
        with self._current() as now:
            return list(now.all()) if document is None else now.of(document)

    def states(self) -> dict[str, DocumentState]:
        """Document -> what holds for it."""
        with self._current() as now:
            return dict(now.states)

    def verdicts(self) -> dict[tuple[str, str], dict[str, Verdict]]:
        """(document, label) -> reviewer -> verdict, as they stand."""
        with self._current() as now:
            return {
                (document, label): given
                for document in now.states
                for label, given in verdicts_of(now.of(document)).items()
            }

    def labels(self) -> dict[str, list[str]]:
        """Document -> labels that more reviewers accept than reject.

        A document without any is there only if a reviewer is done with it: then it has none.
        """
        found = self.states().items()
        return {document: list(state.labels) for document, state in found if state.labels or state.done_by}

    def add_shown(self, shown: Sequence[Decision]) -> None:
        """Store what a reviewer sees of a document, if it is not what was shown the last time."""
        with self._current() as now:
            before = {document: now.shown(document) for document in {each.document for each in shown}}
        last = [before[each.document].get((each.reviewer, each.label or "")) for each in shown]
        new = [each for each, old in zip(shown, last, strict=True) if old is None or replace(old, time="") != each]
        if new:
            self.add_all(new)

    def shown(self, document: str) -> dict[tuple[str, str], Decision]:
        """(reviewer, label) -> how the label was shown to the reviewer the last time."""
        with self._current() as now:
            return dict(now.shown(document))

    def judged(self) -> dict[str, set[str]]:
        """Document -> the labels that are examples to learn from: it is known whether they are right.

        Those are the suggestions with a verdict and, once a reviewer has finished the document, all that the reviewer
        saw. A label that was found by search is right, but no example: of the labels that nobody was shown, reviewers
        add right ones alone, and a model would learn that labels far down are right. A document has an empty set where
        all of its labels are known, since somebody has finished it who saw no suggestions, such as a client with its
        own labels. It is missing where nothing is known.
        """
        with self._current() as now:
            found = {}
            for document, state in now.states.items():
                shown = now.shown(document)
                saw = {reviewer for reviewer, _ in shown}
                seen = {label for reviewer, label in shown if reviewer in state.done_by}
                seen |= {event.label for event in now.of(document) if event.label and event.is_on_suggestion}
                if seen or not state.done_by <= saw:
                    found[document] = seen if state.done_by <= saw else set()
            return found

    def recall(self) -> Recall | None:
        """The share of the right candidates that are suggested, from the documents that reviewers have finished."""
        right, documents, drawn = 0, 0, list[Drawn]()
        with self._current() as now:
            for document, state in now.states.items():
                verdicts, shown = verdicts_of(now.of(document)), now.shown(document)
                documents += len(state.done_by & {reviewer for reviewer, _ in shown})
                for (reviewer, label), event in shown.items():
                    if reviewer in state.done_by:
                        accepted = verdicts.get(label, {}).get(reviewer) == "accept"
                        if event.drawn_from is None:
                            right += accepted
                        else:
                            drawn.append(Drawn(event.drawn_from, accepted))
        return estimate_recall(right, documents, drawn)

    def uses(self) -> Mapping[str, int]:
        """Label -> documents that have it."""
        with self._current() as now:
            return dict(now.uses)

    def totals(self) -> tuple[int, float | None]:
        """Documents that somebody has finished; share of the shown suggestions with a verdict that were accepted."""
        with self._current() as now:
            return now.done, now.accepted / now.judged if now.judged else None

    def differences(self) -> list[Difference]:
        """Labels that as many reviewers accept as reject, for another one to settle."""
        return [
            Difference(document, label, _given(given, "accept"), _given(given, "reject"))
            for (document, label), given in self.verdicts().items()
            if balance(given) == 0
        ]

    def statistics(self) -> Statistics:
        """Progress, and how well reviewers agree with the suggestions and with each other."""
        verdicts, (done, accepted_share) = self.verdicts(), self.totals()
        by_reviewer: dict[str, dict[Hashable, Hashable]] = {}
        for item, given in verdicts.items():
            for reviewer, verdict in given.items():
                by_reviewer.setdefault(reviewer, {})[item] = verdict
        return Statistics(
            documents=len({document for document, _ in verdicts}),
            done=done,
            verdicts=sum(map(len, verdicts.values())),
            accepted_share=accepted_share,
            recall=self.recall(),
            kappa=pairwise_kappas(by_reviewer),
            alpha=krippendorffs_alpha(tuple(given.values()) for given in verdicts.values()),
        )

    @contextmanager
    def _current(self) -> Iterator[StandingDecisions]:
        """What holds now, with the events that this or another process has added since the last time."""
        with self._lock:
            new = list(self.events(self._last))
            if new:
                self._last = new[-1][0]
                self._now.apply(event for _, event in new)
            yield self._now


def _given(verdicts: Mapping[str, Verdict], wanted: Verdict) -> tuple[str, ...]:
    return tuple(sorted(reviewer for reviewer, verdict in verdicts.items() if verdict == wanted))
