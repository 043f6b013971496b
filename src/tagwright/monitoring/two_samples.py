"""Tests of whether recent documents and earlier ones were drawn alike: shares, numbers, and projections of words.

Each compares the sample with all ways to draw as many documents from the two samples together. So the probabilities
hold for documents of any distribution, as long as their order says nothing.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tagwright.types import Doubles, Longs

MOST = 20
"Categories that are tested, those whose share has changed most: the others cannot be the least probable."


class Change(NamedTuple):
    """A category whose share changed, and how probable such a change of any category is at most."""

    category: str
    p: float
    before: float
    now: float


def most_changed(
    now: Mapping[str, int], documents: int, before: Mapping[str, int], others: int, *, rises: bool = False
) -> Change:
    """The category whose share changed least probably: Fisher's exact test, times the number of categories.

    now, before: how many of `documents` and of `others` are in each category, at least one in all. rises: ask only for
    larger shares.

    Of 4 and 4 documents, "a" has all and none: one of the 70 ways to draw 4 of 8, or two with the opposite, times 2
    categories.

    >>> change = most_changed({"a": 4}, 4, {"b": 4}, 4)
    >>> round(70 * change.p, 6), round(70 * most_changed({"a": 4}, 4, {"b": 4}, 4, rises=True).p, 6)
    (4.0, 2.0)
    """
    names = sorted({*now, *before})
    counts = np.array([[each.get(name, 0) for name in names] for each in (now, before)])
    shares = counts / [[documents], [others]]
    risen = shares[0] - shares[1]
    tested = np.argsort(-risen if rises else -abs(risen), kind="stable")[:MOST]
    more, fewer = _tails(counts[0, tested], documents, counts[:, tested].sum(axis=0), documents + others)
    p = more if rises else 2 * np.minimum(more, fewer)
    best = int(np.argmin(p))
    was, is_ = shares[::-1, tested[best]].tolist()
    return Change(names[tested[best]], min(1.0, float(p[best]) * len(names)), was, is_)


def ranks_differ(now: Sequence[float], before: Sequence[float]) -> float:
    """How probable a difference of ranks as large as this one is (Mann and Whitney 1947, with ties).

    >>> ranks_differ([1.0, 1.0], [1.0]), ranks_differ(range(50), range(100, 150)) < 1e-15
    (1.0, True)
    """
    from scipy.special import ndtr

    both, n, m = np.array([*now, *before], float), len(now), len(before)
    _, places, ties = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[places]
    variance = n * m / 12 * (n + m + 1 - float((ties**3 - ties).sum()) / ((n + m) * (n + m - 1)))
    if variance <= 0:
        return 1.0
    distance = abs(float(ranks[:n].sum()) - n * (n + m + 1) / 2) - 0.5
    return min(1.0, 2 * float(ndtr(-distance / np.sqrt(variance))))


def separation(now: Sequence[int], before: Sequence[int], bits: int) -> tuple[float, float]:
    """How far bits tell two samples apart, from 0 to 1, and how probable as much is: Hotelling's test.

    The first is the R2 of a regression of the sample on the bits. When the samples are drawn alike it has a beta
    distribution, nearly so for bits.

    A bit that is always 1 in one sample and 0 in the other tells them apart.

    >>> separation([1, 1, 1], [0, 0, 0], bits=1)[0]
    1.0
    """
    from scipy.special import betainc

    rows = np.array([*now, *before], np.int64)[:, None] >> np.arange(bits) & 1
    values: Doubles = rows - rows.mean(axis=0)
    sample = np.repeat([1.0, 0.0], [len(now), len(before)])
    sample -= sample.mean()
    scatter, covariance = values.T @ values, values.T @ sample
    rank = int((scatter.diagonal() > 0).sum())
    if rank == 0 or rank >= len(rows) - 1:
        return 0.0, 1.0
    scatter += 1e-9 * np.eye(bits)  # bits that are always equal
    explained = float(covariance @ np.linalg.solve(scatter, covariance) / (sample @ sample))
    explained = min(1.0, round(explained, 6))
    return explained, float(betainc((len(rows) - 1 - rank) / 2, rank / 2, 1 - explained))


def _tails(found: Longs, drawn: int, marked: Longs, total: int) -> tuple[Doubles, Doubles]:
    """Probability of at least, and at most, `found` marked among those drawn from all: hypergeometric.

    found, marked: (categories,). scipy.stats has it too, but takes seconds to load.
    """
    x, k = np.arange(drawn + 1), marked[:, None]
    logs = _log_factorials(total)
    possible = (x <= k) & (drawn - x <= total - k)
    left, rest = np.maximum(k - x, 0), np.maximum(total - k - drawn + x, 0)
    ways = logs[k] - logs[x] - logs[left] + logs[total - k] - logs[drawn - x] - logs[rest]
    ways -= logs[total] - logs[drawn] - logs[total - drawn]
    p = np.where(possible, np.exp(np.where(possible, ways, 0.0)), 0.0)
    return (p * (x >= found[:, None])).sum(axis=1), (p * (x <= found[:, None])).sum(axis=1)


@lru_cache
def _log_factorials(most: int) -> Doubles:
    from scipy.special import gammaln

    found: Doubles = gammaln(np.arange(most + 1) + 1.0)
    return found
