"""Decisions of reviewers in, a log that is never rewritten on disk; what holds now, and who disagrees, out.

A decision is acknowledged when it is on disk: a killed server loses none. Undo is an event as well. What was never
shown is not taken for rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timezone
from typing import Literal, NamedTuple, get_args

from tagwright.errors import ConfigError
from tagwright.server.agreement import krippendorffs_alpha, pairwise_kappas
from tagwright.server.review_file import ReviewFile

Verdict = Literal["accept", "reject"]
Action = Literal["accept", "reject", "undo", "skip", "done", "note"]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One event.

    action: accept and reject are verdicts on a label; undo takes the reviewer's last event back; skip and done are
    about the document; note is a text about it.
    rank (from 1) and confidence: as the suggestion was shown; both None for a label that the reviewer added. model:
    the version of the tagger. time: UTC, set when the event is stored.
    """

    document: str
    reviewer: str
    action: Action
    label: str | None = None
    rank: int | None = None
    confidence: float | None = None
    model: str = ""
    note: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise ConfigError(f'action is "{self.action}", expected one of {", ".join(get_args(Action))}')
        if (self.action in get_args(Verdict)) != (self.label is not None):
            raise ConfigError(f"{self.action} {'needs a' if self.label is None else 'has no'} label")


class Difference(NamedTuple):
    """Two reviewers' verdicts on one label of one document that contradict each other."""

    document: str
    label: str
    accepted_by: tuple[str, ...]
    rejected_by: tuple[str, ...]


@dataclass(frozen=True)
class Statistics:
    """How far the work is.

    documents: those with a verdict; done: those that a reviewer has finished. accepted_share: share of the shown
    suggestions with a verdict that were accepted. kappa: Cohen's, by pair of reviewers; alpha: Krippendorff's.
    """

    documents: int
    done: int
    verdicts: int
    accepted_share: float | None
    kappa: Mapping[tuple[str, str], float | None]
    alpha: float | None


_COLUMNS = tuple(field.name for field in fields(Decision))


class Decisions:
    """The log in a file of reviews; several threads and processes may use it at a time."""

    def __init__(self, file: ReviewFile) -> None:
        self._file = file
        self._last: tuple[int, list[Decision]] = 0, []

    def add(self, decision: Decision) -> int:
        """Store an event; it is on disk when this returns. Returns its number.

        Raises InputError when the disk does not take it.
        """
        return self.add_all([decision])[-1]

    def add_all(self, decisions: Iterable[Decision]) -> list[int]:
        """Store events together: all of them or none."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        statement = f"INSERT INTO events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
        return self._file.insert(statement, [(*astuple(each)[:-1], each.time or now) for each in decisions])

    def events(self, document: str | None = None) -> Iterator[tuple[int, Decision]]:
        """All events in order, with their numbers; undone ones and the undoing too."""
        where, values = ("WHERE document = ?", (document,)) if document is not None else ("", ())
        statement = f"SELECT id, {', '.join(_COLUMNS)} FROM events {where} ORDER BY id"  # noqa: S608
        rows = self._file.rows(statement, values)
        return ((number, Decision(**dict(zip(_COLUMNS, values, strict=True)))) for number, *values in rows)

    def standing(self, document: str | None = None) -> list[Decision]:
        """The events that hold: none that was undone; of several verdicts of a reviewer on a label the last."""
        if document is not None:
            return _standing(event for _, event in self.events(document))
        ((last,),) = self._file.rows("SELECT coalesce(max(id), 0) FROM events")
        if last != self._last[0]:
            self._last = last, _standing(event for _, event in self.events())
        return self._last[1]

    def verdicts(self, document: str | None = None) -> dict[tuple[str, str], dict[str, Verdict]]:
        """(document, label) -> reviewer -> verdict, as they stand."""
        found: dict[tuple[str, str], dict[str, Verdict]] = {}
        for event in self.standing(document):
            if event.label is not None and event.action in ("accept", "reject"):
                found.setdefault((event.document, event.label), {})[event.reviewer] = event.action
        return found

    def labels(self) -> dict[str, list[str]]:
        """Document -> labels that more reviewers accept than reject.

        A document without any is there only if a reviewer is done with it: then it has none.
        """
        found: dict[str, list[str]] = {event.document: [] for event in self.standing() if event.action == "done"}
        for (document, label), given in self.verdicts().items():
            if _balance(given) > 0:
                found.setdefault(document, []).append(label)
        return found

    def uses(self) -> Counter[str]:
        """Label -> documents that have it."""
        return Counter(label for labels in self.labels().values() for label in labels)

    def differences(self) -> list[Difference]:
        """Labels that as many reviewers accept as reject, for another one to settle."""
        return [
            Difference(document, label, _given(given, "accept"), _given(given, "reject"))
            for (document, label), given in self.verdicts().items()
            if _balance(given) == 0
        ]

    def statistics(self) -> Statistics:
        """How far the work is, and how far reviewers agree with the suggestions and with each other."""
        standing, verdicts = self.standing(), self.verdicts()
        shown = [event.action for event in standing if event.label is not None and event.rank is not None]
        by_reviewer: dict[str, dict[Hashable, Hashable]] = {}
        for item, given in verdicts.items():
            for reviewer, verdict in given.items():
                by_reviewer.setdefault(reviewer, {})[item] = verdict
        return Statistics(
            documents=len({document for document, _ in verdicts}),
            done=len({event.document for event in standing if event.action == "done"}),
            verdicts=sum(map(len, verdicts.values())),
            accepted_share=shown.count("accept") / len(shown) if shown else None,
            kappa=pairwise_kappas(by_reviewer),
            alpha=krippendorffs_alpha(tuple(given.values()) for given in verdicts.values()),
        )


def _standing(events: Iterable[Decision]) -> list[Decision]:
    kept: dict[tuple[str, str], list[Decision]] = {}
    for event in events:
        stack = kept.setdefault((event.document, event.reviewer), [])
        if event.action != "undo":
            stack.append(event)
        elif stack:
            stack.pop()
    last: dict[tuple[str, str, str | None, str], Decision] = {}
    for event in (event for stack in kept.values() for event in stack):
        kind = "verdict" if event.label is not None else event.action
        last[event.document, event.reviewer, event.label, kind] = event
    return list(last.values())


def _balance(verdicts: Mapping[str, Verdict]) -> int:
    return sum(1 if verdict == "accept" else -1 for verdict in verdicts.values())


def _given(verdicts: Mapping[str, Verdict], wanted: Verdict) -> tuple[str, ...]:
    return tuple(sorted(reviewer for reviewer, verdict in verdicts.items() if verdict == wanted))
