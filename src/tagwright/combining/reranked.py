"""Re-rank the first candidates by a stage that is too slow for all of them. A step of a ranking."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Contributions, Step
from tagwright.core.checked import AtLeastOne, Checked, NotNegative
from tagwright.errors import ConfigError
from tagwright.types import Doubles, Floats, Run


@dataclass(frozen=True, kw_only=True)
class Reranked(Checked, Step):
    """Add the scores of a re-ranker to those of the first candidates. It permutes confidences, so it follows them.

    A candidate without a score keeps its place; a document without any keeps ranking and confidences. The confidences
    so far are given by rank, the surest to what is first now.
    """

    by: str = ""
    "The re-ranker. Its scores are positive; 0 says nothing of a candidate."

    candidates: AtLeastOne = 20
    "How many of the first candidates of a document it scores."

    weight: NotNegative = 1.0
    "What a point of its scores adds to the score of the ranking before."

    center: NotNegative = 0.0
    "The score of the stage that adds nothing; less lowers a candidate."

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Raise ConfigError where the stage is no re-ranker."""
        if self.by not in rerankers:
            known = ", ".join(rerankers) or "none"
            raise ConfigError(f'"{self.by}" is to rank again, the re-rankers are {known}')
        return (self.by,)

    def apply(self, pool: CandidatePool, run: Run) -> Run:
        """Rank the best candidates again."""
        by, head = self.by, run.top(self.candidates)
        said = Run(head.indptr, head.labels, pool.stages[by].score(pool.readings[by], head))
        pool.remember(by, said)
        again = run.rescored(run.scores + self.points(said.scores_of(run)))
        if run.confidences is None:
            return again
        return replace(again, confidences=run.confidences[np.lexsort((-run.confidences, run.rows))])

    def points(self, said: Floats) -> Doubles:
        """(suggestions,) what the scores of the stage add; nothing for a score of 0.

        >>> Reranked(weight=0.5, center=6.0).points(np.array([0, 11, 1], np.float32)).tolist()
        [0.0, 2.5, -2.5]
        """
        return np.asarray(np.where(said > 0, self.weight * (said.astype(np.float64) - self.center), 0.0), np.float64)

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:
        """Return what each stage or group of features adds to each score, and the stage, if those before are known.

        The stage scores the first candidates of the ranking, and no others, unless it has. What was read for a
        confidence is not said, as it was read of another label.
        """
        if not pool.has_scored(self.by):
            self.apply(pool, run)
        made = before.estimates
        estimates = made and replace(made, by=f"{made.by}; in the order of {self.by}", ranked=run, features={})
        if not before.names:
            return replace(before, estimates=estimates)
        said = Run(pool.run.indptr, pool.run.labels, pool.scores(self.by)).scores_of(before.candidates)
        columns = np.column_stack([before.added, self.points(said)])
        return Contributions(before.candidates, (*before.names, self.by), columns, estimates)

    def describe(self, stages: Collection[str], before: str) -> str:  # noqa: ARG002
        """Return what ranks before, and what ranks again."""
        return f"{before}; the first {self.candidates} again by {self.by} {self.weight:g}"
