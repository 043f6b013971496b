"""Learn a bias for each label: how much more often people choose it than its scores suggest.

Every collection has labels that its people like and others that they avoid, whatever stages say. A label that few
documents bring up keeps a bias near 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagwright.combining.confidence import fit_platt, sigmoid
from tagwright.types import Doubles, Label, Longs, Mask

STEPS = 20
"Newton steps: each at most 1, so that they do not overshoot."


def fit_label_bias(scores: Doubles, right: Mask, labels: Longs, count: int, shrinkage: float = 1.0) -> Doubles:
    """(count,) what to add to the scores of each label, on their own scale.

    scores: (suggestions,), of documents whose labels had no part in them. right: which are right. labels: the label of
    each, below `count`. With scores s mapped to log odds a s + b by a logistic curve, the biases d minimise the sum of
    cross-entropies of sigmoid(a s + b + d) + shrinkage / 2 * d^2; what is returned is d / a.
    """
    curve = fit_platt(scores, right, np.ones(len(scores)))
    if curve.slope <= 0:
        return np.zeros(count)
    logits = curve.slope * scores + curve.intercept
    return shrunk_bias(logits, right, labels, count, shrinkage) / curve.slope


def shrunk_bias(logits: Doubles, right: Mask, labels: Longs, count: int, shrinkage: float = 1.0) -> Doubles:
    """(count,) the most probable bias of each label's log odds under a normal prior of variance 1 / shrinkage.

    At the optimum, shrinkage * bias is the sum of right - sigmoid(logit + bias) over the label's candidates: one
    right candidate of log odds 0 gives bias = 1 - sigmoid(bias), which is 0.4011; a label without candidates 0.

    >>> shrunk_bias(np.zeros(1), np.array([True]), np.array([1]), 3).round(4).tolist()
    [0.0, 0.4011, 0.0]
    """
    bias = np.zeros(count)
    for _ in range(STEPS):
        odds = sigmoid(logits + bias[labels])
        slope = np.bincount(labels, right - odds, count) - shrinkage * bias
        curvature = np.bincount(labels, odds * (1 - odds), count) + shrinkage
        bias += np.clip(slope / curvature, -1.0, 1.0)
    return bias


def follow_labels(bias: Doubles, before: Sequence[Label], labels: Sequence[Label]) -> Doubles:
    """The biases of the labels of the same ids; 0 for a new label."""
    place = {label.id: number for number, label in enumerate(before)}
    old = np.array([place.get(label.id, len(before)) for label in labels], np.int64)
    return np.append(bias, 0.0)[old]
