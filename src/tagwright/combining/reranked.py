"""Re-rank the first candidates of another combiner by a stage that is too slow for all of them."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from tagwright.combining.combiner import Combiner, Contributions
from tagwright.combining.confidence import ScoreMap, load_score_map, save_score_map
from tagwright.combining.learned_combiner import load_first
from tagwright.combining.pool import CandidatePool
from tagwright.core.checked import AtLeastOne, Checked, NotNegative
from tagwright.core.saved import read_manifest, read_options, write_manifest
from tagwright.errors import ConfigError, option, setting
from tagwright.types import Doubles, Floats, Label, Run


@dataclass(frozen=True, kw_only=True)
class RerankOptions(Checked):
    """How far the stage is trusted. Raises ConfigError for a value that cannot work."""

    by: str = ""
    "The re-ranker. Its scores are positive; 0 says nothing of a candidate."

    candidates: AtLeastOne = 20
    "How many of the first candidates of a document it scores."

    weight: NotNegative = 1.0
    "What a point of its scores adds to the score of the first combiner."

    center: NotNegative = 0.0
    "The score of the stage that adds nothing; less lowers a candidate."


@dataclass(frozen=True)
class Reranked(Combiner):
    """A combiner that ranks by another one, then adds the scores of a re-ranker to the first candidates.

    A candidate without a score keeps its place in the first ranking; a document without any keeps ranking and
    confidences. confidence: maps scores to probabilities of being right; None: the confidences of the first combiner
    are given by rank, the surest to what is first now.
    """

    first: Combiner
    options: RerankOptions
    confidence: ScoreMap | None = None

    @property
    def estimates_confidence(self) -> bool:
        """Whether the first combiner does."""
        return self.first.estimates_confidence

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError where the stage is no re-ranker, or the first combiner does not fit the others.

        The first is a weighted sum or a learned combiner.
        """
        if getattr(self.first, "weighted_sum", None) is not self.first and not getattr(
            self.first, "learned_features", None
        ):
            kind = type(self.first).__name__
            raise ConfigError(f"a language model cannot rank again what {kind} combines; train it anew")
        if self.options.by not in rerankers:
            known = ", ".join(rerankers) or "none"
            raise ConfigError(f'"{self.options.by}" is to rank again, the re-rankers are {known}')
        self.first.check(retrievers, [name for name in rerankers if name != self.options.by])

    def combine(self, pool: CandidatePool) -> Run:
        """Rank the candidates by the first combiner, then the best of them again."""
        ranked, by = self.first.combine(pool.without(self.options.by)), self.options.by
        head = ranked.top(self.options.candidates)
        said = Run(head.indptr, head.labels, pool.stages[by].score(pool.readings[by], head))
        pool.remember(by, said)
        again = reranked(ranked, said.scores_of(ranked), self.options)
        if ranked.confidences is None:
            return again
        sure = ranked.confidences[np.lexsort((-ranked.confidences, ranked.rows))]
        if self.confidence:
            answered = np.bincount(said.rows, said.scores > 0, len(said)) > 0
            sure = np.where(answered[again.rows], self.confidence(again.scores), sure).astype(np.float32)
        return replace(again, confidences=sure)

    def explain(self, pool: CandidatePool) -> Contributions:
        """Return what each stage or group of features of the first combiner adds to each score, and the stage.

        The stage scores the first candidates of the ranking, and no others, unless it has.
        """
        added, by = self.first.explain(pool.without(self.options.by)), self.options.by
        if not pool.has_scored(by):
            self.combine(pool)
        assert added, "of a weighted sum or a learned combiner"
        said = Run(pool.run.indptr, pool.run.labels, pool.scores(by)).scores_of(added.candidates)
        columns = np.column_stack([added.added, points(said, self.options)])
        return Contributions(added.candidates, (*added.names, by), columns)

    def check_can_learn(self) -> None:
        """Raise ConfigError: how far the model is trusted fits the old ranking."""
        raise ConfigError(
            "how to combine the stages is not learned where a language model ranks again; train a tagger without it "
            f"({option('reviews', 'FILE')}), and add the model when it suggests, {setting('llm.model', 'NAME')}"
        )

    def describe(self, stages: Collection[str]) -> str:
        """The first combiner, and what ranks again."""
        options = self.options
        first = self.first.describe([name for name in stages if name != options.by])
        return f"{first}; the first {options.candidates} again by {options.by} {options.weight:g}"

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy with the first combiner for another vocabulary."""
        return replace(self, first=self.first.with_labels(before, labels))

    def save(self, folder: Path) -> None:
        """Write the options, and the first combiner and the confidence into folders of their own."""
        kind, confident = type(self.first).__name__, self.confidence is not None
        write_manifest(folder, "reranked", {"options": asdict(self.options), "first": kind, "confidence": confident})
        (folder / "first").mkdir()
        self.first.save(folder / "first")
        save_score_map(self.confidence, folder / "confidence")

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is missing or damaged."""
        manifest = read_manifest(folder, "reranked")
        confidence = load_score_map(folder / "confidence") if manifest.get("confidence") is True else None
        options = read_options(folder, RerankOptions, manifest.get("options"))
        return cls(load_first(folder / "first", manifest.get("first"), labels), options, confidence)


def points(said: Floats, options: RerankOptions) -> Doubles:
    """(suggestions,) what the scores of the stage add; nothing for a score of 0.

    >>> points(np.array([0, 11, 1], np.float32), RerankOptions(weight=0.5, center=6.0)).tolist()
    [0.0, 2.5, -2.5]
    """
    return np.asarray(np.where(said > 0, options.weight * (said.astype(np.float64) - options.center), 0.0), np.float64)


def reranked(ranked: Run, said: Floats, options: RerankOptions) -> Run:
    """The candidates with what the scores of the stage (suggestions,) add to theirs; without confidences."""
    return ranked.rescored(ranked.scores + points(said, options))
