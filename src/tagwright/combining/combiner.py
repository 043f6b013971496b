"""The interface of a combiner, which makes one ranking from the scores of several stages."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol, Self

from tagwright.combining.pool import CandidatePool
from tagwright.types import Label, Run


class Combiner(Protocol):
    """Rank a pool of candidates by the scores of the stages, and perhaps estimate confidences.

    A new combiner is a frozen dataclass of typed options, which its package registers as an entry point in the group
    `tagwright.combiners`. This one ranks by the best score of any stage; its `save` and `load` store the options, and
    its arrays if it has any:

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
                return self  # it has no parameters of single labels

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
        """Raise ConfigError if it cannot combine these stages."""
        ...

    def combine(self, pool: CandidatePool) -> Run:
        """Return a ranking of the pool, with confidences if estimated. It may add candidates, or leave some out.

        A stage computes scores only when `pool.scores` is called for it.
        """
        ...

    def describe(self, stages: Collection[str]) -> str:
        """Describe the combination of these stages in a line: "exact_match 0.5, tfidf 1; combined by evidence"."""
        ...

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary; parameters of single labels are kept by id."""
        ...

    def save(self, folder: Path) -> None:
        """Write into an existing empty folder, which the caller puts in place atomically."""
        ...

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is missing or damaged."""
        ...
