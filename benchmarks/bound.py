"""What DEPL's Theorem 3 says of a neural classifier, from the scores of a sparse one: why a label is hard.

The theorem takes random projections for the neural encoder. It bounds the probability that a document's right label,
which the sparse classifier ranks above other labels, is ranked below one of them once only keywords are left. The bound
is informative where the margin of the sparse classifier is well above what the keywords lose.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagwright.types import Doubles, Floats, Longs, Mask


class Margins(NamedTuple):
    """For every right label of some documents: rows, labels, margin to the next wrong label, wrong labels below.

    margin: infinite where every wrong label is ranked higher, so that no error is possible.
    """

    rows: Longs
    labels: Longs
    margin: Doubles
    below: Longs


class LabelBound(NamedTuple):
    """One label. margin: epsilon, the least of its documents; loss: delta, the greatest; probability: the bound."""

    label: int
    documents: int
    margin: float
    loss: float
    probability: float


def margins(scores: Floats, right: Mask) -> Margins:
    """Definition 2: each right label against the wrong ones that score lower. scores, right: (documents, labels).

    The right label scores 0.7; below it stand 0.4 and 0.1, and 0.4 is the next.

    >>> found = margins(np.array([[0.9, 0.7, 0.4, 0.1]]), np.array([[False, True, False, False]]))
    >>> found.margin.round(4).tolist(), found.below.tolist()
    ([0.3], [2])
    """
    wrong = np.sort(np.where(right, -np.inf, scores), axis=1)  # right labels first, below everything
    rows, labels = np.nonzero(right)
    own = scores[rows, labels].astype(np.float64)
    places = np.fromiter(
        (np.searchsorted(wrong[row], score) for row, score in zip(rows.tolist(), own, strict=True)), np.int64, len(rows)
    )
    below = places - right.sum(axis=1)[rows]
    following = wrong[rows, np.maximum(places - 1, 0)].astype(np.float64)
    margin = np.subtract(own, following, out=np.full(len(rows), np.inf), where=below > 0)
    return Margins(rows, labels, margin, below)


def margins_left(scores: Floats, by_keywords: Floats, right: Mask) -> Doubles:
    """For every right label, in the order of `margins`: its margin by keywords over the same wrong labels, the least.

    Infinite where there are none. That is what Lemma 5 needs of epsilon - delta; it can be below 0.

    By keywords the second label is 0.2 above the third and 0.1 below the fourth.

    >>> scores, right = np.array([[0.9, 0.7, 0.4, 0.1]]), np.array([[False, True, False, False]])
    >>> margins_left(scores, np.array([[0.9, 0.5, 0.3, 0.6]]), right).round(4).tolist()
    [-0.1]
    """
    rows, labels = np.nonzero(right)
    found = np.full(len(rows), np.inf)
    for place, (row, label) in enumerate(zip(rows.tolist(), labels.tolist(), strict=True)):
        below = (scores[row] < scores[row, label]) & ~right[row]
        if below.any():
            found[place] = float(by_keywords[row, label]) - float(by_keywords[row, below].max())
    return found


def error_bound(margin: float, loss: float, wrong: int, dim: int) -> float:
    """Theorem 3: P <= 4 M exp(-(epsilon - delta)^2 d / 50), the probability of any error; 1 where the bound is void.

    margin, loss: epsilon and delta, of unit documents and label weights of norm at most 1. wrong: M, labels ranked
    lower. dim: d. A margin that does not exceed the loss gives no bound. Where epsilon - delta is 10 sqrt(ln M / d),
    the bound is 4 / M; the paper prints 1 / M there.

    epsilon - delta = 1, d = 256, M = 10: 40 e^-5.12.

    >>> round(error_bound(1.2, 0.2, 10, 256), 4)
    0.239
    >>> error_bound(0.2, 0.2, 10, 256), error_bound(math.inf, 0.2, 0, 256)
    (1.0, 0.0)
    """
    if wrong == 0:
        return 0.0
    if margin <= loss:
        return 1.0
    return min(1.0, 4 * wrong * math.exp(-((margin - loss) ** 2) * dim / 50))


def by_label(labels: NDArray[np.integer], found: Doubles, lost: Doubles, below: Longs, dim: int) -> list[LabelBound]:
    """The bound of each label: its least margin, its greatest loss, the most labels below it, over its documents.

    labels, found, lost, below: for every right label of every document: which, its margin, what of it is lost when only
    keywords are left (Definition 1, over the label and the wrong ones), and how many wrong labels stand below it.
    """
    order = np.argsort(labels, kind="stable")
    names, starts, documents = np.unique(labels[order], return_index=True, return_counts=True)
    least = np.minimum.reduceat(found[order], starts).tolist() if len(names) else []
    greatest, wrong = (
        (np.maximum.reduceat(each[order], starts).tolist() if len(names) else []) for each in (lost, below)
    )
    return [
        LabelBound(label, count, margin, max(0.0, loss), error_bound(margin, max(0.0, loss), most, dim))
        for label, count, margin, loss, most in zip(
            names.tolist(), documents.tolist(), least, greatest, wrong, strict=True
        )
    ]


def share_bounded(bounds: list[LabelBound]) -> float:
    """The share of labels with an informative bound: a probability of an error below 1.

    >>> share_bounded([LabelBound(0, 1, 0.9, 0.1, 0.2), LabelBound(1, 1, 0.1, 0.3, 1.0)])
    0.5
    """
    return sum(bound.probability < 1 for bound in bounds) / max(1, len(bounds))
