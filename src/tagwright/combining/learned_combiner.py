"""Rank candidates by a combiner that was learned from labelled documents. A step of a ranking.

Below: the model of the combiner, logistic regression with boosted trees and label biases, and how it is fitted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.candidate_features import GROUPS, CandidateFeatures, Features
from tagwright.combining.confidence import fit_platt, sigmoid
from tagwright.combining.pool import CandidatePool
from tagwright.combining.ranking_trees import BoostedTrees
from tagwright.combining.steps import FIXED_SUM, Contributions, Step
from tagwright.errors import ConfigError
from tagwright.types import Doubles, Floats, Label, Longs, Mask, Run, places_of


@dataclass(frozen=True, eq=False)
class LearnedCombiner(Step):
    """Rank the best candidates anew; the others follow in the order that they have.

    described: computes the features of candidates. ranker: scores the features. bias: (labels,) added to the score of
    each label. Trained by auto/ranker.py.
    """

    described: CandidateFeatures
    ranker: CandidateRanker
    bias: NDArray[np.float64]

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> tuple[str, ...]:
        """Raise ConfigError unless the stages are the same as in training."""
        groups = {name.partition(": ")[0] for name in self.ranker.names}
        stages = {*retrievers, *rerankers}
        missing = groups - stages - set(GROUPS)
        if other := (stages - groups) | missing:
            raise ConfigError(
                f"the combiner was trained with other stages (different: {', '.join(sorted(other))}); train it again"
            )
        return ()

    def apply(self, pool: CandidatePool, run: Run) -> Run:
        """Rank the candidates by score."""
        described = self.described.is_described(pool, run)
        head = run.keep(described)
        scores = self.ranker.predict(self.described.describe(pool, head)) + self.bias[head.labels]
        return replace(run, confidences=None, none=None).rescored(_with_others(run, described, scores))

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:
        """Return what each stage and group of features adds to the scores of the candidates that are ranked anew.

        Each feature is compared with the mean candidate of the document. What the fixed sum adds is divided among its
        stages. Together with a constant, the same for all candidates of a document, the contributions are the score.
        """
        head = run.keep(self.described.is_described(pool, run))
        added = self.ranker.contributions(self.described.describe(pool, head))
        added = centre_contributions(head, np.column_stack([added, self.bias[head.labels]]))
        groups = sum_groups((*self.ranker.names, "label: bias"), added)
        shares, groups[FIXED_SUM] = divide_sum(groups[FIXED_SUM], before.aligned(head))
        for name, share in shares.items():
            groups[name] = groups[name] + share
        return Contributions(head, tuple(groups), np.stack(list(groups.values()), axis=1))

    def describe(self, stages: Collection[str], before: str = "") -> str:  # noqa: ARG002
        """Describe the stages and the model in one line."""
        model = "logistic regression and trees" if self.ranker.trees else "logistic regression"
        return f"{', '.join(stages)}; combined by {model} over {len(self.ranker.names)} features"

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary; parameters of single labels are kept by id."""
        bias = np.append(self.bias, 0.0)[places_of(labels, before)]  # of a new label -1, the 0 at the end
        return replace(self, described=self.described.with_labels(before, labels), bias=bias)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the step of a saved state, for the same labels."""
        described = CandidateFeatures.from_state(state["described"], labels)
        return cls(described, CandidateRanker.from_state(state["ranker"]), state["bias"])


def _with_others(everything: Run, described: Mask, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """(suggestions,) the new scores of the described candidates; the others follow them, in the order that they have.

    The first of the others stands 1 below the worst of a document, those after it as far below as they were.
    """
    rows, documents = everything.rows, len(everything)
    worst = np.full(documents, np.inf)
    np.minimum.at(worst, rows[described], scores)
    first = np.full(documents, -np.inf)
    np.maximum.at(first, rows[~described], everything.scores[~described])
    joined = np.empty(len(rows))
    joined[described] = scores
    above = np.where(np.isfinite(worst), worst, 0.0) - first - 1.0
    joined[~described] = everything.scores[~described] + above[rows[~described]]
    return joined


def centre_contributions(candidates: Run, added: Doubles) -> Doubles:
    """(suggestions, features) beside the mean candidate of the document: what is the same for all becomes 0.

    >>> centre_contributions(Run.from_rows([{1: 2.0, 2: 1.0}]), np.array([[5.0, 3.0], [5.0, 1.0]])).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    sizes = np.maximum(np.diff(candidates.indptr), 1)
    means = [np.bincount(candidates.rows, column, len(candidates)) / sizes for column in added.T]
    return added - np.stack(means, axis=1)[candidates.rows] if means else added


def sum_groups(names: Collection[str], added: Doubles) -> dict[str, Doubles]:
    """Add up the features of each group: "svm: score" and "svm: reciprocal rank" are of the group "svm".

    >>> added = np.array([[0.5, 1.0, 0.25]])
    >>> {name: each.tolist() for name, each in sum_groups(["svm: score", "dense: score", "svm: rank"], added).items()}
    {'svm': [0.75], 'dense': [1.0]}
    """
    sums = dict[str, Doubles]()
    for name, column in zip(names, added.T, strict=True):
        group = name.partition(": ")[0]
        sums[group] = sums[group] + column if group in sums else column.copy()
    return sums


def divide_sum(whole: Doubles, parts: Mapping[str, Doubles]) -> tuple[dict[str, Doubles], Doubles]:
    """Divide what a sum adds among its parts, in proportion to each; returns the shares and what is left.

    Where the sum lowers a score, or all its parts are 0, none of them is to blame, and all is left.

    >>> shares, left = divide_sum(np.array([6.0, -1.0]), {"tfidf": np.array([1.0, 1.0]), "dense": np.array([2.0, 0.0])})
    >>> {name: each.tolist() for name, each in shares.items()}, left.tolist()
    ({'tfidf': [2.0, 0.0], 'dense': [4.0, 0.0]}, [0.0, -1.0])
    """
    positive = {name: np.maximum(part, 0.0) for name, part in parts.items()}
    total = sum(positive.values(), np.zeros(len(whole)))
    divisible = (whole > 0) & (total > 0)
    rate = np.divide(whole, total, out=np.zeros(len(whole)), where=divisible)
    return {name: rate * part for name, part in positive.items()}, np.where(divisible, 0.0, whole)


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

    def contributions(self, features: Floats) -> Doubles:
        """Return what each feature adds, (rows, features). With the bias they sum exactly to the log odds."""
        return np.asarray((features - self.mean) / self.deviation * self.weight, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRanker:
    """Score candidates by features. names: of the features, in order. trees: None if they do not help."""

    names: tuple[str, ...]
    linear: Logistic
    trees: BoostedTrees | None = None

    def predict(self, features: Features) -> Doubles:
        """Return the scores, (suggestions,), by the features of the training."""
        return self.linear.predict(features.values) + (self.trees.predict(features.values) if self.trees else 0.0)

    def contributions(self, features: Features) -> Doubles:
        """Return what each feature adds to each score, (suggestions, features).

        The contributions of a candidate and a constant, the same for all, add up to its score.
        """
        added = self.linear.contributions(features.values)
        return added + self.trees.contributions(features.values) if self.trees else added

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the ranker of a saved state."""
        trees = state["trees"]
        return cls(tuple(state["names"]), Logistic(**state["linear"]), trees and BoostedTrees(**trees))


def fit_logistic(features: Floats, right: Mask, base: int, penalty: float) -> Logistic:
    """Logistic regression that is shrunk towards one feature alone, so that few labels change little.

    features: (rows, features); right: (rows,) whether each row is right. base: the feature to rely on without other
    evidence; its weight and the bias are not penalised. penalty: factor of the sum of squared weights of all other
    standardised features, which is added to the sum of cross-entropies. If all rows are right, or none, or there are
    none, only the base has a weight.
    """
    from sklearn.linear_model import LogisticRegression

    alone = np.zeros(features.shape[1])
    alone[base] = 1.0
    if not len(features):
        return Logistic(np.zeros(len(alone)), np.ones(len(alone)), alone, 0.0)
    mean, deviation = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    flat = deviation < 1e-6  # such features are ignored
    deviation = np.where(flat, 1.0, deviation)
    if right.all() or not right.any():
        return Logistic(mean, deviation, alone, 0.0)
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
