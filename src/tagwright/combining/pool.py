"""Pool the candidates of all retrievers, with the results of every stage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Self

import numpy as np

from tagwright.combining.fusion import reciprocal_ranks
from tagwright.core.checked import AtLeastOne, Checked
from tagwright.errors import ConfigError
from tagwright.types import Background, Document, Doubles, Floats, Run, Stage


@dataclass(frozen=True, kw_only=True)
class PoolOptions(Checked):
    """Which candidates of a document are ranked. Raises ConfigError for a value that cannot work."""

    limit: AtLeastOne | None = None
    "Maximum number of candidates per document, the best by reciprocal rank fusion of the retrievers; None: all."

    exclude: tuple[str, ...] = ()
    "Retrievers whose candidates are ranked only if another retriever finds them too."

    def check(self, retrievers: Sequence[str]) -> None:
        """Raise ConfigError if all retrievers are excluded, or an unknown one."""
        if not set(self.exclude) < set(retrievers):
            named = f"{', '.join(self.exclude)}, expected some of the retrievers {', '.join(retrievers)}, but not all"
            raise ConfigError(f"the pool excludes {named}")


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """The candidates of a batch of documents with the results of every stage: what the steps of a ranking see.

    run: the candidates, scored by the number of retrievers that found them, or by reciprocal ranks if the pool has a
    limit; the run of the retriever if there is only one. found: the run of each retriever. stages, readings: all
    stages, retrievers first, and their readings of the documents.
    """

    documents: Sequence[Document]
    run: Run
    found: Mapping[str, Run]
    stages: Mapping[str, Stage]
    readings: Mapping[str, Any]
    is_part: bool = False
    "Whether other steps have stages of their own, which are not shown here."
    _scores: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)
    _trust: dict[str, Floats | None] = field(default_factory=dict, init=False, repr=False)
    _evidence: list[Callable[[], Run]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        found: Mapping[str, Run],
        stages: Mapping[str, Stage],
        readings: Mapping[str, Any],
        options: PoolOptions = PoolOptions(),
    ) -> Self:
        """Return the union of the runs of all retrievers, within the limit of the options."""
        runs = [run for name, run in found.items() if name not in options.exclude]
        if options.limit is not None:
            return cls(documents, reciprocal_ranks(runs).top(options.limit), found, stages, readings)
        return cls(documents, Run.union(runs) if len(runs) > 1 else runs[0], found, stages, readings)

    @property
    def matching_names(self) -> list[str]:
        """Return the stages that match names."""
        return [name for name, stage in self.stages.items() if stage.matches_names]

    def scores(self, stage: str) -> Floats:
        """Return the score of each candidate of `run` by a stage, (suggestions,). Computed once, and only if needed."""
        if stage not in self._scores:
            self._scores[stage] = self.scores_of(stage, self.run)
        return self._scores[stage]

    def scores_of(self, stage: str, candidates: Run) -> Floats:
        """Return the score of each of these candidates by a stage, (suggestions,).

        A retriever that finds nothing in a document knows nothing of its candidates: their scores are 0. By itself a
        classifier would score them by its constant, and so a text of which it knows no word by how frequent labels are.
        """
        scores = self.stages[stage].score(self.readings[stage], candidates)
        if (run := self.found.get(stage)) is None:
            return scores
        return np.where((np.diff(run.indptr) > 0)[candidates.rows], scores, np.float32(0))

    def has_scored(self, stage: str) -> bool:
        """Whether the scores of a stage are known already."""
        return stage in self._scores

    def remember(self, stage: str, scored: Run) -> None:
        """Keep the scores of a stage that scored only some candidates; 0 is the score of the others."""
        self._scores[stage] = scored.scores_of(self.run)

    def ranking(self, stage: str) -> Run:
        """Return the run of a retriever, or the pool ranked by a re-ranker.

        Candidates with score 0 by a re-ranker are left out, unless its scores are normally distributed.
        """
        if stage in self.found:
            return self.found[stage]
        run = self.run.rescored(self.scores(stage))
        return run if self.stages[stage].distribution == "normal" else run.keep(run.scores > 0)

    def trust(self, stage: str, weight: float) -> Floats | None:
        """Return how well the stage knows each document's language, (documents,), computed once: see `Stage.trust`."""
        if stage not in self._trust:
            self._trust[stage] = self.stages[stage].trust(self.readings[stage], weight)
        return self._trust[stage]

    def background(self, stage: str, texts: Sequence[str]) -> Background | None:
        """Return how near the documents are to texts in general, see `Stage.background`; None if a stage has none."""
        return self.stages[stage].background(self.readings[stage], texts)

    def keep_evidence(self, evidence: Callable[[], Run]) -> None:
        """Keep how a weighted sum computes the mean evidence of the stages, for confidences of few labels."""
        self._evidence[:] = [cache(evidence)]  # asked for by the steps, and by whether any label fits

    def evidence(self, candidates: Run) -> Floats:
        """Return the mean evidence of the stages for these candidates, (suggestions,), by the weights of the sum.

        Raises ConfigError where no weighted sum has ranked the pool.
        """
        if not self._evidence:
            raise ConfigError("confidences of few labels are those of a weighted sum, which is missing; learn them")
        return self._evidence[0]().scores_of(candidates)

    def best_evidence(self) -> Doubles | None:
        """Return the mean evidence of the stages for the best candidate, (documents,); None without a weighted sum.

        None too where other steps have stages of their own: the evidence is then not what ranks.
        """
        if self.is_part or not self._evidence:
            return None
        total = self._evidence[0]().top(1)
        return np.asarray(np.bincount(total.rows, total.scores, len(total)), np.float64)

    def without(self, *names: str) -> Self:
        """Return the same candidates without these stages."""
        found = {name: run for name, run in self.found.items() if name not in names}
        stages = {name: stage for name, stage in self.stages.items() if name not in names}
        return replace(self, found=found, stages=stages, is_part=True)
