"""Rank candidates by a combiner that was learned from labelled documents. A step of a ranking."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.candidate_features import CandidateFeatures
from tagwright.combining.candidate_ranker import CandidateRanker, follow_labels
from tagwright.combining.features import FIXED_SUM, GROUPS
from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Contributions, Step, centre_contributions, divide_sum, sum_groups
from tagwright.errors import ConfigError
from tagwright.types import Label, Mask, Run

KIND = "learned step"
"What the manifest of a saved `LearnedCombiner` says."


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
        described = self.described.chosen(pool, run)
        head = run.keep(described)
        scores = self.ranker.predict(self.described.describe(pool, head)) + self.bias[head.labels]
        return replace(run, confidences=None, none=None).rescored(_with_others(run, described, scores))

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:
        """Return what each stage and group of features adds to the scores of the candidates that are ranked anew.

        Each feature is compared with the mean candidate of the document. What the fixed sum adds is divided among its
        stages. Together with a constant, the same for all candidates of a document, the contributions are the score.
        """
        head = run.keep(self.described.chosen(pool, run))
        added, _ = self.ranker.contributions(self.described.describe(pool, head))
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
        bias = follow_labels(self.bias, before, labels)
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
