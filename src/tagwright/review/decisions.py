"""Append reviewers' decisions to a log, and derive current decisions, disagreements and statistics.

A decision is acknowledged when it is on disk: a killed server loses none. To undo is an event as well, and so is to
show a label to a reviewer: a label that was never shown does not count as rejected.
"""

import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from itertools import combinations, permutations
from typing import NamedTuple

from tagwright.review.current import Decision, DocumentState, StandingDecisions, Verdict, balance, verdicts_of
from tagwright.review.file import ReviewFile
from tagwright.review.recall import Drawn, Recall, RightLabels, estimate_recall


class Difference(NamedTuple):
    """Contradicting verdicts of reviewers on one label of one document."""

    document: str
    label: str
    accepted_by: tuple[str, ...]
    rejected_by: tuple[str, ...]


@dataclass(frozen=True)
class Statistics:
    """Progress and agreement.

    documents: number with a verdict; done: number finished by a reviewer. accepted_share: share of accepted suggestions
    among those with a verdict. right: how the right labels so far were found. recall: estimated share of the right
    labels among the first 100 candidates that are suggested. kappa: Cohen's, by pair of reviewers; alpha:
    Krippendorff's.
    """

    documents: int
    done: int
    verdicts: int
    accepted_share: float | None
    right: RightLabels
    recall: Recall | None
    kappa: Mapping[tuple[str, str], float | None]
    alpha: float | None


_COLUMNS = tuple(field.name for field in fields(Decision))


class Decisions:
    """The log of decisions in a review file; several threads and processes may use it at a time."""

    def __init__(self, file: ReviewFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._last, self._now = 0, StandingDecisions()

    def add(self, decision: Decision) -> int:
        """Store an event; it is on disk when this returns. Returns its number.

        Raises StorageError if it cannot be written.
        """
        return self.add_all([decision])[-1]

    def add_all(self, decisions: Iterable[Decision]) -> list[int]:
        """Store events together: all of them or none."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        statement = f"INSERT INTO events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
        return self._file.insert(statement, [(*astuple(each)[:-1], each.time or now) for each in decisions])

    def events(self, after: int = 0) -> Iterator[tuple[int, Decision]]:
        """Return all events in order with their numbers, undo events too. after: only events with a larger number."""
        statement = f"SELECT id, {', '.join(_COLUMNS)} FROM events WHERE id > ? ORDER BY id"  # noqa: S608
        rows = self._file.rows(statement, (after,))
        return ((number, Decision(**dict(zip(_COLUMNS, values, strict=True)))) for number, *values in rows)

    def current(self, document: str | None = None) -> list[Decision]:
        """Return the current events: without undone ones, and only the last verdict of each reviewer on a label."""
        with self._current() as now:
            return list(now.all()) if document is None else now.of(document)

    def states(self) -> dict[str, DocumentState]:
        """Return document -> its current state."""
        with self._current() as now:
            return dict(now.states)

    def verdicts(self) -> dict[tuple[str, str], dict[str, Verdict]]:
        """Return (document, label) -> reviewer -> current verdict."""
        with self._current() as now:
            return {
                (document, label): given
                for document in now.states
                for label, given in verdicts_of(now.of(document)).items()
            }

    def labels(self) -> dict[str, list[str]]:
        """Return document -> labels that more reviewers accept than reject.

        A document without such labels is included only if a reviewer has finished it.
        """
        states = self.states().items()
        return {document: list(state.labels) for document, state in states if state.labels or state.done_by}

    def add_shown(self, shown: Sequence[Decision]) -> None:
        """Store the candidates shown to a reviewer, unless they were shown alike the last time."""
        with self._current() as now:
            before = {document: now.shown(document) for document in {each.document for each in shown}}
        last = [before[each.document].get((each.reviewer, each.label or "")) for each in shown]
        new = [each for each, old in zip(shown, last, strict=True) if old is None or replace(old, time="") != each]
        if new:
            self.add_all(new)

    def shown(self, document: str) -> dict[tuple[str, str], Decision]:
        """Return (reviewer, label) -> the event that last showed the label to the reviewer."""
        with self._current() as now:
            return dict(now.shown(document))

    def judged(self) -> dict[str, set[str]]:
        """Return document -> labels to use as training examples, because they are known to be right or wrong.

        These are the suggestions with a verdict and, once a reviewer has finished the document, all suggestions that
        the reviewer saw. A label added by search is right, but no example: reviewers add only right labels, so a model
        would learn that labels of low rank are right. A document has an empty set if all of its labels are known: a
        client sent it with its labels, and no suggestions were shown. A document of which nothing is known is missing.
        """
        with self._current() as now:
            examples = {}
            for document, state in now.states.items():
                shown = now.shown(document)
                saw = {reviewer for reviewer, _ in shown}
                seen = {label for reviewer, label in shown if reviewer in state.done_by}
                seen |= {event.label for event in now.of(document) if event.label and event.is_on_suggestion}
                if seen or not state.done_by <= saw:
                    examples[document] = seen if state.done_by <= saw else set()
            return examples

    def recall(self) -> Recall | None:
        """Estimate the share of right candidates that are suggested, from finished documents."""
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

    def right_labels(self) -> RightLabels:
        """Count the right labels of documents with suggestions by how they were found."""
        total, suggested, added = 0, 0, 0
        with self._current() as now:
            for document, state in now.states.items():
                if not (shown := now.shown(document)):
                    continue  # a client sent it with its labels
                verdicts = verdicts_of(now.of(document))
                for label in state.labels:
                    accepted = [who for who, verdict in verdicts[label].items() if verdict == "accept"]
                    events = [shown[who, label] for who in accepted if (who, label) in shown]
                    total += 1
                    suggested += any(event.drawn_from is None for event in events)
                    added += not events
        return RightLabels(total, suggested, added)

    def uses(self) -> Mapping[str, int]:
        """Return label -> number of documents with it."""
        with self._current() as now:
            return dict(now.uses)

    def totals(self) -> tuple[int, float | None]:
        """Return the number of finished documents, and the share of accepted suggestions among those with a verdict."""
        with self._current() as now:
            return now.done, now.accepted / now.judged if now.judged else None

    def acceptances(self, version: str) -> list[float]:
        """The share of accepted suggestions of a version, by document, in the order in which they were finished."""
        with self._current() as now:
            finished = [
                (min(done), state.accepted / state.judged)
                for document, state in now.states.items()
                if state.judged
                and (done := [e.time for e in now.of(document) if e.action == "done" and e.model == version])
            ]
        return [share for _, share in sorted(finished, key=lambda pair: pair[0])]

    def differences(self) -> list[Difference]:
        """Return labels with as many accepting as rejecting reviewers, for another reviewer to settle."""
        return [
            Difference(document, label, _reviewers_with(verdicts, "accept"), _reviewers_with(verdicts, "reject"))
            for (document, label), verdicts in self.verdicts().items()
            if balance(verdicts) == 0
        ]

    def statistics(self) -> Statistics:
        """Return progress, and agreement of reviewers with the suggestions and with each other."""
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
            right=self.right_labels(),
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


def _reviewers_with(verdicts: Mapping[str, Verdict], wanted: Verdict) -> tuple[str, ...]:
    return tuple(sorted(reviewer for reviewer, verdict in verdicts.items() if verdict == wanted))


def cohens_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """Agreement of two reviewers: (observed - expected) / (1 - expected) (Cohen 1960).

    pairs: both verdicts on each item. 1 is full agreement, 0 that of chance; None where there is no item, or all
    verdicts are the same and chance alone explains them.

    Of four items they agree on three; the first accepts 2, the second 3: expected 2/4 3/4 + 2/4 1/4 = 0.5, observed
    0.75.

    >>> cohens_kappa([("yes", "yes"), ("yes", "yes"), ("no", "yes"), ("no", "no")])
    0.5
    """
    listed = list(pairs)
    if not listed:
        return None
    firsts, seconds = (Counter(side) for side in zip(*listed, strict=True))
    observed = sum(first == second for first, second in listed) / len(listed)
    expected = sum(firsts[value] * seconds[value] for value in firsts) / len(listed) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorffs_alpha(items: Iterable[Sequence[Hashable]]) -> float | None:
    """Agreement of any number of reviewers: 1 - observed / expected disagreement, nominal (Krippendorff 2004).

    items: the verdicts on each item; those with fewer than two do not count. None where there is nothing to compare.

    Items yes-yes, no-no, yes-no: of 6 verdicts 3 are yes; observed disagreement 2/6, expected 2 * 3 * 3 / (6 * 5) =
    0.6, so 1 - (1/3) / 0.6 = 4/9.

    >>> round(krippendorffs_alpha([("yes", "yes"), ("no", "no"), ("yes", "no"), ("no",)]), 4)
    0.4444
    """
    rated = [verdicts for verdicts in items if len(verdicts) > 1]
    totals = Counter(verdict for verdicts in rated for verdict in verdicts)
    count = sum(totals.values())
    expected = sum(totals[a] * totals[b] for a, b in permutations(totals, 2))
    if not expected:
        return None
    observed = sum(sum(a != b for a, b in permutations(verdicts, 2)) / (len(verdicts) - 1) for verdicts in rated)
    return 1 - observed * (count - 1) / expected


def pairwise_kappas(verdicts: Mapping[str, Mapping[Hashable, Hashable]]) -> dict[tuple[str, str], float | None]:
    """Cohen's kappa of each two reviewers over the items that both have judged: reviewer -> item -> verdict."""
    return {
        (a, b): cohens_kappa((verdicts[a][item], verdicts[b][item]) for item in verdicts[a].keys() & verdicts[b].keys())
        for a, b in combinations(sorted(verdicts), 2)
    }
