"""Describe candidates of labelled documents by stages that have not seen their labels, and say what each brought."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tagwright.auto import combination
from tagwright.auto.out_of_fold import IN_THE_SUM, Folds
from tagwright.auto.ranker import (
    BASE,
    PENALTY,
    CombinerOptions,
    Examples,
    FittedCombiner,
    assign_folds,
    ndcg_at_5,
    trust_in,
)
from tagwright.combining.candidate_features import OWN, CandidateFeatures, Features
from tagwright.combining.learned_combiner import fit_logistic
from tagwright.combining.pool import CandidatePool, PoolOptions
from tagwright.combining.steps import FIXED_SUM
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.progress import count_items
from tagwright.tagger import Tagger
from tagwright.types import Document, Doubles, Retriever, Run

HALF = 150.0
"""The number of labelled documents from which a stage that they train has half of its weight in the fixed sum, which is
1: see `trust_in`. Of equal weights, .25 is best with 50 labelled train documents of mdn, tib, arxiv and kirja, and
.8 with 300, of .25, .8 and 1; a weight for each that cross-validation chose was no better."""

SHOWN = 300
"Labelled documents on which it is measured what each group of features brought."


def with_trained(
    tagger: Tagger,
    described: CandidateFeatures,
    documents: Sequence[Document],
    folds: Folds,
    names: Sequence[str],
    in_time: Callable[[], bool] = lambda: True,
) -> tuple[Examples, dict[str, float]]:
    """Return the candidates of labelled documents with the scores of stages that have not seen their labels, in order.

    tagger: the stages without those that are trained. documents: those that the folds score. names: of the stages, in
    order of worth. The first is trained, and others while in_time. Also returns the weight of each in the fixed sum.
    """
    stages: list[dict[str, Retriever]] = [{} for _ in folds.parts]
    for name in names:
        if stages[0] and not in_time():
            break
        for number, trained in enumerate(stages):
            trained[name] = folds.outside(name, number)
    weights = {name: trust_in(len(np.unique(folds.texts)), HALF) for name in IN_THE_SUM if name in stages[0]}
    pools, order = list[tuple[CandidatePool, Run]](), list[int]()
    for part, trained in zip(folds.parts, stages, strict=True):
        places = np.searchsorted(folds.scored, part).tolist()
        retrievers = {**tagger.retrievers, **{name: trained[name] for name in weights}}
        richer = replace(tagger, retrievers=retrievers, steps=combination.with_weights(tagger.steps, weights))
        read = combination.pools(richer, [documents[place] for place in places])
        pools += [(pool, richer.rank(pool)) for pool in read]
        order += places
    gold = tagger.vocabulary.gold(documents, unknown="ignore").take(order)
    examples = combination.examples_of(pools, described, gold)
    return examples.take(np.argsort(order)), weights


def best_alone(examples: Examples) -> tuple[str, Examples]:
    """Return the retriever whose own scores rank the candidates best, by mean nDCG@5, and what it found so ranked."""
    names, values, ranked = examples.features.names, examples.features.values, dict[str, Examples]()
    for stage in (name.removesuffix(f": {OWN}") for name in names if name.endswith(f": {OWN}")):
        found = values[:, names.index(f"{stage}: {OWN}")] > 0
        run = examples.run.keep(found).rescored(values[found, names.index(f"{stage}: score")])
        ranked[stage] = replace(examples, run=run, features=Features((), np.zeros((len(run.labels), 0), np.float32)))
    return max(ranked.items(), key=lambda each: ndcg_at_5(each[1].run, each[1].gold).mean())


def with_stage_alone(tagger: Tagger, name: str, ranked: Examples) -> Tagger:
    """Return a tagger of one retriever, with confidences learned from the candidates that it ranked out of fold."""
    stage = tagger.retrievers[name]
    read = {stage.shares: tagger.retrievers[stage.shares]} if stage.shares else {}
    alone, retrievers = WeightedSum(weights=dict.fromkeys(read, 0.0)), {**read, name: stage}
    tagger = replace(tagger, retrievers=retrievers, rerankers={}, pool=PoolOptions(), steps=(alone,))
    return combination.with_curve(tagger, ranked)


def measure_gains(fitted: FittedCombiner, options: CombinerOptions) -> dict[str, Doubles]:
    """Group of features -> (documents,) nDCG@5 that is lost without it, in cross-validation, the largest mean first.

    Measured with logistic regression alone on up to `SHOWN` documents. The fixed sum itself is not left out.
    """
    if fitted.ranker is None:
        return {}
    drawn = np.random.default_rng(options.seed).permutation(len(fitted.examples.run))[:SHOWN]
    examples = fitted.examples.take(np.sort(drawn))
    names = examples.features.names
    groups = dict.fromkeys(name.partition(": ")[0] for name in names)
    whole = _logistic(examples, names, options)
    lost = {
        group: whole - _logistic(examples, [name for name in names if name.partition(": ")[0] != group], options)
        for group in count_items("measuring gains", [group for group in groups if group != FIXED_SUM])
    }
    return dict(sorted(lost.items(), key=lambda each: -each[1].mean()))


def _logistic(examples: Examples, names: Sequence[str], options: CombinerOptions) -> Doubles:
    """(documents,) nDCG@5 of logistic regression over these features, in cross-validation."""
    places = [examples.features.names.index(name) for name in names]
    columns, right = examples.features.values[:, places], examples.right
    folds = assign_folds(len(examples.run), options.folds, options.seed)[examples.run.rows]
    scores = np.zeros(len(folds))
    for fold in np.unique(folds):
        inside = folds != fold
        model = fit_logistic(columns[inside], right[inside], list(names).index(BASE), PENALTY)
        scores[~inside] = model.predict(columns[~inside])
    return ndcg_at_5(examples.run.rescored(scores), examples.gold)
