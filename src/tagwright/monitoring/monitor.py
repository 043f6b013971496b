"""A sequential test of a tagger in use: its last documents against those that it was trained on, or met first.

Each look compares the last documents with all ways to draw as many from both samples together. So the probabilities
hold for documents of any distribution, as long as their order says nothing.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from statistics import fmean
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from tagwright.combining.confidence import LIKELY
from tagwright.monitoring.record import Record

Signal: TypeAlias = Literal["language", "label", "unsure", "confidence", "accepted"]
SIGNALS: tuple[Signal, ...] = get_args(Signal)

FIRST, WINDOW = 500, 200
"Documents to compare with, where the languages of the training are not known; and the last ones, which are compared."

FIRST_REVIEWED, WINDOW_REVIEWED = 100, 50
"The same for documents that reviewers have finished."

STEP = 20
"New documents between two looks."

STREAM, FALSE_ALARMS = 5_000, 0.05
"Among so many documents in any order there is a false alarm of any signal with this probability at most."

MOST = 20
"Categories that are tested, those whose share has changed most: the others cannot be the least probable."

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
    """Compares the last documents of one version of a tagger with others. languages: of its training, if known.

    Languages are compared with these, everything else with the first documents: suggestions for documents that a
    tagger has learned from are better than for others. Only the last STREAM documents are looked at.
    """

    def __init__(self, languages: Mapping[str, int] | None = None) -> None:
        self.languages, self.count = languages, 0
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
        return {**{name: [*looks] for name, looks in self._looks.items()}, "accepted": _reviews(accepted)}

    def starts(self, name: Signal) -> int:
        """Documents, or reviewed documents, before the first look at a signal."""
        if name == "accepted":
            return FIRST_REVIEWED + WINDOW_REVIEWED
        return WINDOW if self.languages and name == "language" else FIRST + WINDOW

    def _look(self, at: int, window: Sequence[Record]) -> Iterator[tuple[Signal, Look]]:
        if at >= self.starts("language"):
            yield "language", _language(at, window, self.languages or Counter(each.language for each in self._first))
        if at >= self.starts("label"):
            labels, confidences = self._summary
            yield "label", _label(at, window, labels)
            if any(record.confidences for record in self._first):
                unsure, first = ({"": sum(map(_is_unsure, records))} for records in (window, self._first))
                p, _, before, now = most_changed(unsure, len(window), first, FIRST)
                yield "unsure", Look(at, now, before, p)
                means = [*map(_mean_confidence, window)]
                p = ranks_differ(means, confidences)
                yield "confidence", Look(at, fmean(means), fmean(confidences), p)

    @cached_property
    def _summary(self) -> tuple[Counter[str], list[float]]:
        """Labels and confidences of the first documents, once all of them are there."""
        return _label_counts(self._first), [*map(_mean_confidence, self._first)]


def _language(at: int, window: Sequence[Record], before: Mapping[str, int]) -> Look:
    now, others = Counter(record.language for record in window), sum(before.values())
    main = max(sorted(before), key=lambda code: before[code])
    change = most_changed(now, len(window), before, others)
    return Look(at, now[main] / len(window), before[main] / others, *change)


def _label(at: int, window: Sequence[Record], first: Counter[str]) -> Look:
    now = _label_counts(window)
    value, before = max(now.values(), default=0) / len(window), max(first.values(), default=0) / FIRST
    if not now:
        return Look(at, value, before, 1.0)
    return Look(at, value, before, *most_changed(now, len(window), first, FIRST, rises=True))


def _label_counts(records: Sequence[Record]) -> Counter[str]:
    return Counter(label for record in records for label in set(record.labels))


def _is_unsure(record: Record) -> bool:
    return max(record.confidences, default=0.0) < LIKELY


def _mean_confidence(record: Record) -> float:
    return sum(record.confidences) / len(record.confidences) if record.confidences else 0.0


def _reviews(accepted: Sequence[float]) -> list[Look]:
    first, looks = accepted[:FIRST_REVIEWED], list[Look]()
    start = max(FIRST_REVIEWED + WINDOW_REVIEWED, len(accepted) - STREAM)
    for at in range(-(-start // STEP) * STEP, len(accepted) + 1, STEP):
        window = accepted[at - WINDOW_REVIEWED : at]
        looks.append(Look(at, fmean(window), fmean(first), ranks_differ(window, first)))
    return looks


def most_changed(
    now: Mapping[str, int], documents: int, before: Mapping[str, int], others: int, *, rises: bool = False
) -> tuple[float, str, float, float]:
    """The category whose share changed least probably: Fisher's exact test, times the number of categories.

    Returns how probable such a change of any category is at most, the category, its share before and now.

    now, before: how many of `documents` and of `others` are in each category, at least one in all. rises: ask only for
    larger shares.

    Of 4 and 4 documents, "a" has all and none: one of the 70 ways to draw 4 of 8, or two with the opposite, times 2
    categories.

    >>> p, *change = most_changed({"a": 4}, 4, {"b": 4}, 4)
    >>> round(70 * p, 6), change, round(70 * most_changed({"a": 4}, 4, {"b": 4}, 4, rises=True)[0], 6)
    (4.0, ['a', 0.0, 1.0], 2.0)
    """
    from scipy.stats import hypergeom

    names = sorted({*now, *before})
    counts = np.array([[sample.get(name, 0) for name in names] for sample in (now, before)])
    shares = counts / [[documents], [others]]
    risen = shares[0] - shares[1]
    tested = np.argsort(-risen if rises else -abs(risen), kind="stable")[:MOST]
    drawn = hypergeom(documents + others, counts[:, tested].sum(axis=0), documents)
    p = drawn.sf(counts[0, tested] - 1)
    if not rises:
        p = 2 * np.minimum(p, drawn.cdf(counts[0, tested]))
    best = int(np.argmin(p))
    was, is_ = shares[::-1, tested[best]].tolist()
    return min(1.0, float(p[best]) * len(names)), names[tested[best]], was, is_


def ranks_differ(now: Sequence[float], before: Sequence[float]) -> float:
    """How probable a difference of ranks as large as this one is (Mann and Whitney 1947, with ties).

    >>> ranks_differ([1.0, 1.0], [1.0]), ranks_differ(range(50), range(100, 150)) < 1e-15
    (1.0, True)
    """
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(now, before, method="asymptotic").pvalue)
