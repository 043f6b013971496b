"""Rank candidates by features, with logistic regression, boosted trees and label biases, and explain the scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tagwright.combining.confidence import fit_platt, sigmoid
from tagwright.combining.features import Features
from tagwright.combining.ranking_trees import BoostedTrees
from tagwright.types import Doubles, Floats, Label, Longs, Mask, places_of

FREE = 1e3
"The scale of the base feature, in standard deviations: at this scale the penalty hardly affects its weight."


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Log odds of a candidate being right: bias + sum of weight * (feature - mean) / deviation.

    mean, deviation, weight: (features,) float64. An ignored feature has deviation 1 and weight 0.
    """

    mean: Doubles
    deviation: Doubles
    weight: Doubles
    bias: float

    def predict(self, features: Floats) -> Doubles:
        """Return the log odds, (rows,)."""
        slope = self.weight / self.deviation
        products = np.ascontiguousarray(features * slope)  # `@` rounds by the number of rows
        return np.asarray(products.sum(axis=1) - float(self.mean @ slope) + self.bias, np.float64)

    def contributions(self, features: Floats) -> tuple[Doubles, float]:
        """Return what each feature adds, (rows, features), and the bias. They sum exactly to the log odds."""
        return (features - self.mean) / self.deviation * self.weight, self.bias


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRanker:
    """Score candidates by features. names: of the features, in order. trees: None if they do not help."""

    names: tuple[str, ...]
    linear: Logistic
    trees: BoostedTrees | None = None

    def predict(self, features: Features) -> Doubles:
        """Return the scores, (suggestions,). Raises ValueError for other features than in training."""
        values = self._checked(features)
        return self.linear.predict(values) + (self.trees.predict(values) if self.trees else 0.0)

    def contributions(self, features: Features) -> tuple[Doubles, float]:
        """Return what each feature adds to each score, (suggestions, features), and a constant.

        The contributions of a candidate and the constant add up to its score.
        """
        values = self._checked(features)
        added, constant = self.linear.contributions(values)
        if not self.trees:
            return added, constant
        more, first = self.trees.contributions(values)
        return added + more, constant + first

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the ranker of a saved state."""
        trees = state["trees"]
        return cls(tuple(state["names"]), Logistic(**state["linear"]), trees and BoostedTrees(**trees))

    def _checked(self, features: Features) -> Floats:
        if features.names != self.names:
            other = sorted(set(features.names) ^ set(self.names))
            raise ValueError(f"features differ from those in training: {', '.join(other) or 'their order'}")
        return features.values


def fit_logistic(features: Floats, right: Mask, base: int, penalty: float) -> Logistic:
    """Logistic regression that is shrunk towards one feature alone, so that few labels change little.

    features: (rows, features); right: (rows,) whether each row is right. base: the feature to rely on without other
    evidence; its weight and the bias are not penalised. penalty: factor of the sum of squared weights of all other
    standardised features, which is added to the sum of cross-entropies. If all rows are right, or none, or there are
    none, only the base has a weight.
    """
    from sklearn.linear_model import LogisticRegression

    if not len(features):
        weight = np.zeros(features.shape[1])
        weight[base] = 1.0
        return Logistic(np.zeros(len(weight)), np.ones(len(weight)), weight, 0.0)
    mean, deviation = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    flat = deviation < 1e-6  # such features are ignored
    deviation = np.where(flat, 1.0, deviation)
    if right.all() or not right.any():
        weight = np.zeros(len(mean))
        weight[base] = 1.0
        return Logistic(mean, deviation, weight, 0.0)
    scaled = np.where(flat, 0.0, (features - mean) / deviation)
    scaled[:, base] *= FREE
    model = LogisticRegression(C=1 / (2 * penalty), solver="newton-cholesky", max_iter=100).fit(scaled, right)
    weight = np.where(flat, 0.0, model.coef_[0])
    weight[base] *= FREE
    return Logistic(mean, deviation, weight, float(model.intercept_[0]))


STEPS = 20
"Newton steps: each at most 1, so that they do not overshoot."


def fit_label_bias(scores: Doubles, right: Mask, labels: Longs, count: int, shrinkage: float = 1.0) -> Doubles:
    """Return the bias to add to the scores of each label, (count,), on the scale of the scores.

    scores: (suggestions,), computed without the labels of these documents. right: whether each is right. labels: the
    label of each, below `count`. A logistic curve maps scores s to log odds a s + b; the biases d minimise the sum of
    cross-entropies of sigmoid(a s + b + d) + shrinkage / 2 * d^2. Returns d / a; zeros without suggestions.
    """
    if not len(scores):
        return np.zeros(count)
    curve = fit_platt(scores, right, np.ones(len(scores)))
    if curve.slope <= 0:
        return np.zeros(count)
    logits = curve.slope * scores + curve.intercept
    return shrunk_bias(logits, right, labels, count, shrinkage) / curve.slope


def shrunk_bias(logits: Doubles, right: Mask, labels: Longs, count: int, shrinkage: float = 1.0) -> Doubles:
    """Most probable bias of each label's log odds, (count,), under a normal prior of variance 1 / shrinkage.

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
    """Return the biases for another vocabulary, by label id; 0 for a new label."""
    return np.append(bias, 0.0)[places_of(labels, before)]  # of a new label -1, the 0 at the end
