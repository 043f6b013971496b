"""Describe candidates of labelled documents by stages that have not seen their labels, and compare combiners on them.

Also what is compared afterwards: the outcome of each way to combine, and what each group of features brought.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.auto import combine
from tagwright.auto.combiner import BASE, FAR, CombinerOptions, Examples, FittedCombiner, assign_folds, better
from tagwright.auto.out_of_fold import Fold
from tagwright.combining.candidate_features import CandidateFeatures
from tagwright.combining.candidate_ranker import fit_logistic
from tagwright.combining.features import FIXED_SUM, Features
from tagwright.combining.pool import CandidatePool
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.progress import counted
from tagwright.core.steps import State
from tagwright.tagger import Tagger
from tagwright.types import Document, Doubles, Run

WEIGHTS = (0.5, 1.0, 2.0, 4.0)
"Weights in the fixed sum that are tried of each stage that is trained here; with weight 0 it is left out."

SHOWN = 300
"Labelled documents on which it is measured what each group of features brought."


@dataclass(frozen=True, eq=False)
class Weighted:
    """Examples, and the weights of the trained stages in the fixed sum that ranks their candidates.

    A stage of weight 0 is left out: the examples have neither its scores nor the candidates that it alone found.
    """

    examples: Examples
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The examples and weights as they are stored as a finished step."""
        run, gold, features = self.examples.run, self.examples.gold, self.examples.features
        arrays: dict[str, NDArray[Any]] = {"indptr": run.indptr, "labels": run.labels, "scores": run.scores}
        arrays |= {"values": features.values, "gold-indptr": gold.indptr, "gold": gold.labels}
        values = {"features": list(features.names), "weights": dict(self.weights), "labels": self.examples.labels}
        return State(arrays, values)

    @classmethod
    def of(cls, state: State) -> Self:
        """Restore from a stored state."""
        arrays, values = state.arrays, state.values
        run = Run(*(arrays[name] for name in ("indptr", "labels", "scores")))
        gold = Run(arrays["gold-indptr"], arrays["gold"], np.ones(len(arrays["gold"]), np.float32))
        features = Features(tuple(values["features"]), arrays["values"])
        return cls(Examples(run, features, gold, values["labels"]), values["weights"])


@dataclass(frozen=True, eq=False)
class Trial:
    """A way to combine. fitted: its ranker, none where the fixed sum stays. tagger: the tagger that it gives."""

    name: str
    tagger: Tagger
    fitted: FittedCombiner


def with_trained(
    tagger: Tagger, described: CandidateFeatures, documents: Sequence[Document], folds: Iterator[Fold]
) -> Weighted:
    """The candidates of labelled documents with the scores of stages that have not seen their labels, in order.

    tagger: the stages without those that are trained. Each of these gets the weight with which the fixed sum is best,
    one stage after the other. It is left out, with weight 0, where the sum is better without it by `FAR` times as much
    as is clear: what hardly changes the sum often helps the combiner.
    """
    pools, order, names = list[CandidatePool](), list[int](), list[str]()
    for fold in folds:
        names = list(fold.stages)
        joined = replace(tagger, retrievers={**tagger.retrievers, **fold.stages})
        pools += combine.pools(joined, [documents[place] for place in fold.places.tolist()])
        order += fold.places.tolist()
    places = np.argsort(order)
    gold = tagger.vocabulary.gold(documents, unknown="ignore").take(order)
    weights = dict.fromkeys(names, 1.0)
    for name in names:
        tried = {
            weight: _sum(weighted(described, {**weights, name: weight}), pools, gold) for weight in (0.0, *WEIGHTS)
        }
        best = max(WEIGHTS, key=lambda weight: tried[weight].mean())
        weights[name] = 0.0 if better(tried[0.0], tried[best], FAR * CombinerOptions().margin) else best
    dropped = [name for name, weight in weights.items() if not weight]
    pools = [pool.dropping(dropped, tagger.pool) for pool in pools] if dropped else pools
    described = weighted(described, weights)
    runs = list(map(described.candidates, pools))
    found = [described.describe(pool, run) for pool, run in zip(pools, runs, strict=True)]
    features = Features(found[0].names, np.concatenate([each.values for each in found]))
    return Weighted(Examples(Run.concat(runs), features, gold, len(tagger.vocabulary)).take(places), weights)


def weighted(described: CandidateFeatures, weights: Mapping[str, float]) -> CandidateFeatures:
    """The same with other weights of some stages in the fixed sum."""
    first = described.first
    assert isinstance(first, WeightedSum)  # of the zero-shot method
    return replace(described, first=replace(first, weights={**first.weights, **weights}))


def brought(trial: Trial, options: CombinerOptions) -> dict[str, Doubles]:
    """Group of features -> (documents,) nDCG@5 that is lost without it, in cross-validation, the largest mean first.

    Measured with logistic regression alone on up to `SHOWN` documents. The fixed sum itself is not left out.
    """
    if trial.fitted.ranker is None:
        return {}
    examples = trial.fitted.examples
    drawn = np.random.default_rng(options.seed).permutation(len(examples.run))[:SHOWN]
    examples = examples.take(np.sort(drawn))
    names = examples.features.names
    groups = dict.fromkeys(name.partition(": ")[0] for name in names)
    whole = _logistic(examples, names, options)
    lost = {
        group: whole - _logistic(examples, [name for name in names if name.partition(": ")[0] != group], options)
        for group in counted("measuring gains", [each for each in groups if each != FIXED_SUM])
    }
    return dict(sorted(lost.items(), key=lambda each: -each[1].mean()))


def _logistic(examples: Examples, names: Sequence[str], options: CombinerOptions) -> Doubles:
    """(documents,) nDCG@5 of logistic regression over these features, in cross-validation."""
    columns, right = (
        examples.features.values[:, [examples.features.names.index(name) for name in names]],
        examples.right,
    )
    folds = assign_folds(len(examples.run), options.folds, options.seed)[examples.run.rows]
    scores = np.zeros(len(folds))
    for fold in np.unique(folds):
        inside = folds != fold
        model = fit_logistic(columns[inside], right[inside], list(names).index(BASE), options.penalty)
        scores[~inside] = model.predict(columns[~inside])
    return combine.ndcg_at_5(examples.run.rescored(scores), examples.gold)


def _sum(described: CandidateFeatures, pools: Sequence[CandidatePool], gold: Run) -> Doubles:
    """(documents,) nDCG@5 of the fixed sum."""
    return combine.ndcg_at_5(Run.concat(list(map(described.candidates, pools))), gold)
