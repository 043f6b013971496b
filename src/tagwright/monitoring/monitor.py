"""A sequential test of a tagger in use: its last documents against those that it was trained on, or met first."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from statistics import fmean
from typing import Literal, NamedTuple, TypeAlias, get_args

from tagwright.combining.confidence import LIKELY
from tagwright.monitoring.record import BITS, Profile, Record
from tagwright.monitoring.two_samples import most_changed, ranks_differ, separation

Signal: TypeAlias = Literal["drift", "language", "label", "unsure", "confidence", "accepted"]
SIGNALS: tuple[Signal, ...] = get_args(Signal)

FIRST, WINDOW = 500, 200
"Documents to compare with, where no training left a profile; and the last ones, which are compared."

FIRST_REVIEWED, WINDOW_REVIEWED = 100, 50
"The same for documents that reviewers have finished."

STEP = 20
"New documents between two looks."

STREAM, FALSE_ALARMS = 5_000, 0.05
"Among so many documents in any order there is a false alarm of any signal with this probability at most."

LEVEL = FALSE_ALARMS * STEP / (STREAM * len(SIGNALS))
"Probability below which a look is an alarm: by Bonferroni, over all looks and signals."


class Look(NamedTuple):
    """A signal after `at` documents: its value of the last ones and of those before, both from 0 to 1.

    p: how probable such a change is at most. category, had, has: the label or language that changed most, if the signal
    is about these, with its shares before and now.
    """

    at: int
    value: float
    before: float
    p: float
    category: str = ""
    had: float = 0.0
    has: float = 0.0

    @property
    def is_alarm(self) -> bool:
        """Whether this would hardly happen by chance."""
        return self.p < LEVEL


class Monitor:
    """Compares the last documents of one version of a tagger with others. profile: of its training, if there is one.

    Words and languages are compared with the profile, everything else with the first documents: suggestions for
    documents that a tagger has learned from are better than for others. Only the last STREAM documents are looked at.
    """

    def __init__(self, profile: Profile | None = None) -> None:
        self.profile, self.count = profile, 0
        self._first: list[Record] = []
        self._recent = deque[Record](maxlen=STREAM + WINDOW)
        self._looks: dict[Signal, deque[Look]] = {name: deque(maxlen=STREAM // STEP) for name in SIGNALS}
        self._looked = 0

    def add(self, record: Record) -> None:
        """Take one more document."""
        self.count += 1
        self._recent.append(record)
        if len(self._first) < FIRST:
            self._first.append(record)

    def looks(self, accepted: Sequence[float] = ()) -> dict[Signal, list[Look]]:
        """The looks at each signal, oldest first. accepted: share of accepted suggestions, by reviewed document."""
        start = self.count - len(self._recent)
        for at in range(max(self._looked, self.count - STREAM) // STEP * STEP + STEP, self.count + 1, STEP):
            self._looked = at
            if at - start >= WINDOW:
                for name, look in self._look(at, list(islice(self._recent, at - start - WINDOW, at - start))):
                    self._looks[name].append(look)
        return {**{name: [*found] for name, found in self._looks.items()}, "accepted": _reviews(accepted)}

    def starts(self, name: Signal) -> int:
        """Documents, or reviewed documents, before the first look at a signal."""
        if name == "accepted":
            return FIRST_REVIEWED + WINDOW_REVIEWED
        return WINDOW if self.profile and name in ("drift", "language") else FIRST + WINDOW

    def _look(self, at: int, window: Sequence[Record]) -> Iterator[tuple[Signal, Look]]:
        if at >= self.starts("drift"):
            profile = self.profile or self._summary.profile
            yield "drift", _drift(at, window, profile)
            yield "language", _language(at, window, profile)
        if at >= self.starts("label"):
            yield "label", _label(at, window, self._summary)
            if self._summary.confident:
                yield "unsure", _unsure(at, window, self._summary)
                yield "confidence", _confidence(at, window, self._summary)

    @cached_property
    def _summary(self) -> "_Summary":
        """Of the first documents, once all of them are there."""
        first = self._first
        return _Summary(
            Profile.of_records(first),
            _label_counts(first),
            sum(map(_is_unsure, first)),
            [*map(_mean_confidence, first)],
            any(each.confidences for each in first),
        )


class _Summary(NamedTuple):
    """What the last documents are compared with. unsure: how many have no likely label."""

    profile: Profile
    labels: Counter[str]
    unsure: int
    confidences: list[float]
    confident: bool


def _drift(at: int, window: Sequence[Record], profile: Profile) -> Look:
    value, p = separation([each.words for each in window], profile.words, BITS)
    return Look(at, value, BITS / (len(window) + len(profile.words) - 1), p)  # what chance explains on average


def _language(at: int, window: Sequence[Record], profile: Profile) -> Look:
    now, all_ = Counter(each.language for each in window), sum(profile.languages.values())
    main = max(sorted(profile.languages), key=lambda code: profile.languages[code])
    change = most_changed(now, len(window), profile.languages, all_)
    shares = now[main] / len(window), profile.languages[main] / all_
    return Look(at, *shares, change.p, change.category, change.before, change.now)


def _label(at: int, window: Sequence[Record], first: _Summary) -> Look:
    now = _label_counts(window)
    shares = max(now.values(), default=0) / len(window), max(first.labels.values(), default=0) / FIRST
    if not now:
        return Look(at, *shares, 1.0)
    change = most_changed(now, len(window), first.labels, FIRST, rises=True)
    return Look(at, *shares, change.p, change.category, change.before, change.now)


def _unsure(at: int, window: Sequence[Record], first: _Summary) -> Look:
    change = most_changed({"": sum(map(_is_unsure, window))}, len(window), {"": first.unsure}, FIRST)
    return Look(at, change.now, change.before, change.p)


def _confidence(at: int, window: Sequence[Record], first: _Summary) -> Look:
    now = [*map(_mean_confidence, window)]
    return Look(at, fmean(now), fmean(first.confidences), ranks_differ(now, first.confidences))


def _label_counts(records: Sequence[Record]) -> Counter[str]:
    return Counter(label for each in records for label in set(each.labels))


def _is_unsure(record: Record) -> bool:
    return max(record.confidences, default=0.0) < LIKELY


def _mean_confidence(record: Record) -> float:
    return sum(record.confidences) / len(record.confidences) if record.confidences else 0.0


def _reviews(accepted: Sequence[float]) -> list[Look]:
    first, found = accepted[:FIRST_REVIEWED], list[Look]()
    start = max(FIRST_REVIEWED + WINDOW_REVIEWED, len(accepted) - STREAM)
    for at in range(-(-start // STEP) * STEP, len(accepted) + 1, STEP):
        window = accepted[at - WINDOW_REVIEWED : at]
        found.append(Look(at, fmean(window), fmean(first), ranks_differ(window, first)))
    return found
