"""Rank candidates by a combiner that was learned from labelled documents."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.candidate_features import KIND, CandidateFeatures
from tagwright.combining.candidate_ranker import CandidateRanker, follow_labels
from tagwright.combining.combiner import Combiner, Contributions, centred, divided, grouped
from tagwright.combining.confidence import ScoreMap, fit_score_map, load_score_map, save_score_map
from tagwright.combining.features import FIXED_SUM, GROUPS
from tagwright.combining.pool import CandidatePool
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.saved import read_array, read_manifest, write_arrays, write_manifest
from tagwright.errors import ConfigError, ModelError
from tagwright.types import Label, Mask, Run


@dataclass(frozen=True, eq=False)
class LearnedCombiner(Combiner):
    """Re-rank the best candidates of the fixed sum; the others follow in its order. A combiner.

    described: computes the features of candidates. ranker: scores the features. bias: (labels,) added to the score of
    each label. confidence: maps scores to probabilities of being right; None if these are not estimated. Trained by
    auto/combiner.py.
    """

    described: CandidateFeatures
    ranker: CandidateRanker
    bias: NDArray[np.float64]
    confidence: ScoreMap | None = None

    @property
    def estimates_confidence(self) -> bool:
        """Whether it has a map from scores to probabilities."""
        return self.confidence is not None

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError unless the stages are the same as in training."""
        self.described.first.check(retrievers, rerankers)
        groups = {name.partition(": ")[0] for name in self.ranker.names}
        stages = {*retrievers, *rerankers}
        missing = groups - stages - set(GROUPS)
        if other := (stages - groups) | missing:
            raise ConfigError(
                f"the combiner was trained with other stages (different: {', '.join(sorted(other))}); train it again"
            )

    def combine(self, pool: CandidatePool) -> Run:
        """Rank the candidates by score, with confidences if estimated."""
        everything, described = self.described.ranked(pool)
        head = everything.keep(described)
        scores = self.ranker.predict(self.described.describe(pool, head)) + self.bias[head.labels]
        scores = _with_others(everything, described, scores)
        return everything.rescored(scores, self.confidence(scores) if self.confidence else None)

    def explain(self, pool: CandidatePool) -> Contributions:
        """Return what each stage and group of features adds to the scores of the candidates that are ranked anew.

        Each feature is compared with the mean candidate of the document. What the fixed sum adds is divided among its
        stages. Together with a constant, the same for all candidates of a document, the contributions are the score.
        """
        head = self.described.candidates(pool)
        added, _ = self.ranker.contributions(self.described.describe(pool, head))
        added = centred(head, np.column_stack([added, self.bias[head.labels]]))
        groups = grouped((*self.ranker.names, "label: bias"), added)
        first = self.described.first.explain(pool)
        shares, groups[FIXED_SUM] = divided(groups[FIXED_SUM], first.aligned(head) if first else {})
        for name, share in shares.items():
            groups[name] = groups[name] + share
        return Contributions(head, tuple(groups), np.stack(list(groups.values()), axis=1))

    @property
    def learned_features(self) -> CandidateFeatures:
        """The features that the ranker scores."""
        return self.described

    def calibrated(self, ranked: Run, right: Mask) -> Self:
        """Return a copy with confidences by a map that is learned from its ranking."""
        return replace(self, confidence=fit_score_map(ranked.scores, right, ranked.rows))

    def describe(self, stages: Collection[str]) -> str:
        """Describe the stages and the model in one line."""
        model = "logistic regression and trees" if self.ranker.trees else "logistic regression"
        return f"{', '.join(stages)}; combined by {model} over {len(self.ranker.names)} features"

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary; parameters of single labels are kept by id."""
        bias = follow_labels(self.bias, before, labels)
        return replace(self, described=self.described.with_labels(before, labels), bias=bias)

    def save(self, folder: Path) -> None:
        """Write the bias, and features, ranker and confidence into folders of their own."""
        write_arrays(folder, {"bias": self.bias})
        for name in ("features", "ranker"):
            (folder / name).mkdir()
        self.described.save(folder / "features")
        self.ranker.save(folder / "ranker")
        save_score_map(self.confidence, folder / "confidence")
        write_manifest(folder, "learned combiner", {"confidence": self.confidence is not None})

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is missing or damaged."""
        confident = read_manifest(folder, "learned combiner").get("confidence")
        if not isinstance(confident, bool):
            raise ModelError(f"{folder}: its manifest does not say whether it has confidences; save the tagger again")
        features = folder / "features"
        if (features / "first" / "features" / "first" / "features").exists():
            raise ModelError(f"{folder}: has learned combiners within each other, expected at most two; train it again")
        first = load_first(features / "first", read_manifest(features, KIND).get("first"), labels)
        return cls(
            CandidateFeatures.load(features, labels, first),
            CandidateRanker.load(folder / "ranker"),
            read_array(folder, "bias", np.float64, (len(labels),)),
            load_score_map(folder / "confidence") if confident else None,
        )


def load_first(folder: Path, kind: object, labels: Sequence[Label]) -> Combiner:
    """Load what ranks first for another combiner: a weighted sum or a learned combiner.

    kind: the name of its class; None: a sum. Raises ModelError for any other kind.
    """
    if kind in ("WeightedSum", None):
        return WeightedSum.load(folder, labels)
    if kind == "LearnedCombiner":
        return LearnedCombiner.load(folder, labels)
    raise ModelError(f"{folder}: is damaged (no combiner ranks first); save the tagger again")


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
