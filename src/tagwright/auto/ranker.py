"""Train the ranker of a learned combiner; cross-validation decides between it and the fixed sum.

A ranker is shrunk towards the fixed sum, and its trees count the less the fewer documents there are. The sum stays in
place of a ranker that is clearly worse on documents that it was not trained on.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from tagwright.combining.candidate_features import Features
from tagwright.combining.learned_combiner import CandidateRanker, fit_label_bias, fit_logistic
from tagwright.combining.ranking_trees import BoostingOptions, grow, lambda_gradients
from tagwright.combining.steps import FIXED_SUM
from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked, Positive, Range
from tagwright.core.progress import count_items
from tagwright.evaluation.metrics import Hits, ndcg
from tagwright.types import Doubles, Longs, Mask, Run

BASE = f"{FIXED_SUM}: standard score"
"The feature towards which rankers are shrunk."


PENALTY = 100.0
"""How strongly logistic regression is shrunk to the fixed sum. This and what follows were chosen on train documents
of mdn, tib, arxiv and kirja with 10 to 300 labelled documents."""

SHRINKAGE = 2.0
"How strongly the bias of each label is drawn to 0: the inverse of the variance of its log odds."

MARGIN = 2.0
"How many standard errors make a difference clear; see `is_better`."


@dataclass(frozen=True, kw_only=True)
class CombinerOptions(Checked):
    """From what is learned to combine stages, and how. Raises ConfigError for a value that cannot work."""

    corpus: AtLeastZero = 10_000
    """Number of documents, drawn by the seed, to count suggested labels in and to search similar documents. Each has to
    be encoded. With many labels, more documents help: 300, 1,000 and 3,000 on tib added 0.1, 0.5 and 0.9 nDCG@5."""

    candidates: AtLeastOne = 100
    "Number of candidates per document to re-rank: the first of the fixed sum."

    candidates_each: AtLeastZero = 10
    """Number of candidates of each retriever to re-rank beside these, which it may find alone: a label that nearly all
    documents have stands in no text. None, where the labelled documents have few of these labels: see
    `combination.WORTH`."""

    exclude_self: bool | None = None
    """Never suggest the label that has the id of the document. None: where most documents are labels, and none is
    among its own."""

    trees: BoostingOptions = field(default_factory=BoostingOptions)
    "The trees on top of it."

    folds: Annotated[int, Range(least=2)] = 5
    "Number of parts of the labelled documents; rankers trained on the other parts score each part."

    half: Positive = 75.0
    """The number of labelled documents from which trees count half of what they say: see `trust_in`. With 50 labelled
    ones, 25, 50, 75 and 150 are alike in the mean; nDCG@5 is lower by a point without trees, and with whole ones."""

    trust: Annotated[float, Range(least=0.0, most=1.0)] = 1.0
    "How much of what is learned counts; the rest of the ranking is the fixed sum."

    documents: Annotated[int, Range(least=2)] = 1500
    "Maximum number of labelled documents to learn from, drawn by the seed: more change little, and take time."

    seed: int = 0
    "Seed of the folds, the sampling and the trees."


@dataclass(frozen=True, eq=False)
class Examples:
    """Candidates of labelled documents.

    run: ranked by the fixed sum. features: aligned with it. gold: the documents' labels. labels: how many there are.
    candidates_each: how many candidates of each retriever are among them beside those of the fixed sum.
    """

    run: Run
    features: Features
    gold: Run
    labels: int
    candidates_each: int = 0

    @cached_property
    def right(self) -> Mask:
        """(suggestions,) which candidates are gold labels."""
        return np.asarray(self.gold.scores_of(self.run) > 0, np.bool_)

    @cached_property
    def base(self) -> int:
        """The column of the fixed sum's standard score."""
        return self.features.names.index(BASE)

    def take(self, documents: Longs) -> "Examples":
        """Return the examples of some documents, in this order."""
        values = self.features.values[self.suggestions(documents)]
        described = Features(self.features.names, values)
        return replace(self, run=self.run.take(documents), features=described, gold=self.gold.take(documents))

    def suggestions(self, documents: Longs) -> Longs:
        """The places of the candidates of these documents, one document after the other."""
        places = [np.arange(self.run.indptr[each], self.run.indptr[each + 1]) for each in documents.tolist()]
        return np.concatenate([np.zeros(0, np.int64), *places])


@dataclass(frozen=True, eq=False)
class FittedCombiner:
    """The outcome. ranker: None where the fixed sum stays. bias: (labels,) what is added to the ranker's scores.

    scores: (suggestions,) of the examples by the choice, trained without the labels of their document. measured, fixed:
    (documents,) nDCG@5 by these scores, or without biases where that is better, and by the fixed sum. examples: the
    labelled documents that were looked at. trust: how much of what was learned counts.
    """

    ranker: CandidateRanker | None
    bias: Doubles
    scores: Doubles
    measured: Doubles
    fixed: Doubles
    examples: Examples
    trust: float = 1.0

    @property
    def gain(self) -> float:
        """By how much the choice is better than the fixed sum, on documents that it was not trained on."""
        return float((self.measured - self.fixed).mean())


def ndcg_at_5(ranking: Run, gold: Run) -> Doubles:
    """Return nDCG@5 of each document, (documents,), by which to choose a combiner."""
    return ndcg(Hits.of(ranking, gold, 5), 5)


def trust_in(documents: int, half: float) -> float:
    """How much of what so many documents teach is believed, from 0 to 1; from `half` documents on, at least half of it.

    >>> trust_in(25, 75.0)
    0.25
    """
    return documents / (documents + half)


def train_ranker(examples: Examples, options: CombinerOptions) -> CandidateRanker:
    """Logistic regression and trees on top of it, which count less where examples are few; see `CombinerOptions`."""
    values, right = examples.features.values, examples.right
    linear = fit_logistic(values, right, examples.base, PENALTY)
    counts = np.where(np.arange(values.shape[1]) == examples.base, 1.0, options.trust)
    trusted = replace(linear, weight=counts * linear.weight)
    if not right.any():
        return CandidateRanker(examples.features.names, trusted)
    gradients = lambda_gradients(right, examples.run.indptr)
    trees = grow(values, linear.predict(values), gradients, options.trees, options.seed)
    trees = replace(trees, value=options.trust * trust_in(len(examples.run), options.half) * trees.value)
    return CandidateRanker(examples.features.names, trusted, trees)


def fit_combiner(examples: Examples, options: CombinerOptions = CombinerOptions()) -> FittedCombiner:
    """The ranker, trained on all documents, or the fixed sum where cross-validation finds the ranker clearly worse.

    examples: of two documents or more, each with a gold label.
    """
    fixed = ndcg_at_5(examples.run, examples.gold)
    raw = cross_validate(examples, options)
    scores = _with_biases(examples, raw, options)
    # Biases look worse than they are: what they read of other folds was scored by rankers that knew this fold's labels.
    measured = max((ndcg_at_5(examples.run.rescored(each), examples.gold) for each in (scores, raw)), key=np.mean)
    if is_better(fixed, measured) or np.array_equal(fixed, measured):
        sums = examples.run.scores.astype(np.float64)
        return FittedCombiner(None, np.zeros(examples.labels), sums, fixed, fixed, examples)
    bias = _bias(examples, raw, np.arange(len(examples.run)), options)
    return FittedCombiner(train_ranker(examples, options), bias, scores, measured, fixed, examples, options.trust)


def cross_validate(examples: Examples, options: CombinerOptions) -> Doubles:
    """Return the scores, (suggestions,), by rankers that were not trained on the document."""
    folds = assign_folds(len(examples.run), options.folds, options.seed)
    scores = np.zeros(len(examples.run.labels))
    for fold in count_items("training the combiner", np.unique(folds).tolist()):
        outside = np.flatnonzero(folds == fold)
        ranker = train_ranker(examples.take(np.flatnonzero(folds != fold)), options)
        scores[examples.suggestions(outside)] = ranker.predict(examples.take(outside).features)
    return scores


def assign_folds(documents: int, folds: int, seed: int = 0) -> Longs:
    """(documents,) the fold of each, as equal in size as can be; as many folds as documents where those are fewer."""
    return np.random.default_rng(seed).permutation(np.arange(documents) % min(folds, documents))


def is_better(one: Doubles, other: Doubles, margin: float = MARGIN) -> bool:
    """Whether one is clearly better: by `margin` standard errors of the mean difference, document by document.

    The differences 0.2, 0.1, 0.2, 0.1 have the mean 0.15, which is 5.2 standard errors of 0.0289 above 0.

    >>> is_better(np.array([0.2, 0.1, 0.2, 0.1]), np.zeros(4), 5.0), is_better(np.zeros(2), np.zeros(2), 0.0)
    (True, False)
    """
    difference = one - other
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return bool(difference.mean() > max(margin * error, 1e-9))


def _with_biases(examples: Examples, raw: Doubles, options: CombinerOptions) -> Doubles:
    """Add to the scores of each fold the biases of labels that were fitted on the other folds."""
    folds, scores = assign_folds(len(examples.run), options.folds, options.seed), raw.copy()
    for fold in np.unique(folds):
        bias = _bias(examples, raw, np.flatnonzero(folds != fold), options)
        places = examples.suggestions(np.flatnonzero(folds == fold))
        scores[places] += bias[examples.run.labels[places]]
    return scores


def _bias(examples: Examples, raw: Doubles, documents: Longs, options: CombinerOptions) -> Doubles:
    """(labels,) the biases fitted on these documents."""
    places = examples.suggestions(documents)
    labels = examples.run.labels[places].astype(np.int64)
    bias = fit_label_bias(raw[places], examples.right[places], labels, examples.labels, SHRINKAGE)
    return options.trust * bias
