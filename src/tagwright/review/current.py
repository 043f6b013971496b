"""Keep the current decisions of a review, updated event by event."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from tagwright.errors import ConfigError

Verdict = Literal["accept", "reject"]
Step = Literal[Verdict, "undo", "skip", "done", "note"]
"Actions of a reviewer."

Action = Literal[Step, "shown"]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One event of a review.

    action: accept and reject are verdicts on a label; undo takes back the reviewer's last event; skip and done are
    about the document; note is a text about it; shown records a candidate that the reviewer saw.
    rank (from 1), confidence: those of the suggestion when it was shown; None for a label that the reviewer added.
    drawn_from: for a candidate drawn at random, the number of candidates to draw from. model: the version of the
    tagger. time: UTC, set when the event is stored.
    """

    document: str
    reviewer: str
    action: Action
    label: str | None = None
    rank: int | None = None
    confidence: float | None = None
    drawn_from: int | None = None
    model: str = ""
    note: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise ConfigError(f'action is "{self.action}", expected one of {", ".join(get_args(Action))}')
        if (self.action in (*get_args(Verdict), "shown")) != (self.label is not None):
            raise ConfigError(f"{self.action} {'needs a' if self.label is None else 'has no'} label")

    @property
    def is_on_suggestion(self) -> bool:
        """Whether it is a verdict on a suggestion, not on a label that the reviewer added."""
        return self.label is not None and (self.rank is not None or self.action == "reject")


class DocumentState(NamedTuple):
    """The current decisions on one document. labels: accepted by more reviewers than rejected.

    judged: number of verdicts on suggestions, without candidates drawn at random. accepted: how many of them accept.
    """

    done_by: frozenset[str]
    skipped_by: frozenset[str]
    labels: tuple[str, ...]
    judged: int
    accepted: int


@dataclass
class StandingDecisions:
    """The current decisions of a review: without undone events; the last verdict of each reviewer on a label counts.

    states: by document. uses: label -> number of documents with it. done: number of documents that at least one
    reviewer has finished. judged, accepted: totals over the documents.
    """

    states: dict[str, DocumentState] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    done: int = 0
    judged: int = 0
    accepted: int = 0
    _stacks: dict[str, dict[str, list[Decision]]] = field(default_factory=dict)
    _shown: dict[str, dict[tuple[str, str], Decision]] = field(default_factory=dict)

    def apply(self, events: Iterable[Decision]) -> None:
        """Add new events, and update the documents that they are about."""
        changed = dict[str, None]()
        for event in events:
            if event.action == "shown":
                assert event.label is not None
                self._shown.setdefault(event.document, {})[event.reviewer, event.label] = event
                continue
            stack = self._stacks.setdefault(event.document, {}).setdefault(event.reviewer, [])
            if event.action != "undo":
                stack.append(event)
            elif stack:
                stack.pop()
            changed[event.document] = None
        for document in changed:
            if document in self.states:
                self._count(self.states[document], -1)
            self.states[document] = _state(self.of(document))
            self._count(self.states[document], 1)

    def of(self, document: str) -> list[Decision]:
        """Return the current events of a document."""
        last: dict[tuple[str, str | None, str], Decision] = {}
        for stack in self._stacks.get(document, {}).values():
            for event in stack:
                kind = "verdict" if event.label is not None else event.action
                last[event.reviewer, event.label, kind] = event
        return list(last.values())

    def shown(self, document: str) -> Mapping[tuple[str, str], Decision]:
        """Return (reviewer, label) -> the event that last showed the label to the reviewer."""
        return self._shown.get(document, {})

    def all(self) -> Iterator[Decision]:
        """Iterate over the current events, document by document."""
        return (event for document in self._stacks for event in self.of(document))

    def _count(self, state: DocumentState, times: int) -> None:
        self.done += times * bool(state.done_by)
        self.judged += times * state.judged
        self.accepted += times * state.accepted
        for label in state.labels:
            self.uses[label] += times


def verdicts_of(events: Iterable[Decision]) -> dict[str, dict[str, Verdict]]:
    """Return label -> reviewer -> verdict. events: the current events of one document."""
    verdicts: dict[str, dict[str, Verdict]] = {}
    for event in events:
        if event.label is not None and event.action in ("accept", "reject"):
            verdicts.setdefault(event.label, {})[event.reviewer] = event.action
    return verdicts


def balance(verdicts: Mapping[str, Verdict]) -> int:
    """Return the number of reviewers who accept minus the number who reject.

    >>> balance({"Ann": "accept", "Ben": "reject", "Eve": "accept"})
    1
    """
    return sum(1 if verdict == "accept" else -1 for verdict in verdicts.values())


def _state(events: Sequence[Decision]) -> DocumentState:
    ranked = [event for event in events if event.label is not None and event.rank is not None]
    shown = [event.action for event in ranked if event.drawn_from is None]
    return DocumentState(
        done_by=frozenset(event.reviewer for event in events if event.action == "done"),
        skipped_by=frozenset(event.reviewer for event in events if event.action == "skip"),
        labels=tuple(label for label, verdicts in verdicts_of(events).items() if balance(verdicts) > 0),
        judged=len(shown),
        accepted=shown.count("accept"),
    )
