"""Combine stages by a weighted sum, also with the labels of another stage after it (FuTex 3.3)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, Self, TypeAlias

import numpy as np

from tagwright.combining.agreement import Agreements
from tagwright.combining.combiner import Combiner, Contributions
from tagwright.combining.confidence import fit_sum, sigmoid
from tagwright.combining.fusion import (
    Weight,
    append_labels,
    reciprocal_ranks,
    standard_scores,
    summed_evidence,
    zscores,
)
from tagwright.combining.label_free import MANY_LABELS, label_free, label_free_of_few
from tagwright.combining.pool import CandidatePool
from tagwright.core.checked import AtLeastOne, Checked, NotNegative, Positive
from tagwright.core.saved import read_manifest, read_options, write_manifest
from tagwright.errors import ConfigError
from tagwright.types import Floats, Label, Mask, Run

By: TypeAlias = Literal["evidence", "scores", "ranks"]
Confidence: TypeAlias = Literal["none", "label_free", "fitted"]


@dataclass(frozen=True, kw_only=True)
class WeightedSum(Checked, Combiner):
    """Ranks candidates by a weighted sum over the stages. A combiner; a single stage keeps its own scores."""

    by: By = "evidence"
    """evidence, scores: every stage scores the candidates of all, and the logarithms of the evidence, or the standard
    scores, are added. ranks: reciprocal ranks are added."""

    weights: Mapping[str, NotNegative] = field(default_factory=dict)
    "Stage -> weight; 1 for a stage that is not named. A stage of weight 0 is not made to score."

    language_trust: Mapping[str, str] = field(default_factory=dict)
    """Stage -> the stage by whose trust its weight is multiplied, document by document: how well that one's encoder
    knows the language of the text. Where several encoders are judged, that is multiplied by their trust over the
    greatest, so that one that hardly knows the language is silent beside one that does."""

    agreements: Agreements = field(default_factory=Agreements)
    "The agreement of stages on the documents to which the weights were fitted; of none where they were not."

    rank_constant: NotNegative = 60.0
    "60 is the constant of Cormack et al. 2009; 0 gives FuTex Eq. 9."

    confidence: Confidence = "none"
    """label_free: how sure the ranking is, by a model that was made for the zero-shot stages and has seen no label of
    the corpus (combining/label_free.py). fitted: by `curve`."""

    curve: tuple[float, float] = (0.0, 0.0)
    """fitted: slope and intercept of a logistic curve over standard scores, learnt from labelled documents. A score is
    standardised by mean and deviation of the first hundred candidates of its document."""

    slope_of_scores: float = 0.0
    "fitted: what the scores themselves add to the log odds; they tell texts in which nothing stands out."

    labels_per_document: Positive | None = None
    "How many labels a document has as a rule, if that is known: confidences are much better then."

    few_labels: AtLeastOne | None = None
    "label_free: how many labels there are, if so few that standard scores say little; see `label_free_for`."

    @property
    def estimates_confidence(self) -> bool:
        """Whether the ranking has confidences."""
        return self.confidence != "none"

    def weight(self, stage: str) -> float:
        """Return the weight of a stage."""
        return self.weights.get(stage, 1.0)

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError if all stages have weight 0, or `language_trust` names a stage that is missing."""
        stages = (*retrievers, *rerankers)
        if unknown := set(self.language_trust.values()) - set(stages):
            names = ", ".join(sorted(unknown))
            raise ConfigError(f"language_trust names {names}, the stages are {', '.join(stages)}; name one of these")
        if not any(map(self.weight, stages)):
            raise ConfigError("every stage has weight 0: nothing ranks the candidates")

    def combine(self, pool: CandidatePool) -> Run:
        """The candidates under the weighted sum of all stages whose weight is not 0."""
        return self.with_confidences(self.ranked(pool), pool)

    def ranked(self, pool: CandidatePool) -> Run:
        """The same without confidences."""
        voters = self._voters(pool)
        if len(voters) == 1 and pool.run is pool.found.get(voters[0]):
            return pool.run
        weights = self._weights(voters, pool)
        if len(voters) == 1 and self.by != "ranks":
            return pool.run.rescored(pool.scores(voters[0]))
        return self._sum(voters, weights, pool)

    def with_confidences(self, ranked: Run, pool: CandidatePool) -> Run:
        """Return a ranking of the pool, and perhaps of more labels, with confidences if the sum estimates them."""
        if self.confidence == "none":
            return ranked
        if self.confidence == "fitted":
            return self.confident(ranked)
        if self.few_labels is None:
            return replace(ranked, confidences=label_free(pool, ranked, self.labels_per_document))
        confidences = label_free_of_few(pool, ranked, self.evidence(pool, ranked), self.few_labels)
        return replace(ranked, confidences=confidences)

    def explain(self, pool: CandidatePool) -> Contributions:
        """Return what each stage adds to each score: together they are the score."""
        voters = self._voters(pool)
        sums = [self.ranked(pool)]
        if len(voters) > 1:
            weights = self._weights(voters, pool)
            sums = [self._sum([name], [weight], pool) for name, weight in zip(voters, weights, strict=True)]
        added = [each.scores_of(pool.run).astype(np.float64) for each in sums]
        return Contributions(pool.run, tuple(voters), np.stack(added, axis=1))

    @property
    def weighted_sum(self) -> Self:
        """Itself."""
        return self

    def calibrated(self, ranked: Run, right: Mask) -> Self:
        """Return the sum with confidences by a curve that is learned from its ranking."""
        of_standard, of_scores, intercept = fit_sum(ranked, zscores(ranked), right)
        return replace(self, confidence="fitted", curve=(of_standard, intercept), slope_of_scores=of_scores)

    def confident(self, ranked: Run) -> Run:
        """Return a ranking of the sum with confidences by the fitted curve."""
        slope, intercept = self.curve
        logits = slope * zscores(ranked) + self.slope_of_scores * ranked.scores + intercept
        return replace(ranked, confidences=sigmoid(logits).astype(np.float32))

    def evidence(self, pool: CandidatePool, ranked: Run) -> Floats:
        """(suggestions,) the mean evidence of the stages, by weight. ranked: by this sum."""
        voters = self._voters(pool)
        total = ranked.scores  # of several stages that are combined by evidence, the score is its sum
        if self.by != "evidence" or len(voters) == 1:
            by_evidence = replace(self, by="evidence")._sum(voters, self._weights(voters, pool), pool)
            total = by_evidence.scores_of(ranked)
        return total / np.float32(sum(map(self.weight, voters)))

    def _voters(self, pool: CandidatePool) -> list[str]:
        """The stages that count."""
        return [name for name in pool.stages if self.weight(name)]

    def _sum(self, voters: Sequence[str], weights: Sequence[Weight], pool: CandidatePool) -> Run:
        if self.by == "ranks":
            return reciprocal_ranks(list(map(pool.ranking, voters)), weights, self.rank_constant, pool.run)
        scores = list(map(pool.scores, voters))
        if self.by == "scores":
            return standard_scores(pool.run, scores, weights)
        return summed_evidence(pool.run, scores, [pool.stages[name].distribution for name in voters], weights)

    def describe(self, stages: Collection[str]) -> str:
        """The stages with their weights: "exact_match 0.5, tfidf 1; combined by evidence"."""
        weights = ", ".join(f"{name} {self.weight(name):.3g}" for name in stages)
        fitted = f"; fitted: {self.agreements.reason}" if self.agreements.documents else ""
        return f"{weights}; combined by {self.by}{fitted}" if len(stages) > 1 else weights

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:  # noqa: ARG002
        """Return itself: it has no parameters of single labels. The label-free model depends on how many there are."""
        return self.label_free_for(len(labels)) if self.confidence == "label_free" else self

    def label_free_for(self, labels: int) -> Self:
        """Return the sum with the confidences of the model that has seen no label of the corpus."""
        return replace(self, confidence="label_free", few_labels=labels if 0 < labels < MANY_LABELS else None)

    def save(self, folder: Path) -> None:
        """Write the options."""
        write_manifest(folder, "weighted sum", {"options": asdict(self)})

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:  # noqa: ARG003
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        return read_options(folder, cls, read_manifest(folder, "weighted sum").get("options"))

    def _weights(self, voters: Sequence[str], pool: CandidatePool) -> list[Weight]:
        """Return the weight of each stage, per candidate if trust differs."""
        judges = [name for name in pool.stages if name in self.language_trust.values()]
        alone = len(judges) == 1  # where another encoder may know the language, nothing is warned of
        trusted = _compared({name: pool.trust(name, self.weight(name) if alone else 0.0) for name in judges})

        def weight(name: str) -> Weight:
            trust = trusted.get(self.language_trust.get(name, ""))
            return self.weight(name) if trust is None else self.weight(name) * trust[pool.run.rows]

        return list(map(weight, voters))


def _compared(trusted: Mapping[str, Floats | None]) -> dict[str, Floats | None]:
    """The trust of each stage, (documents,), times its share of the greatest; itself for one stage.

    >>> found = _compared({"dense": np.float32([0.2, 1.0]), "dense-2": np.float32([0.8, 0.9])})
    >>> {name: [round(share, 2) for share in each.tolist()] for name, each in found.items()}
    {'dense': [0.05, 1.0], 'dense-2': [0.8, 0.81]}
    """
    known = [each for each in trusted.values() if each is not None]
    if len(known) < 2:
        return dict(trusted)
    most = np.max(known, axis=0)
    return {name: None if each is None else each * each / most for name, each in trusted.items()}


@dataclass(frozen=True, kw_only=True)
class AppendOptions(Checked):
    """What follows, and after how many. Raises ConfigError for a value that cannot work."""

    by: str = ""
    "The retriever whose labels follow in their own order; it counts for nothing else."

    keep: AtLeastOne | None = None
    "How many labels of the sum stay before those that follow; None: all. Those that do not stay come last."


@dataclass(frozen=True)
class AppendLabels(Combiner):
    """Ranks candidates by a weighted sum; the labels of another stage follow (FuTex Example 3.1). A combiner.

    The sum estimates the confidences of all by the logarithm of their rank: a curve over 1 / rank fits them worse.
    """

    first: WeightedSum
    options: AppendOptions

    @property
    def estimates_confidence(self) -> bool:
        """Whether the sum does."""
        return self.first.estimates_confidence

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError where the stage that follows is no retriever, or the sum does not fit the others."""
        by = self.options.by
        if by not in retrievers:
            raise ConfigError(f'by is "{by}", expected a retriever: {", ".join(retrievers)}')
        self.first.check([name for name in retrievers if name != by], rerankers)

    def combine(self, pool: CandidatePool) -> Run:
        """The labels of the sum, then those of the stage that follows, scored 1 / rank."""
        rest, after = pool.without(self.options.by), pool.found[self.options.by]
        ranked = self.first.ranked(rest)
        both = append_labels(ranked if self.options.keep is None else ranked.top(self.options.keep), after)
        run = append_labels(both, ranked)
        return replace(run, confidences=self.first.with_confidences(_by_log_rank(run), rest).confidences)

    def calibrated(self, ranked: Run, right: Mask) -> Self:
        """Return a copy with confidences by a curve that is learned from its ranking."""
        return replace(self, first=self.first.calibrated(_by_log_rank(ranked), right))

    def label_free_for(self, labels: int) -> Self:
        """Return a copy with the confidences of the model that has seen no label of the corpus."""
        return replace(self, first=self.first.label_free_for(labels))

    def describe(self, stages: Collection[str]) -> str:
        """The sum, and what follows."""
        by = self.options.by
        return f"{self.first.describe([name for name in stages if name != by])}; followed by {by}"

    @property
    def weighted_sum(self) -> WeightedSum:
        """The sum, in which the stage whose labels follow counts nothing."""
        return replace(self.first, weights={**self.first.weights, self.options.by: 0.0})

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy with the inner sum for another vocabulary."""
        return replace(self, first=self.first.with_labels(before, labels))

    def save(self, folder: Path) -> None:
        """Write the options of both."""
        options = {"by": self.options.by, "keep": self.options.keep}
        write_manifest(folder, "weighted sum, followed", {"options": options})
        (folder / "first").mkdir()
        self.first.save(folder / "first")

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        options = read_options(folder, AppendOptions, read_manifest(folder, "weighted sum, followed").get("options"))
        return cls(WeightedSum.load(folder / "first", labels), options)


def _by_log_rank(run: Run) -> Run:
    """The run of `append_labels`, whose scores are 1 / rank, with -log rank as scores."""
    return replace(run, scores=np.log(run.scores))
