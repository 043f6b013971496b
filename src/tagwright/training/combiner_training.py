"""Candidates of labelled documents in, the ranker that cross-validation prefers out, or none where the sum is better.

Few labels say little: rankers are shrunk towards the fixed sum and blended with it, and it stays in their place where
they are clearly worse on documents that they were not trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Annotated, TypeAlias

import numpy as np

from tagwright.combining.candidate_ranker import CandidateRanker, fit_logistic
from tagwright.combining.features import FIXED_SUM, Features, StageScores
from tagwright.combining.label_bias import fit_label_bias
from tagwright.combining.ranking_trees import TreeOptions, grow, lambda_gradients
from tagwright.errors import InputError
from tagwright.fields import Checked, NotNegative, Positive, Range
from tagwright.types import Doubles, Longs, Mask, Run

Measure: TypeAlias = Callable[[Run, Run], Doubles]
"A ranking and the gold labels in, what each document scores (documents,) out: what the choice goes by."

BASE = f"{FIXED_SUM}: standard score"
"The feature towards which rankers are shrunk."


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinerOptions(Checked):
    """Which rankers are tried, and when one replaces the fixed sum. Raises ConfigError for what cannot work.

    The defaults were chosen on train documents of mdn, tib, arxiv and kirja with 10 to 300 labelled documents.
    """

    penalty: Positive = 100.0
    "How strongly logistic regression is shrunk towards the fixed sum."

    trees: TreeOptions = field(default_factory=TreeOptions)
    "The trees on top of it."

    shrinkage: Positive = 1.0
    "How strongly the bias of each label is drawn to 0: the inverse of the variance of its log odds."

    folds: Annotated[int, Range(least=2)] = 5
    "Parts into which the labelled documents are cut; each is scored by rankers that were trained on the others."

    margin: NotNegative = 1.0
    """Of how many standard errors a difference is clear. Few documents cannot show that a ranker is better; those that
    are blended with the fixed sum were clearly worse on none of our corpora, so they stay unless they clearly are."""

    documents: Annotated[int, Range(least=2)] = 1500
    "At most so many labelled documents are looked at, drawn by the seed: more change little, and take time."

    seed: int = 0
    "Of the folds, of the draw and of the trees."


class Choice(Enum):
    """A kind of ranker, the most cautious first: nothing is learned; a blend of both; trees on logistic regression."""

    FIXED = "the fixed sum"
    BLENDED = "trees on logistic regression, blended with the fixed sum, and a bias for each label"
    TREES = "trees on logistic regression, and a bias for each label"


LEARNED = (Choice.BLENDED, Choice.TREES)


@dataclass(frozen=True, eq=False)
class Examples:
    """Candidates of labelled documents.

    run: ranked by the fixed sum. features: aligned with it. gold: the documents' labels. labels: how many there are.
    """

    run: Run
    features: Features
    gold: Run
    labels: int

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
        described = Features(self.features.names, values)
        return Examples(self.run.take(documents), described, self.gold.take(documents), self.labels)

    def suggestions(self, documents: Longs) -> Longs:
        """The places of the candidates of these documents, one document after the other."""
        places = [np.arange(self.run.indptr[each], self.run.indptr[each + 1]) for each in documents.tolist()]
        return np.concatenate([np.zeros(0, np.int64), *places])


@dataclass(frozen=True, eq=False)
class Validation:
    """What a kind of ranker does on documents that it was not trained on.

    raw: (suggestions,) what the ranker says of the candidates. scores: the same with a bias for each label, from the
    candidates of other folds. measured: (documents,) what each document scores by these.
    """

    raw: Doubles
    scores: Doubles
    measured: Doubles


@dataclass(frozen=True, eq=False)
class FittedCombiner:
    """The outcome. ranker: None where the fixed sum stays. bias: (labels,) what is added to the ranker's scores.

    validations: of every kind of ranker. fixed: (documents,) what the fixed sum scores. examples: the labelled
    documents that were looked at.
    """

    ranker: CandidateRanker | None
    bias: Doubles
    choice: Choice
    validations: Mapping[Choice, Validation]
    fixed: Doubles
    examples: Examples

    @property
    def out_of_fold(self) -> tuple[Doubles, Mask, Longs]:
        """(suggestions,) of the choice: scores by rankers that did not see the document, whether right, and where."""
        if self.choice is Choice.FIXED:
            raise ValueError("the fixed sum was chosen: it is the same in and out of folds")
        return self.validations[self.choice].scores, self.examples.right, self.examples.run.rows

    @property
    def gain(self) -> float:
        """By how much the choice is better than the fixed sum, on documents that it was not trained on."""
        if self.choice is Choice.FIXED:
            return 0.0
        return float((self.validations[self.choice].measured - self.fixed).mean())


def fit_combiner(examples: Examples, measure: Measure, options: CombinerOptions = CombinerOptions()) -> FittedCombiner:
    """The kind of ranker that cross-validation chooses, trained on all documents.

    Documents without gold labels are left out. Raises InputError where fewer than two have any.
    """
    documents = np.flatnonzero(np.diff(examples.gold.indptr) > 0)
    if len(documents) < 2:
        raise InputError(f"{len(documents)} labelled documents: a combiner is trained on two or more; label some")
    drawn = np.random.default_rng(options.seed).permutation(documents)[: options.documents]
    examples = examples.take(np.sort(drawn))
    fixed = measure(examples.run, examples.gold)
    validations = cross_validate(examples, measure, options)
    choice = choose(fixed, {kind: found.measured for kind, found in validations.items()}, options.margin)
    if choice is Choice.FIXED:
        return FittedCombiner(None, np.zeros(examples.labels), choice, validations, fixed, examples)
    ranker = train_ranker(examples, options)
    ranker = blend(ranker, examples) if choice is Choice.BLENDED else ranker
    bias = _bias(examples, validations[choice].raw, np.arange(len(examples.run)), options)
    return FittedCombiner(ranker, bias, choice, validations, fixed, examples)


def train_ranker(examples: Examples, options: CombinerOptions) -> CandidateRanker:
    """Logistic regression and trees on top of it, trained on all the examples."""
    values, right = examples.features.values, examples.right
    linear = fit_logistic(values, right, examples.base, options.penalty)
    if not right.any():
        return CandidateRanker(examples.features.names, linear)
    gradients = lambda_gradients(right, examples.run.indptr)
    trees = grow(values, linear.predict(values), gradients, options.trees, options.seed)
    return CandidateRanker(examples.features.names, linear, trees)


def blend(ranker: CandidateRanker, examples: Examples) -> CandidateRanker:
    """The ranker with the fixed sum's standard score added, at the weight at which both vary alike.

    It steadies what few labels teach: an average of two rankings that err differently is better than either.
    """
    weight = ranker.linear.weight.copy()
    weight[examples.base] += ranker.predict(examples.features).std()
    return replace(ranker, linear=replace(ranker.linear, weight=weight))


def cross_validate(examples: Examples, measure: Measure, options: CombinerOptions) -> dict[Choice, Validation]:
    """Every kind of ranker on documents that it was not trained on: a document's candidates are in one fold only."""
    folds = assign_folds(len(examples.run), options.folds, options.seed)
    scores = {kind: np.zeros(len(examples.run.labels)) for kind in LEARNED}
    for fold in np.unique(folds):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        training, validation = examples.take(inside), examples.take(outside)
        ranker, places = train_ranker(training, options), examples.suggestions(outside)
        scores[Choice.TREES][places] = ranker.predict(validation.features)
        scores[Choice.BLENDED][places] = blend(ranker, training).predict(validation.features)
    return {kind: _validation(examples, raw, folds, measure, options) for kind, raw in scores.items()}


def assign_folds(documents: int, folds: int, seed: int = 0) -> Longs:
    """(documents,) the fold of each, as equal in size as can be; as many folds as documents where those are fewer."""
    return np.random.default_rng(seed).permutation(np.arange(documents) % min(folds, documents))


def choose(fixed: Doubles, measured: Mapping[Choice, Doubles], margin: float) -> Choice:
    """Trees where they are clearly better than the blend; the fixed sum where the blend is clearly worse than it.

    fixed, and of each kind: (documents,) what each document scores. A mean difference is clear when it is more than
    `margin` standard errors, the deviation of the documents' differences / sqrt(documents).

    Four documents gain 0.2, 0.1, 0.2, 0.1 by the blend, and no more by trees: these are not clearly better. The other
    way round, the mean of -0.15 is 5.2 standard errors of 0.0577 / 2 below 0.

    >>> gains = np.array([0.2, 0.1, 0.2, 0.1])
    >>> choose(np.zeros(4), {Choice.BLENDED: gains, Choice.TREES: gains}, margin=1.0).name
    'BLENDED'
    >>> choose(gains, {Choice.BLENDED: np.zeros(4), Choice.TREES: np.zeros(4)}, margin=1.0).name
    'FIXED'
    """
    blended, trees = measured[Choice.BLENDED], measured[Choice.TREES]
    if better(fixed, blended, margin):
        return Choice.FIXED
    return Choice.TREES if better(trees, blended, margin) else Choice.BLENDED


def better(one: Doubles, other: Doubles, margin: float) -> bool:
    """Whether one is clearly better: by `margin` standard errors of the mean difference, document by document.

    The differences 0.2, 0.1, 0.2, 0.1 have the mean 0.15, which is 5.2 standard errors of 0.0289 above 0.

    >>> better(np.array([0.2, 0.1, 0.2, 0.1]), np.zeros(4), 5.0), better(np.zeros(2), np.zeros(2), 0.0)
    (True, False)
    """
    difference = one - other
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return bool(difference.mean() > max(margin * error, 1e-9))


def _validation(
    examples: Examples, raw: Doubles, folds: Longs, measure: Measure, options: CombinerOptions
) -> Validation:
    """Add to the scores of each fold the biases of labels that the other folds tell, and measure."""
    scores = raw.copy()
    for fold in np.unique(folds):
        bias = _bias(examples, raw, np.flatnonzero(folds != fold), options)
        places = examples.suggestions(np.flatnonzero(folds == fold))
        scores[places] += bias[examples.run.labels[places]]
    return Validation(raw, scores, measure(examples.run.rescored(scores), examples.gold))


def _bias(examples: Examples, raw: Doubles, documents: Longs, options: CombinerOptions) -> Doubles:
    """(labels,) the biases that these documents tell."""
    places = examples.suggestions(documents)
    labels = examples.run.labels[places].astype(np.int64)
    return fit_label_bias(raw[places], examples.right[places], labels, examples.labels, options.shrinkage)


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
