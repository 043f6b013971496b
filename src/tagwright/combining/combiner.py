"""The interface of combiners: rank candidate labels by the scores of several stages (retrievers and re-rankers)."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol, Self

from tagwright.combining.pool import CandidatePool
from tagwright.types import Label, Run


class Combiner(Protocol):
    """Rank a pool of candidates by the scores of all stages; a combiner may also estimate confidences.

    To add one, write a frozen dataclass of typed options, and register it in your package as an entry point in the
    group `tagwright.combiners`. `save` stores the options, and arrays if there are any. This example ranks each
    candidate by its highest score in any stage:

        @dataclass(frozen=True, kw_only=True)
        class Best:
            "Ranks candidates by their highest score in any stage, times the factor. Scores must share a scale."
            factor: float = 1.0

            estimates_confidence = False

            def check(self, retrievers, rerankers):
                if len(retrievers) + len(rerankers) < 2:
                    raise ConfigError("this combiner needs two stages or more; add one, or use the default combiner")

            def combine(self, pool):
                best = np.max([pool.scores(name) for name in pool.stages], axis=0)
                return pool.run.rescored(self.factor * best)  # with confidences: rescored(scores, confidences)

            def describe(self, stages):
                return f"the best of {', '.join(stages)}"

            def with_labels(self, before, labels):
                return self  # no parameter belongs to a label

            def save(self, folder):
                write_manifest(folder, "best score", {"options": asdict(self)})

            @classmethod
            def load(cls, folder, labels):
                return read_options(folder, cls, read_manifest(folder, "best score").get("options"))
    """

    @property
    def estimates_confidence(self) -> bool:
        """Whether `combine` returns confidences."""
        ...

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError if the combiner cannot combine these stages. Called when a tagger is made."""
        ...

    def combine(self, pool: CandidatePool) -> Run:
        """Return the ranking, with confidences if `estimates_confidence`. It may have candidates added or left out.

        A stage computes scores only when `pool.scores` is called for it.
        """
        ...

    def describe(self, stages: Collection[str]) -> str:
        """Return one line that describes the combination, such as "exact_match 0.5, tfidf 1; combined by evidence"."""
        ...

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary. Parameters of a label are kept if both vocabularies have its id."""
        ...

    def save(self, folder: Path) -> None:
        """Write the combiner into an existing empty folder; the caller moves the folder to its place atomically."""
        ...

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Load a combiner saved for the same labels. Raises ModelError when files are missing or damaged."""
        ...
