"""The log of reviewers' decisions, and what follows from it: labels, training examples, disagreements and statistics.

A decision is acknowledged when it is on disk, so a killed server loses none. Nothing is deleted: "undo" is an event as
well. So is "shown", because a label that a reviewer never saw must not count as rejected.
"""

import threading
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from itertools import combinations, permutations
from typing import NamedTuple

from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import CurrentDecisions, Decision, DocumentState, Verdict, balance, verdicts_by_label
from tagwright.review.file import ReviewFile
from tagwright.review.recall import Recall, estimate_recall


class Difference(NamedTuple):
    """A label of a document that as many reviewers accept as reject."""

    document: str
    label: str
    accepted_by: tuple[str, ...]
    rejected_by: tuple[str, ...]


@dataclass(frozen=True)
class Statistics:
    """Progress of a review, and agreement of its reviewers with the suggestions and with each other.

    documents: number of documents with a verdict. done: number of documents finished by a reviewer. blind: number of
    those that were reviewed blind, and have labels; a text under several ids counts once. verdicts: number of current
    verdicts. accepted_share: share of accepted suggestions among those with a verdict; None without one. right: see
    `Decisions.right_labels`. recall: estimated share of the right labels among the first candidates that are suggested.
    kappa: pair of reviewers -> Cohen's kappa. alpha: Krippendorff's alpha.
    """

    documents: int
    done: int
    blind: int
    verdicts: int
    accepted_share: float | None
    right: Mapping[str, int]
    recall: Recall | None
    kappa: Mapping[tuple[str, str], float | None]
    alpha: float | None


_COLUMNS = tuple(field.name for field in fields(Decision))
"Columns of the table of events besides its id."


class Decisions:
    """The log of decisions in a review file. Several threads and processes may use it at a time.

    Parameters
    ----------
    file : ReviewFile
        The open file; the caller closes it.
    """

    def __init__(self, file: ReviewFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._applied = 0  # the number of the last event in `_current`
        self._current = CurrentDecisions()

    def add_all(self, decisions: Iterable[Decision]) -> list[int]:
        """Store events together, all of them or none, and return their numbers, from 1. Raises StorageError.

        They are on disk when this returns. An event without a time gets the present one.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        statement = f"INSERT INTO events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
        return self._file.insert(statement, [astuple(replace(event, time=event.time or now)) for event in decisions])

    def events(self, after: int = 0) -> Iterator[tuple[int, Decision]]:
        """Return the numbers and events of the whole log in order. after: only events with a larger number."""
        statement = f"SELECT id, {', '.join(_COLUMNS)} FROM events WHERE id > ? ORDER BY id"  # noqa: S608
        rows = self._file.rows(statement, (after,))
        return ((number, Decision(**dict(zip(_COLUMNS, values, strict=True)))) for number, *values in rows)

    def current(self, document: str | None = None) -> list[Decision]:
        """Return the current events, of one document or of all: see `CurrentDecisions`."""
        with self._up_to_date() as current:
            return list(current.events()) if document is None else current.events_of(document)

    def states(self) -> dict[str, DocumentState]:
        """Return document -> its current state."""
        with self._up_to_date() as current:
            return dict(current.states)

    def verdicts(self) -> dict[tuple[str, str], dict[str, Verdict]]:
        """Return (document, label) -> reviewer -> current verdict."""
        with self._up_to_date() as current:
            return {
                (document, label): verdicts
                for document in current.states
                for label, verdicts in verdicts_by_label(current.events_of(document)).items()
            }

    def labels(self) -> dict[str, list[str]]:
        """Return document -> labels that more reviewers accept than reject.

        A document without such labels is included only if a reviewer has finished it.
        """
        states = self.states().items()
        return {document: list(state.labels) for document, state in states if state.labels or state.done_by}

    def add_shown(self, shown: Sequence[Decision]) -> None:
        """Store that candidates were shown to a reviewer, except those whose last such event says the same."""
        with self._up_to_date() as current:
            last = [current.shown(event.document).get((event.reviewer, event.label or "")) for event in shown]
        new = [event for event, old in zip(shown, last, strict=True) if old is None or replace(old, time="") != event]
        if new:
            self.add_all(new)

    def shown(self, document: str) -> dict[tuple[str, str], Decision]:
        """Return (reviewer, label) -> the event that last showed the label to the reviewer."""
        with self._up_to_date() as current:
            return dict(current.shown(document))

    def events_shown(self) -> list[Decision]:
        """Return the event that last showed a label of a document to a reviewer, for each of them."""
        with self._up_to_date() as current:
            return list(current.events_shown())

    def judged(self) -> dict[str, set[str]]:
        """Return document -> labels to use as training examples, because they are known to be right or wrong.

        These are the suggestions with a verdict and, once a reviewer has finished the document, all suggestions that
        the reviewer saw. A label added by search is right, but no example: reviewers add only right labels, so a model
        would learn that labels of low rank are right. A document has an empty set if all of its labels are known: a
        client sent it with its labels, and no suggestions were shown. A document of which nothing is known is missing.
        """
        judged = dict[str, set[str]]()
        with self._up_to_date() as current:
            for document, state in current.states.items():
                shown = current.shown(document)
                if not state.done_by <= {reviewer for reviewer, _ in shown}:  # a client finished it without suggestions
                    judged[document] = set()
                    continue
                labels = {label for reviewer, label in shown if reviewer in state.done_by}
                for event in current.events_of(document):  # a rejected label is an example also if it was added
                    if event.label and (event.rank is not None or event.action == "reject"):
                        labels.add(event.label)
                if labels:
                    judged[document] = labels
        return judged

    def blind(self) -> dict[str, list[str]]:
        """Return document -> the labels that reviewers gave it without seeing suggestions, for all reviewed blind.

        A document has none before one of these reviewers has finished it.
        """
        found = dict[str, list[str]]()
        with self._up_to_date() as current:
            for document, state in current.states.items():
                if by_reviewer := current.blind(document):
                    finished = (labels for reviewer, labels in by_reviewer.items() if reviewer in state.done_by)
                    found[document] = list(dict.fromkeys(label for labels in finished for label in labels))
        return found

    def can_be_blind(self, document: str, reviewer: str) -> bool:
        """Whether a reviewer has not seen suggestions of a document, nor anybody who had not given labels before."""
        with self._up_to_date() as current:
            seen, blind = {name for name, _ in current.shown(document)}, current.blind(document)
            return reviewer not in {*seen, *blind} and seen <= blind.keys()

    def recall(self) -> Recall | None:
        """Estimate the share of right candidates that are suggested; None if nothing allows an estimate.

        A document counts once for each reviewer who has seen its suggestions and finished it.
        """
        right, finished, drawn = 0, 0, list[tuple[int, bool]]()
        with self._up_to_date() as current:
            for document, state in current.states.items():
                verdicts, shown = verdicts_by_label(current.events_of(document)), current.shown(document)
                finished += len(state.done_by & {reviewer for reviewer, _ in shown})
                for (reviewer, label), event in shown.items():
                    if reviewer in state.done_by:
                        is_right = verdicts.get(label, {}).get(reviewer) == "accept"
                        if event.drawn_from is None:
                            right += is_right
                        else:
                            drawn.append((event.drawn_from, is_right))
        return estimate_recall(right, finished, drawn)

    def right_labels(self) -> dict[str, int]:
        """Count the right labels of documents with suggestions: "total", and those "suggested" or "added" by hand.

        The remaining ones were candidates drawn at random.
        """
        total, suggested, added = 0, 0, 0
        with self._up_to_date() as current:
            for document, state in current.states.items():
                if not (shown := current.shown(document)):
                    continue  # a client sent it with its labels
                accepted = [event for event in current.events_of(document) if event.action == "accept"]
                for label in state.labels:
                    found = [shown.get((each.reviewer, label)) or each for each in accepted if each.label == label]
                    total += 1
                    suggested += any(each.rank is not None and each.drawn_from is None for each in found)
                    added += all(each.rank is None for each in found)
        return {"total": total, "suggested": suggested, "added": added}

    def uses(self) -> Mapping[str, int]:
        """Return label -> number of documents that have it."""
        with self._up_to_date() as current:
            return dict(current.uses)

    def name_of(self, reviewer: str) -> str:
        """Return the name that a reviewer has here, see `CurrentDecisions.name_of`."""
        with self._up_to_date() as current:
            return current.name_of(reviewer)

    def progress(self) -> tuple[int, float | None]:
        """Return the number of finished documents, and the share of accepted suggestions among those with a verdict."""
        with self._up_to_date() as current:
            judged = current.judged_suggestions
            return current.done, current.accepted_suggestions / judged if judged else None

    def differences(self) -> list[Difference]:
        """Return labels with as many accepting as rejecting reviewers, for another reviewer to settle."""
        return [
            Difference(document, label, _reviewers(verdicts, "accept"), _reviewers(verdicts, "reject"))
            for (document, label), verdicts in self.verdicts().items()
            if balance(verdicts) == 0
        ]

    def statistics(self) -> Statistics:
        """Return progress, and agreement of reviewers with the suggestions and with each other."""
        verdicts, (done, accepted_share) = self.verdicts(), self.progress()
        return Statistics(
            documents=len({document for document, _ in verdicts}),
            done=done,
            blind=ReviewedDocuments(self._file).count_texts(id_ for id_, labels in self.blind().items() if labels),
            verdicts=sum(map(len, verdicts.values())),
            accepted_share=accepted_share,
            right=self.right_labels(),
            recall=self.recall(),
            kappa=pairwise_kappas(verdicts.values()),
            alpha=krippendorffs_alpha(by_reviewer.values() for by_reviewer in verdicts.values()),
        )

    @contextmanager
    def _up_to_date(self) -> Iterator[CurrentDecisions]:
        """Yield the current decisions under the lock, with the events that any process has added meanwhile."""
        with self._lock:
            new = list(self.events(self._applied))
            if new:
                self._applied = new[-1][0]
                self._current.apply(event for _, event in new)
            yield self._current


def _reviewers(verdicts: Mapping[str, Verdict], wanted: Verdict) -> tuple[str, ...]:
    return tuple(sorted(reviewer for reviewer, verdict in verdicts.items() if verdict == wanted))


def cohens_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """Return the agreement of two reviewers: (observed - expected) / (1 - expected) (Cohen 1960).

    pairs: both verdicts on each item. 1 is full agreement, 0 that of chance; None where there is no item, or all
    verdicts are the same and chance alone explains them.

    Of four items they agree on three; the first accepts 2, the second 3: expected 2/4 3/4 + 2/4 1/4 = 0.5, observed
    0.75.

    >>> cohens_kappa([("yes", "yes"), ("yes", "yes"), ("no", "yes"), ("no", "no")])
    0.5
    """
    items = list(pairs)
    if not items:
        return None
    firsts, seconds = (Counter(side) for side in zip(*items, strict=True))
    observed = sum(first == second for first, second in items) / len(items)
    expected = sum(firsts[verdict] * seconds[verdict] for verdict in firsts) / len(items) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorffs_alpha(items: Iterable[Collection[Hashable]]) -> float | None:
    """Return the agreement of any number of reviewers: 1 - observed / expected disagreement (Krippendorff 2004).

    items: the verdicts on each item, as nominal values; items with fewer than two do not count. None where there is
    nothing to compare.

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
    return 1 - observed * (count - 1) / expected  # observed / count over expected / (count * (count - 1))


def pairwise_kappas(items: Iterable[Mapping[str, Hashable]]) -> dict[tuple[str, str], float | None]:
    """Return pair of reviewers -> Cohen's kappa over the items that both have judged.

    items: reviewer -> verdict on each item.
    """
    verdicts: dict[str, dict[int, Hashable]] = {}
    for item, by_reviewer in enumerate(items):
        for reviewer, verdict in by_reviewer.items():
            verdicts.setdefault(reviewer, {})[item] = verdict
    return {
        (a, b): cohens_kappa((verdicts[a][item], verdicts[b][item]) for item in verdicts[a].keys() & verdicts[b].keys())
        for a, b in combinations(sorted(verdicts), 2)
    }
