"""Pool the candidates of all retrievers, with everything that is known of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tagwright.combining.fusion import reciprocal_ranks
from tagwright.core.checked import AtLeastOne, Checked
from tagwright.errors import ConfigError
from tagwright.types import Document, Floats, Run, Stage


@dataclass(frozen=True, kw_only=True)
class PoolOptions(Checked):
    """Which candidates of a document are ranked. Raises ConfigError for a value that cannot work."""

    limit: AtLeastOne | None = None
    "The most candidates of a document, the best by reciprocal ranks of those who found them; None: all."

    exclude: tuple[str, ...] = ()
    "Retrievers whose candidates are not ranked unless another one finds them too."

    def check(self, retrievers: Sequence[str]) -> None:
        """Raise ConfigError where nothing would be ranked, or a retriever that is excluded is not there."""
        if unknown := set(self.exclude) - set(retrievers):
            raise ConfigError(
                f"the pool excludes {', '.join(sorted(unknown))}, the retrievers are {', '.join(retrievers)}"
            )
        if set(self.exclude) == set(retrievers):
            raise ConfigError(f"the pool excludes every retriever ({', '.join(retrievers)}): nothing is ranked")


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """The candidates of a batch of documents, and all that is known of them: what a combiner ranks.

    run: the candidates, each with the number of retrievers that found it, or its reciprocal ranks where the pool has a
    limit; a single retriever's own run where there is but one. found: what each retriever found on its own. stages,
    readings: all stages, retrievers first, and what each has read of the documents.
    """

    documents: Sequence[Document]
    run: Run
    found: Mapping[str, Run]
    stages: Mapping[str, Stage]
    readings: Mapping[str, Any]
    _scores: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        found: Mapping[str, Run],
        stages: Mapping[str, Stage],
        readings: Mapping[str, Any],
        options: PoolOptions = PoolOptions(),
    ) -> Self:
        """The union of what the retrievers found, within the limit of the options."""
        runs = [run for name, run in found.items() if name not in options.exclude]
        if options.limit is not None:
            return cls(documents, reciprocal_ranks(runs).top(options.limit), found, stages, readings)
        return cls(documents, Run.union(runs) if len(runs) > 1 else runs[0], found, stages, readings)

    def scores(self, stage: str) -> Floats:
        """(suggestions,) the stage's score of each candidate of `run`; the stage is asked once, and only if needed."""
        if stage not in self._scores:
            self._scores[stage] = self.stages[stage].score(self.readings[stage], self.run)
        return self._scores[stage]

    def ranking(self, stage: str) -> Run:
        """What the stage found; of a re-ranker the pool in its order.

        Candidates of which a re-ranker knows nothing are left out: equal zeros are no ranks.
        """
        if stage in self.found:
            return self.found[stage]
        run = self.run.rescored(self.scores(stage))
        return run if self.stages[stage].distribution == "normal" else run.keep(run.scores > 0)

    def trust(self, stage: str, weight: float) -> Floats | None:
        """(documents,) how well the stage knows each document's language: see `Stage.trust`."""
        return self.stages[stage].trust(self.readings[stage], weight)

    def without(self, stage: str) -> Self:
        """The same candidates as if this stage were not there."""
        found = {name: run for name, run in self.found.items() if name != stage}
        return replace(self, found=found, stages={name: each for name, each in self.stages.items() if name != stage})
