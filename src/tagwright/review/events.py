"""The events of a review, and the current decisions that follow from them.

A `Decision` is one event. `CurrentDecisions` is what holds after all events so far; `decisions.Decisions` stores them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from tagwright.errors import ConfigError

Verdict = Literal["accept", "reject"]
"A reviewer's judgement of one label of one document."

ReviewerAction = Literal[Verdict, "undo", "skip", "done", "note", "blind"]
"What a reviewer can do on the page."

Action = Literal[ReviewerAction, "shown"]
"The server itself records which candidates it has shown."


_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0000-\U000e0fff]")
"Characters without a shape of their own besides those that Unicode calls formats."


@lru_cache(maxsize=4096)  # a log has a few names many times
def person_of(name: str) -> str:
    """Return what two names have in common that look the same to people; "" for one that cannot be seen.

    >>> person_of("Ann  Le\u200be") == person_of("\uff21\uff4e\uff4e lee"), person_of("\u200b")
    (True, '')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    shown = "".join(sign for sign in _INVISIBLE.sub("", folded) if sign.isspace() or sign.isprintable())
    return " ".join(shown.split())


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One event of a review. Raises ConfigError for a label that is missing or not wanted.

    Parameters
    ----------
    document, reviewer : str
        Id of the document; name of the reviewer, or of the client that sent the document with its labels.
    action : Action
        "accept" and "reject" are verdicts on a label. "undo" takes back the reviewer's last event on the document.
        "skip" and "done" are about the document, "note" is a text about it. "blind" says that the reviewer has given
        the labels of the document and sees suggestions from now on; "shown" records a candidate that the reviewer saw.
        These two cannot be undone.
    label : str, optional
        Id of the label, for verdicts and "shown" only.
    rank : int, optional
        Rank of the candidate when it was shown, from 1; None for a label that was not shown, but added by search.
    confidence : float, optional
        Confidence of the candidate when it was shown, from 0 to 1; None where the tagger estimates none.
    drawn_from : int, optional
        For a candidate drawn at random from below the suggestions, how many there were to draw from; else None.
    model : str
        Version of the tagger, see `ServedModel.version`.
    note : str
        Text of a note.
    time : str
        UTC in ISO 8601; empty until the event is stored.
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
        if (self.action in (*get_args(Verdict), "shown")) != (self.label is not None):
            raise ConfigError(f"{self.action} {'needs a' if self.label is None else 'has no'} label")


class DocumentState(NamedTuple):
    """The current decisions on one document, summed up.

    done_by, skipped_by: reviewers. labels: ids that more reviewers accept than reject. judged_suggestions: number of
    verdicts on suggestions, not on candidates drawn at random; accepted_suggestions: how many of them accept.
    """

    done_by: frozenset[str]
    skipped_by: frozenset[str]
    labels: tuple[str, ...]
    judged_suggestions: int
    accepted_suggestions: int


@dataclass
class CurrentDecisions:
    """The decisions that hold: without undone events, and with the last verdict of each reviewer on a label.

    states: document -> its state. uses: label -> number of documents that have it. done: number of documents that at
    least one reviewer has finished. judged_suggestions, accepted_suggestions: totals over the documents.

    States and totals are updated event by event: every page shows them, and the log may have a million events.
    """

    states: dict[str, DocumentState] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    done: int = 0
    judged_suggestions: int = 0
    accepted_suggestions: int = 0
    _stacks: dict[str, dict[str, list[Decision]]] = field(default_factory=dict)
    "Document -> reviewer -> events that are not undone, in order."
    _shown: dict[str, dict[tuple[str, str], Decision]] = field(default_factory=dict)
    "Document -> (reviewer, label) -> the event that last showed the label to the reviewer."
    _names: dict[str, str] = field(default_factory=dict)
    "What names have in common, see `person_of` -> the first of them."

    def apply(self, events: Iterable[Decision]) -> None:
        """Add new events, in order, and update the states of their documents."""
        changed = list[str]()
        for event in events:
            if (name := self.name_of(event.reviewer, is_new=True)) != event.reviewer:
                event = replace(event, reviewer=name)
            if event.action == "shown":
                self._shown.setdefault(event.document, {})[event.reviewer, event.label or ""] = event
                continue
            stack = self._stacks.setdefault(event.document, {}).setdefault(event.reviewer, [])
            if event.action != "undo":
                stack.append(event)
            elif undoable := [place for place, each in enumerate(stack) if each.action != "blind"]:
                del stack[undoable[-1]]
            changed.append(event.document)
        for document in dict.fromkeys(changed):
            if document in self.states:
                self._add_to_totals(self.states[document], -1)
            self.states[document] = _state(self.events_of(document), self._verdicts_on_suggestions(document))
            self._add_to_totals(self.states[document], 1)

    def name_of(self, reviewer: str, *, is_new: bool = False) -> str:
        """Return the name under which a reviewer decided first, whom a name that looks the same belongs to.

        is_new: remember a name that nobody has.
        """
        person = person_of(reviewer)
        return self._names.setdefault(person, reviewer) if is_new else self._names.get(person, reviewer)

    def events_of(self, document: str) -> list[Decision]:
        """Return the current events of a document."""
        last: dict[tuple[str, str | None, str], Decision] = {}
        for stack in self._stacks.get(document, {}).values():
            for event in stack:
                kind = "verdict" if event.label is not None else event.action  # an accept replaces an earlier reject
                last[event.reviewer, event.label, kind] = event
        return list(last.values())

    def shown(self, document: str) -> Mapping[tuple[str, str], Decision]:
        """Return (reviewer, label) -> the event that last showed the label to the reviewer."""
        return self._shown.get(document, {})

    def events_shown(self) -> Iterator[Decision]:
        """Iterate over the events that last showed a label to a reviewer, document by document."""
        return (event for shown in self._shown.values() for event in shown.values())

    def blind(self, document: str) -> dict[str, list[str]]:
        """Return reviewer -> the labels that were given blind and still hold, for reviewers who did so.

        Nobody did where any reviewer saw suggestions from the beginning: the tagger may have learned from that.
        """
        stacks = self._stacks.get(document, {})
        verdicts = {
            reviewer: list(_accepted_before(stack, [event.action for event in stack].index("blind")))
            for reviewer, stack in stacks.items()
            if any(event.action == "blind" for event in stack)
        }
        return verdicts if {reviewer for reviewer, _ in self.shown(document)} <= verdicts.keys() else {}

    def events(self) -> Iterator[Decision]:
        """Iterate over the current events, document by document."""
        return (event for document in self._stacks for event in self.events_of(document))

    def _verdicts_on_suggestions(self, document: str) -> list[Verdict]:
        """The verdicts on suggestions, also on those that the reviewer had accepted before seeing them."""
        blind, shown, verdicts = self.blind(document), self.shown(document), list[Verdict]()
        for event in self.events_of(document):
            if event.label is not None and event.action in ("accept", "reject"):
                named = event.label in blind.get(event.reviewer, ())
                seen = shown.get((event.reviewer, event.label)) if named else event
                if seen and seen.rank is not None and seen.drawn_from is None:
                    verdicts.append(event.action)
        return verdicts

    def _add_to_totals(self, state: DocumentState, sign: Literal[1, -1]) -> None:
        self.done += sign * bool(state.done_by)
        self.judged_suggestions += sign * state.judged_suggestions
        self.accepted_suggestions += sign * state.accepted_suggestions
        for label in state.labels:
            self.uses[label] += sign


def verdicts_by_label(events: Iterable[Decision]) -> dict[str, dict[str, Verdict]]:
    """Return label -> reviewer -> verdict. events: the current events of one document."""
    verdicts: dict[str, dict[str, Verdict]] = {}
    for event in events:
        if event.label is not None and event.action in ("accept", "reject"):
            verdicts.setdefault(event.label, {})[event.reviewer] = event.action
    return verdicts


def balance(verdicts: Mapping[str, Verdict]) -> int:
    """Return the number of reviewers who accept minus the number who reject. verdicts: reviewer -> verdict on a label.

    >>> balance({"Ann": "accept", "Ben": "reject", "Eve": "accept"})
    1
    """
    return sum(1 if verdict == "accept" else -1 for verdict in verdicts.values())


def _accepted_before(stack: Sequence[Decision], place: int) -> dict[str, None]:
    """The labels that were accepted before a place in the events of a reviewer, and are still accepted at the end."""
    last = {event.label: event.action for event in stack if event.label is not None}
    named = (event.label for event in stack[:place] if event.label is not None)
    return {label: None for label in named if last[label] == "accept"}


def _state(events: Sequence[Decision], on_suggestions: Sequence[Verdict]) -> DocumentState:
    return DocumentState(
        done_by=frozenset(event.reviewer for event in events if event.action == "done"),
        skipped_by=frozenset(event.reviewer for event in events if event.action == "skip"),
        labels=tuple(label for label, verdicts in verdicts_by_label(events).items() if balance(verdicts) > 0),
        judged_suggestions=len(on_suggestions),
        accepted_suggestions=on_suggestions.count("accept"),
    )
