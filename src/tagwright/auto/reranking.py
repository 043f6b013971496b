"""Learn from labelled documents how far a language model is to be trusted that ranks the first candidates again."""

from collections.abc import Sequence

import numpy as np

from tagwright.auto.combiner import assign_folds, better, ndcg_at_5
from tagwright.combining.confidence import fit_score_map
from tagwright.combining.reranked import RerankOptions, reranked
from tagwright.data.corpus import taken
from tagwright.llm.options import LLM_RANKING, LlmOptions
from tagwright.stages.llm import LlmRanking
from tagwright.tagger import Tagger
from tagwright.tagger.language_model import with_model
from tagwright.types import Document, Doubles, Floats, Longs, Run


def learn(
    tagger: Tagger, ranked: Run, gold: Run, documents: Sequence[Document], options: LlmOptions, seed: int = 0
) -> tuple[Tagger, float, str]:
    """Ask the model about some of these documents; keep it if the ranking is clearly better with it, by nDCG@5.

    ranked: how the tagger ranks the documents without having seen their labels. The weight is chosen on some of them
    and measured on the others, fold by fold: it must be better by two standard errors. Returns the tagger, with the
    model or without it, its nDCG@5, and what is said of it.
    """
    drawn = np.sort(np.random.default_rng(seed).permutation(len(ranked))[: options.documents])
    ranked, gold = ranked.take(drawn), gold.take(drawn)
    stage, head = LlmRanking(tagger.vocabulary, options), ranked.top(options.candidates)
    scores = stage.score(stage.read(taken(documents, drawn)), head)
    said, tried = Run(head.indptr, head.labels, scores).scores_of(ranked), _tried(head, scores)
    measured = [ndcg_at_5(reranked(ranked, said, each), gold) for each in tried]
    after, best = cross_validated(measured, seed)
    before, count = float(measured[0].mean()), f"{len(drawn):,} labelled documents"
    figures = f"{100 * before:.1f} without {LLM_RANKING} and {100 * after.mean():.1f} with it on {count}"
    if not best or not better(after, measured[0], 2.0):
        return tagger, before, f"nDCG@5 is {figures}: left out, as it is not clearly better"
    final = reranked(ranked, said, tried[best])
    confidence = fit_score_map(final.scores, gold.scores_of(final) > 0, final.rows)
    kept = with_model(tagger, options, tried[best], confidence)
    return kept, float(after.mean()), f"nDCG@5 is {figures}: kept"


def cross_validated(measured: Sequence[Doubles], seed: int) -> tuple[Doubles, int]:
    """What each document scores by the choice that is best on the other folds, and the choice that is best on all.

    measured: of each choice (documents,); the first of equal ones is taken.

    >>> scores, best = cross_validated([np.zeros(4), np.ones(4), np.ones(4)], seed=0)
    >>> scores.tolist(), best
    ([1.0, 1.0, 1.0, 1.0], 1)
    """
    table = np.stack(measured)
    parts = assign_folds(table.shape[1], 5, seed)
    scores = np.empty(table.shape[1])
    for part in np.unique(parts):
        inside: Longs = np.flatnonzero(parts != part)
        scores[parts == part] = table[int(table[:, inside].mean(axis=1).argmax())][parts == part]
    return scores, int(table.mean(axis=1).argmax())


def _tried(head: Run, said: Floats) -> list[RerankOptions]:
    """The weights that are tried, beginning with none; a point of the model counts the more, the less it varies.

    Each is how many standard deviations of the first scores one of the model's scores counts. With the last one the
    order is the model's. said: (suggestions,) of the head.
    """
    named = said[said > 0]
    deviation = float(named.std()) if len(named) else 0.0
    means = np.bincount(head.rows, head.scores, len(head)) / np.maximum(np.diff(head.indptr), 1)
    unit = float((head.scores - means[head.rows]).std()) / deviation if deviation else 0.0
    center = float(named.mean()) if len(named) else 0.0
    return [RerankOptions(weight=unit * trust, center=center) for trust in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 100.0)]
