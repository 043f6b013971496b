"""What makes one ranking of the scores of several stages: the interface of a combiner."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol, Self

from tagwright.combining.pool import CandidatePool
from tagwright.types import Label, Run


class Combiner(Protocol):
    """Ranks a pool of candidates by what the stages of a tagger say of them, and may say how sure it is.

    A new combiner is a frozen dataclass of typed options, which its package registers as an entry point in the group
    `tagwright.combiners`. This one ranks by the best score of any stage; its `save` and `load` store the options, and
    arrays if it has learnt some:

        @dataclass(frozen=True, kw_only=True)
        class Best:
            "Candidates by their greatest score, times the factor."
            factor: float = 1.0

            estimates_confidence = False

            def check(self, retrievers, rerankers):
                if len(retrievers) + len(rerankers) < 2:
                    raise ConfigError("the best of one stage is that stage")

            def combine(self, pool):
                best = np.max([pool.scores(name) for name in pool.stages], axis=0)
                return pool.run.rescored(self.factor * best)  # or rescored(scores, confidences)

            def describe(self, stages):
                return f"the best of {', '.join(stages)}"

            def with_labels(self, before, labels):
                return self  # it has learnt nothing about single labels

            def save(self, folder):
                write_manifest(folder, "best score", {"options": asdict(self)})

            @classmethod
            def load(cls, folder, labels):
                return read_options(folder, cls, read_manifest(folder, "best score").get("options"))
    """

    @property
    def estimates_confidence(self) -> bool:
        """Whether its rankings have confidences."""
        ...

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError where it does not go with these stages."""
        ...

    def combine(self, pool: CandidatePool) -> Run:
        """The candidates of the pool ranked, with confidences where they are estimated; others may be added, or left.

        A stage whose scores are not asked for with `pool.scores` is not made to score.
        """
        ...

    def describe(self, stages: Collection[str]) -> str:
        """How these stages are combined, in a line: "exact_match 0.5, tfidf 1; combined by evidence"."""
        ...

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """The same over another vocabulary: what is known of single labels follows their ids."""
        ...

    def save(self, folder: Path) -> None:
        """Write into an existing empty folder, which the caller puts in place atomically."""
        ...

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is missing or damaged."""
        ...
