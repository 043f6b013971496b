"""Estimate recall from candidates drawn at random from below the suggestions."""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

SUGGESTIONS = 20
"Number of suggestions for a document, of which the first ones are shown at once."

SHOWN_FROM = 0.05
"Least confidence of a suggestion that is shown at once; the best is always shown."

DEPTH = 100
"Number of candidates of a document, with the suggestions; one is drawn at random from those not shown at once."

RANDOM_SHARE = 0.2
"Share of the documents for which a candidate is drawn."


class Recall(NamedTuple):
    """Estimated share of the right labels among the first candidates that are shown as suggestions.

    low, high: its 95% interval. drawn: number of candidates drawn at random that the estimate comes from.
    """

    value: float
    low: float
    high: float
    drawn: int


def describe_right(total: int, suggested: int, added: int) -> str:
    """Say how the right labels so far were found: as suggestions, by hand, the others as candidates drawn at random.

    >>> describe_right(total=4, suggested=3, added=1)
    'of the 4 right labels so far, 75% were suggested; 1 was added by hand'
    """
    if not total:
        return "none so far"
    share, drawn = 100 * suggested / total, total - suggested - added
    return (
        f"of the {total:,} right labels so far, {share:.0f}% were suggested; {added:,} "
        f"{_count_was(added)} added by hand{f', {drawn:,} {_count_was(drawn)} drawn at random' if drawn else ''}"
    )


def describe_recall(recall: Recall) -> str:
    """Say the estimate and its interval, in a clause that follows `describe_right`."""
    return (
        f"of those among the first {DEPTH} candidates, {100 * recall.value:.0f}% are suggested, between "
        f"{100 * recall.low:.0f} and {100 * recall.high:.0f}: estimated from {recall.drawn:,} that "
        f"{_count_was(recall.drawn)} drawn at random"
    )


def _count_was(count: int) -> str:
    return "was" if count == 1 else "were"


def draw_candidate(document: str, below: Sequence[int], share: float) -> int | None:
    """Return one of the places of candidates that are not shown as suggestions of a document, or None for none.

    document: id that seeds the choice, so that a document looks the same whenever it is opened. share: share of the
    documents for which one is drawn.

    >>> draw_candidate("d", [], 1.0), draw_candidate("d", [20], 1.0), draw_candidate("d", [20], 0.0)
    (None, 20, None)
    """
    rng = random.Random(document)
    return None if rng.random() >= share or not below else rng.choice(below)


def estimate_recall(right: int, documents: int, drawn: Sequence[tuple[int, bool]]) -> Recall | None:
    """Estimate the recall of the suggestions among the first candidates; None if nothing was drawn, or nothing right.

    right: number of accepted suggestions of these documents. drawn: for each candidate drawn at random, how many there
    were to draw from, and whether it is right.

    The share of right candidates below the suggestions is that among the drawn ones, each weighted by the number that
    it stands for. Times the mean number of candidates below, and the number of documents, it gives the missed labels;
    recall is right / (right + missed). The interval is that of the share (Wilson 1927), which holds for few, too.

    Two right suggestions a document; one in ten of the 80 candidates below is right, so eight are missed.

    >>> recall = estimate_recall(20, 10, [(80, True), *[(80, False)] * 9])
    >>> recall.value, recall.low < 0.2 < recall.high
    (0.2, True)
    """
    if not drawn or not (right or any(is_right for _, is_right in drawn)):
        return None
    below = sum(drawn_from for drawn_from, _ in drawn)
    share = sum(drawn_from for drawn_from, is_right in drawn if is_right) / below
    least, most = wilson_interval(share, len(drawn))
    missed = [documents * rate * below / len(drawn) for rate in (share, most, least)]
    value, low, high = (right / (right + count) if right + count else 1.0 for count in missed)
    return Recall(value, low, high, len(drawn))


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Return the 95% interval of a share that was seen in `count` cases (Wilson 1927).

    None of 10: from 0 to z² / (10 + z²) = 3.8416 / 13.8416.

    >>> [round(bound, 4) for bound in wilson_interval(0.0, 10)]
    [0.0, 0.2775]
    """
    z = 1.96  # 95% of a normal distribution lie within this many standard deviations
    square = z * z
    middle, width = share + square / (2 * count), z * math.sqrt((share * (1 - share) + square / (4 * count)) / count)
    scale = 1 + square / count
    return max(0.0, (middle - width) / scale), min(1.0, (middle + width) / scale)
