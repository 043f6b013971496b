"""Estimate recall from candidates drawn at random from below the suggestions."""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

SUGGESTIONS = 20
"Suggestions that are shown."

DEPTH = 100
"Candidates of a document, the suggestions included, from which one is drawn now and then."

RANDOM_SHARE = 0.2
"Share of the documents on which a candidate is drawn."

_Z = 1.96  # of an interval that holds the true value in 95 of 100 cases


class Drawn(NamedTuple):
    """A candidate that was drawn. from_: how many there were below the suggestions; right: whether it was accepted."""

    from_: int
    right: bool


class RightLabels(NamedTuple):
    """How the right labels so far were found. suggested: as suggestions; added: by hand; the others drawn at random."""

    total: int
    suggested: int
    added: int


class Recall(NamedTuple):
    """Share of the right labels among the first candidates that are shown as suggestions, and its 95% interval.

    drawn: candidates that the estimate comes from.
    """

    value: float
    low: float
    high: float
    drawn: int


def describe_right(right: RightLabels) -> str:
    """Say how the right labels so far were found.

    >>> describe_right(RightLabels(total=4, suggested=3, added=1))
    'of the 4 right labels so far, 75% were suggested; 1 was added by hand'
    """
    if not right.total:
        return "none so far"
    share, drawn = 100 * right.suggested / right.total, right.total - right.suggested - right.added
    return (
        f"of the {right.total:,} right labels so far, {share:.0f}% were suggested; {right.added:,} "
        f"{_was(right.added)} added by hand{f', {drawn:,} {_was(drawn)} drawn at random' if drawn else ''}"
    )


def describe_recall(recall: Recall) -> str:
    """Say the estimate with its interval, as a sentence that follows `describe_right`."""
    return (
        f"of those among the first {DEPTH} candidates, {100 * recall.value:.0f}% are suggested, between "
        f"{100 * recall.low:.0f} and {100 * recall.high:.0f}: estimated from {recall.drawn:,} that "
        f"{_was(recall.drawn)} drawn at random"
    )


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def drawn_place(document: str, candidates: int, share: float) -> int | None:
    """The place of the candidate that is shown besides the suggestions of a document, from 0; None for none.

    It follows from the id of the document, so that a document looks the same whenever it is opened.

    >>> drawn_place("d", 20, 1.0), drawn_place("d", 21, 1.0), drawn_place("d", 21, 0.0)
    (None, 20, None)
    """
    rng = random.Random(document)
    if rng.random() >= share or candidates <= SUGGESTIONS:
        return None
    return rng.randrange(SUGGESTIONS, candidates)


def estimate_recall(right: int, documents: int, drawn: Sequence[Drawn]) -> Recall | None:
    """The recall of the suggestions among the first candidates, by the ratio of right ones among those drawn.

    right: suggestions that were accepted on these documents. None where nothing was drawn, or nothing was right.
    The interval is that of the share of right ones (Wilson 1927): it holds for few, too.

    Two right suggestions a document; one in ten of the 80 candidates below is right, so eight are missed.

    >>> found = estimate_recall(20, 10, [Drawn(80, True), *[Drawn(80, False)] * 9])
    >>> found.value, found.low < 0.2 < found.high
    (0.2, True)
    """
    if not drawn:
        return None
    total = sum(each.from_ for each in drawn)
    share = sum(each.from_ for each in drawn if each.right) / total
    low, high = wilson(share, len(drawn))
    if not right and not share:
        return None
    missed = [documents * each * total / len(drawn) for each in (share, high, low)]
    value, least, most = (right / (right + each) if right + each else 1.0 for each in missed)
    return Recall(value, least, most, len(drawn))


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95% interval of a share that was seen in `count` cases (Wilson 1927).

    None of 10: from 0 to z² / (10 + z²) = 3.8416 / 13.8416.

    >>> [round(each, 4) for each in wilson(0.0, 10)]
    [0.0, 0.2775]
    """
    square = _Z * _Z
    middle, width = share + square / (2 * count), _Z * math.sqrt((share * (1 - share) + square / (4 * count)) / count)
    scale = 1 + square / count
    return max(0.0, (middle - width) / scale), min(1.0, (middle + width) / scale)
