"""Candidates of labelled documents in, the ranker that cross-validation prefers out, or none where the sum is better.

Few labels say little: every ranker is shrunk towards the fixed sum, and takes its place only if it is clearly better on
documents that it was not trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.candidate_ranker import CandidateRanker, fit_logistic
from tagwright.combining.features import FIXED_SUM, Features, StageScores
from tagwright.combining.ranking_trees import TreeOptions, grow, lambda_gradients
from tagwright.errors import ConfigError, InputError
from tagwright.types import Longs, Mask, Run

Doubles: TypeAlias = NDArray[np.float64]

Measure: TypeAlias = Callable[[Run, Run], Doubles]
"A ranking and the gold labels in, what each document scores (documents,) out: what the choice goes by."

BASE = f"{FIXED_SUM}: standard score"
"The feature towards which rankers are shrunk."


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinerOptions:
    """Which rankers are tried, and when one replaces the fixed sum. Raises ConfigError for what cannot work."""

    penalties: tuple[float, ...] = (30.0, 100.0, 300.0)
    "How strongly logistic regression is shrunk towards the fixed sum: those that are tried."

    trees: TreeOptions = field(default_factory=TreeOptions)
    "The trees that are tried on top of the logistic regression of the middle penalty."

    folds: int = 5
    "Parts into which the labelled documents are cut; each is scored by rankers that were trained on the others."

    margin: float = 1.0
    "By how many standard errors of the mean difference a ranker must be better than the fixed sum."

    documents: int = 1500
    "At most so many labelled documents are looked at, drawn by the seed: more change little, and take time."

    seed: int = 0
    "Of the folds, of the draw and of the trees."

    def __post_init__(self) -> None:
        if not self.penalties or not all(penalty > 0 for penalty in self.penalties):
            raise ConfigError(f"penalties are {list(self.penalties)}, expected one or more positive numbers")
        if self.folds < 2 or self.documents < 2 or self.margin < 0:
            raise ConfigError(
                f"folds {self.folds}, documents {self.documents}, margin {self.margin}: expected at least 2, 2 and 0"
            )


@dataclass(frozen=True, slots=True)
class Choice:
    """A kind of ranker: logistic regression of this penalty, with trees on top or without, by itself or blended.

    blended: the mean of its standardised score and that of the fixed sum, which steadies what few labels teach.
    """

    penalty: float
    trees: bool = False
    blended: bool = False

    def __str__(self) -> str:
        trees, blended = ", and trees" if self.trees else "", ", with the fixed sum" if self.blended else ""
        return f"logistic regression, penalty {self.penalty:g}{trees}{blended}"


@dataclass(frozen=True, eq=False)
class Examples:
    """Candidates of labelled documents. run: ranked by the fixed sum. features: aligned with it. gold: their labels."""

    run: Run
    features: Features
    gold: Run

    @cached_property
    def right(self) -> Mask:
        """(suggestions,) which candidates are gold labels."""
        return np.asarray(self.gold.scores_of(self.run) > 0, np.bool_)

    @cached_property
    def base(self) -> int:
        """The column of the fixed sum's standard score."""
        return self.features.names.index(BASE)

    def take(self, documents: Longs) -> Examples:
        """Those of some documents, in their order."""
        values = self.features.values[self.suggestions(documents)]
        return Examples(self.run.take(documents), Features(self.features.names, values), self.gold.take(documents))

    def suggestions(self, documents: Longs) -> Longs:
        """The places of the candidates of these documents, one document after the other."""
        places = [np.arange(self.run.indptr[each], self.run.indptr[each + 1]) for each in documents.tolist()]
        return np.concatenate([np.zeros(0, np.int64), *places])


@dataclass(frozen=True, eq=False)
class Validation:
    """What a kind of ranker does on documents that it was not trained on.

    scores: (suggestions,) of the candidates. measured: (documents,) what each document scores.
    """

    scores: Doubles
    measured: Doubles


@dataclass(frozen=True, eq=False)
class FittedCombiner:
    """The outcome. ranker, choice: None where the fixed sum stays.

    validations: of every kind that was tried. fixed: (documents,) what the fixed sum scores. examples: the labelled
    documents that were looked at.
    """

    ranker: CandidateRanker | None
    choice: Choice | None
    validations: Mapping[Choice, Validation]
    fixed: Doubles
    examples: Examples

    @property
    def out_of_fold(self) -> tuple[Doubles, Mask, Longs]:
        """(suggestions,) of the choice: scores by rankers that did not see the document, whether right, and where."""
        if not self.choice:
            raise ValueError("the fixed sum was chosen: it is the same in and out of folds")
        return self.validations[self.choice].scores, self.examples.right, self.examples.run.rows

    @property
    def gain(self) -> float:
        """By how much the choice is better than the fixed sum, on documents that it was not trained on."""
        return float((self.validations[self.choice].measured - self.fixed).mean()) if self.choice else 0.0


def fit_combiner(examples: Examples, measure: Measure, options: CombinerOptions = CombinerOptions()) -> FittedCombiner:
    """The best kind of ranker, trained on all documents; none where it is not clearly better than the fixed sum.

    Documents without gold labels are left out. Raises InputError where fewer than two have any.
    """
    documents = np.flatnonzero(np.diff(examples.gold.indptr) > 0)
    if len(documents) < 2:
        raise InputError(f"{len(documents)} labelled documents: a combiner is trained on two or more; label some")
    drawn = np.random.default_rng(options.seed).permutation(documents)[: options.documents]
    documents = np.sort(drawn)
    examples = examples.take(documents)
    fixed = measure(examples.run, examples.gold)
    validations = cross_validate(examples, list(_choices(options)), measure, options)
    choice = choose(fixed, {kind: found.measured for kind, found in validations.items()}, options.margin)
    ranker = train_ranker(examples, choice, options) if choice else None
    return FittedCombiner(ranker, choice, validations, fixed, examples)


def train_ranker(examples: Examples, choice: Choice, options: CombinerOptions) -> CandidateRanker:
    """A ranker of this kind, trained on all the examples."""
    values, right = examples.features.values, examples.right
    linear, trees = fit_logistic(values, right, examples.base, choice.penalty), None
    if choice.trees and right.any():
        gradients = lambda_gradients(right, examples.run.indptr)
        trees = grow(values, linear.predict(values), gradients, options.trees, options.seed)
    ranker = CandidateRanker(examples.features.names, linear, trees)
    return blend(ranker, examples) if choice.blended else ranker


def blend(ranker: CandidateRanker, examples: Examples) -> CandidateRanker:
    """The ranker with the fixed sum's standard score added, at the weight at which both vary alike."""
    weight = ranker.linear.weight.copy()
    weight[examples.base] += ranker.predict(examples.features).std()
    return replace(ranker, linear=replace(ranker.linear, weight=weight))


def cross_validate(
    examples: Examples, choices: Sequence[Choice], measure: Measure, options: CombinerOptions
) -> dict[Choice, Validation]:
    """Every kind of ranker on documents that it was not trained on: a document's candidates are in one fold only."""
    folds = assign_folds(len(examples.run), options.folds, options.seed)
    scores = {choice: np.zeros(len(examples.run.labels)) for choice in choices}
    for fold in np.unique(folds):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        training, validation = examples.take(inside), examples.take(outside)
        places, trained = examples.suggestions(outside), dict[Choice, CandidateRanker]()
        for choice in choices:
            pure = replace(choice, blended=False)
            if pure not in trained:
                trained[pure] = train_ranker(training, pure, options)
            ranker = blend(trained[pure], training) if choice.blended else trained[pure]
            scores[choice][places] = ranker.predict(validation.features)
    return {
        choice: Validation(each, measure(examples.run.rescored(each), examples.gold)) for choice, each in scores.items()
    }


def assign_folds(documents: int, folds: int, seed: int = 0) -> Longs:
    """(documents,) the fold of each, as equal in size as can be; as many folds as documents where those are fewer."""
    return np.random.default_rng(seed).permutation(np.arange(documents) % min(folds, documents))


def choose(fixed: Doubles, measured: Mapping[Choice, Doubles], margin: float) -> Choice | None:
    """The kind with the best mean, if the mean difference to the fixed sum is above `margin` standard errors.

    fixed, and of each kind: (documents,) what each document scores. The standard error is that of the differences
    document by document: their deviation / sqrt(documents).

    Four documents gain 0.2, 0.1, 0.2, 0.1: the mean 0.15 is 4.5 standard errors of 0.0577 / 2 above 0.

    >>> gains = {Choice(100.0): np.array([0.2, 0.1, 0.2, 0.1])}
    >>> print(choose(np.zeros(4), gains, margin=1.0))
    logistic regression, penalty 100
    >>> print(choose(np.zeros(4), gains, margin=6.0))
    None
    """
    best = max(measured, key=lambda choice: float(measured[choice].mean()))
    difference = measured[best] - fixed
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return best if difference.mean() > max(margin * error, 1e-9) else None


def out_of_fold(folds: Longs, train: Callable[[Longs], Callable[[Longs], StageScores]], candidates: Run) -> Doubles:
    """(suggestions,) the scores of a stage that is trained on labels, of documents whose labels it has not seen.

    folds: (documents,) the fold of each. train: places of documents in, a stage trained on their labels out; it gets
    places of others and scores their candidates, one document after the other.
    """
    scores = np.zeros(len(candidates.labels))
    for fold in np.unique(folds):
        stage = train(np.flatnonzero(folds != fold))
        outside = np.flatnonzero(folds == fold)
        scores[np.isin(candidates.rows, outside)] = stage(outside).scores
    return scores


def _choices(options: CombinerOptions) -> Iterator[Choice]:
    for penalty in options.penalties:
        yield Choice(penalty)
    yield Choice(sorted(options.penalties)[len(options.penalties) // 2], trees=True)
