"""Score candidates by their features with logistic regression and trees, and say what each feature added."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagwright.combining.features import Features
from tagwright.combining.ranking_trees import BoostedTrees
from tagwright.core.saved import read_array, read_manifest, write_arrays, write_manifest
from tagwright.errors import ModelError
from tagwright.types import Doubles, Floats, Mask

FREE = 1e3
"The scale of the base feature, in standard deviations: at this scale the penalty hardly affects its weight."

FLAT = 1e-6
"A feature that varies less among the training candidates tells nothing."


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Log odds of a candidate being right: bias + sum of weight * (feature - mean) / deviation.

    mean, deviation, weight: (features,) float64. The deviation of a feature that tells nothing is 1, its weight 0.
    """

    mean: Doubles
    deviation: Doubles
    weight: Doubles
    bias: float

    def predict(self, features: Floats) -> Doubles:
        """(rows,) the log odds."""
        slope = self.weight / self.deviation
        return np.asarray(features @ slope - float(self.mean @ slope) + self.bias, np.float64)

    def contributions(self, features: Floats) -> tuple[Doubles, float]:
        """(rows, features) what each feature added, exactly, and the bias: together the log odds."""
        return (features - self.mean) / self.deviation * self.weight, self.bias


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRanker:
    """Scores candidates by their features. names: of the features, in order. trees: None where they do not pay."""

    names: tuple[str, ...]
    linear: Logistic
    trees: BoostedTrees | None = None

    def predict(self, features: Features) -> Doubles:
        """(suggestions,) the scores. Raises ValueError for other features than it was trained on."""
        values = self._checked(features)
        return self.linear.predict(values) + (self.trees.predict(values) if self.trees else 0.0)

    def contributions(self, features: Features) -> tuple[Doubles, float]:
        """(suggestions, features) what each feature added to each score, and what is the same for all.

        The contributions of a candidate and the constant add up to its score.
        """
        values = self._checked(features)
        added, constant = self.linear.contributions(values)
        if not self.trees:
            return added, constant
        more, first = self.trees.contributions(values)
        return added + more, constant + first

    def save(self, folder: Path) -> None:
        """Write the arrays and the names of the features into an existing folder."""
        columns = np.stack([self.linear.mean, self.linear.deviation, self.linear.weight])
        write_arrays(folder, {"linear": columns, "bias": np.array([self.linear.bias])})
        if self.trees:
            (folder / "trees").mkdir()
            self.trees.save(folder / "trees")
        write_manifest(folder, "candidate ranker", {"features": list(self.names), "trees": self.trees is not None})

    @classmethod
    def load(cls, folder: Path) -> CandidateRanker:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        manifest = read_manifest(folder, "candidate ranker")
        names, trees = manifest.get("features"), manifest.get("trees")
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names) and isinstance(trees, bool)):
            raise ModelError(f"{folder}: its manifest does not name its features; save the model again")
        mean, deviation, weight = read_array(folder, "linear", np.float64, (3, len(names)))
        if not (deviation > 0).all():
            raise ModelError(f"{folder / 'linear.npy'}: is damaged (a deviation is not positive); save the model again")
        linear = Logistic(mean, deviation, weight, float(read_array(folder, "bias", np.float64, (1,))[0]))
        return cls(tuple(names), linear, BoostedTrees.load(folder / "trees", len(names)) if trees else None)

    def _checked(self, features: Features) -> Floats:
        if features.names != self.names:
            other = sorted(set(features.names) ^ set(self.names))
            raise ValueError(f"the ranker knows other features than it is given: {', '.join(other) or 'in this order'}")
        return features.values


def fit_logistic(features: Floats, right: Mask, base: int, penalty: float) -> Logistic:
    """Logistic regression that is shrunk towards one feature alone, so that few labels change little.

    features: (rows, features); right: (rows,) which are right. base: the feature that all trust is put in as long as
    there is no evidence: its weight and the bias are free. penalty: how much the sum of the squared weights of all the
    other standardised features counts against the sum of the cross-entropies. All rows alike: the base stays alone.
    """
    from sklearn.linear_model import LogisticRegression

    mean, deviation = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    flat = deviation < FLAT
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
