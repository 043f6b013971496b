"""Decisions of reviewers in, a log that is never rewritten on disk; what holds now, and who disagrees, out.

The log is a table of SQLite in WAL mode. A decision is acknowledged when it is on disk: a killed server loses none.
Undo is an event as well. What was never shown is not taken for rejected.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from tagwright.errors import ConfigError, InputError
from tagwright.server.agreement import krippendorffs_alpha, pairwise_kappas

Verdict = Literal["accept", "reject"]
Action = Literal["accept", "reject", "undo", "skip", "done", "note"]

FORMAT = 1
_APPLICATION = 0x54414757  # "TAGW": says that the file is ours


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
    """The log in a file; several threads and processes may use it at a time. Raises InputError for another file."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self._database = sqlite3.connect(self.path, check_same_thread=False, timeout=30)
            self._prepare()
        except sqlite3.Error as error:
            raise InputError(f"cannot be used as a store of decisions ({error})", self.path) from None

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def add(self, decision: Decision) -> int:
        """Store an event; it is on disk when this returns. Returns its number.

        Raises InputError when the disk does not take it.
        """
        return self.add_all([decision])[-1]

    def add_all(self, decisions: Iterable[Decision]) -> list[int]:
        """Store events together: all of them or none."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        statement = f"INSERT INTO events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
        with self._lock:
            try:
                with self._database:
                    rows = [(*astuple(each)[:-1], each.time or now) for each in decisions]
                    return [int(self._database.execute(statement, row).lastrowid or 0) for row in rows]
            except sqlite3.Error as error:
                raise InputError(f"the decision could not be stored ({error})", self.path) from None

    def events(self, document: str | None = None) -> Iterator[tuple[int, Decision]]:
        """All events in order, with their numbers; undone ones and the undoing too."""
        where, values = ("WHERE document = ?", (document,)) if document is not None else ("", ())
        statement = f"SELECT id, {', '.join(_COLUMNS)} FROM events {where} ORDER BY id"  # noqa: S608
        with self._lock, closing(self._database.execute(statement, values)) as cursor:
            rows = cursor.fetchall()
        return ((number, Decision(**dict(zip(_COLUMNS, values, strict=True)))) for number, *values in rows)

    def standing(self, document: str | None = None) -> list[Decision]:
        """The events that hold: none that was undone; of several verdicts of a reviewer on a label the last."""
        kept: dict[tuple[str, str], list[Decision]] = {}
        for _, event in self.events(document):
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

    def verdicts(self, document: str | None = None) -> dict[tuple[str, str], dict[str, Verdict]]:
        """(document, label) -> reviewer -> verdict, as they stand."""
        found: dict[tuple[str, str], dict[str, Verdict]] = {}
        for event in self.standing(document):
            if event.label is not None and event.action in ("accept", "reject"):
                found.setdefault((event.document, event.label), {})[event.reviewer] = event.action
        return found

    def labels(self) -> dict[str, list[str]]:
        """Document -> labels that were accepted and that nobody has rejected.

        A document without any is there only if a reviewer is done with it: then it has none.
        """
        found: dict[str, list[str]] = {event.document: [] for event in self.standing() if event.action == "done"}
        for (document, label), given in self.verdicts().items():
            if set(given.values()) == {"accept"}:
                found.setdefault(document, []).append(label)
        return found

    def differences(self) -> list[Difference]:
        """Labels on which reviewers contradict each other, for a third to settle."""
        return [
            Difference(document, label, _given(given, "accept"), _given(given, "reject"))
            for (document, label), given in self.verdicts().items()
            if len(set(given.values())) > 1
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

    def _prepare(self) -> None:
        execute = self._database.execute
        (owner,), (version,) = execute("PRAGMA application_id").fetchone(), execute("PRAGMA user_version").fetchone()
        empty = not execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not empty and (owner, version) != (_APPLICATION, FORMAT):
            raise InputError("is a database of something else, or of another version of Tagwright", self.path)
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")  # an acknowledged decision survives a power cut, not only a kill
        if empty:
            with self._database:
                execute(f"PRAGMA application_id = {_APPLICATION}")
                execute(f"PRAGMA user_version = {FORMAT}")
                execute(
                    "CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL, "
                    "reviewer TEXT NOT NULL, action TEXT NOT NULL, label TEXT, rank INTEGER, confidence REAL, "
                    "model TEXT NOT NULL, note TEXT NOT NULL, time TEXT NOT NULL)"
                )
                execute("CREATE INDEX IF NOT EXISTS by_document ON events (document)")


def _given(verdicts: Mapping[str, Verdict], wanted: Verdict) -> tuple[str, ...]:
    return tuple(sorted(reviewer for reviewer, verdict in verdicts.items() if verdict == wanted))
