"""Fuse the runs of several stages over the same documents into one."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.types import Distribution, Floats, Mask, Run

Scores: TypeAlias = NDArray[np.floating]

Weight: TypeAlias = float | Floats
"The weight of a stage: one number for all candidates, or an array with one for each of them."

REFERENCE_RANKS = 100
"How many first candidates of a document give the mean and deviation in `zscores`: as many as `FeatureOptions` has."


def reciprocal_ranks(
    runs: Sequence[Run], weights: Sequence[Weight] | None = None, k: float = 60.0, candidates: Run | None = None
) -> Run:
    """Sum of weight / (k + rank) over the runs that hold the label (Cormack et al. 2009; FuTex Eq. 9 with k = 0).

    weights: one per run, all 1 by default. A label that a run does not hold gets nothing from it. candidates: the
    labels to rank; by default all that any run holds.

    Two labels are first and second in one run, second and first in the other. With k = 0 each gets 1/1 + 1/2.

    >>> first, second = Run.from_rows([{7: 0.9, 8: 0.1}]), Run.from_rows([{8: 5.0, 7: 4.0}])
    >>> reciprocal_ranks([first, second], k=0).scores.tolist()
    [1.5, 1.5]
    """
    candidates = Run.union(runs) if candidates is None else candidates
    ranked = [Run(run.indptr, run.labels, (1.0 / (k + run.ranks)).astype(np.float32)) for run in runs]
    return candidates.rescored(_add_weighted([run.scores_of(candidates) for run in ranked], weights))


def reciprocal_ranks_within(candidates: Run, scores: NDArray[np.floating], *, sparse: bool = False) -> Floats:
    """(suggestions,) 1 / rank of each candidate of a document by the scores; equal scores share the best rank.

    sparse: a candidate of score 0 or less has no rank, and gets 0.

    >>> candidates = Run.from_rows([[4, 7, 8]])
    >>> reciprocal_ranks_within(candidates, np.array([0.0, 2.0, 2.0])).round(3).tolist()
    [0.3330000042915344, 1.0, 1.0]
    >>> reciprocal_ranks_within(candidates, np.array([0.0, 2.0, 1.0]), sparse=True).tolist()
    [0.0, 1.0, 0.5]
    """
    rows = candidates.rows
    order = np.lexsort((-scores, rows))
    ordered = scores[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]) | (np.diff(rows) > 0)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    ranks = np.empty(len(order))
    ranks[order] = first - candidates.indptr[rows] + 1
    return np.asarray(np.where(sparse & (scores <= 0), 0.0, 1.0 / ranks), np.float32)


def summed_evidence(
    candidates: Run,
    scores: Sequence[Scores],
    distributions: Sequence[Distribution],
    weights: Sequence[Weight] | None = None,
) -> Run:
    """The candidates under the weighted sum of log2(1 + max(evidence, 0)).

    The logarithm favours labels on which stages agree.

    scores: one array (suggestions,) per stage, aligned with the candidates, which every stage has scored. weights: one
    per stage, all 1 by default. distributions: one for each stage, which says how its scores become evidence.
    "normal": the bits of surprise, -log2 P(Z >= z), at the standard score z. "sparse": the standard score itself, since
    the stage scores few candidates, and a normal tail would mislead. "information_content": the score as it is, in
    bits, so that a weak match stays weak even as the best of its document.

    The first stage scores in bits: 3 and 0 become 2 and 0. Of the normal scores 1 and -1 of the second, which are their
    own standard scores, 1 has a tail of 0.1587, that is 2.656 bits, so log2(3.656) = 1.870; -1 has a tail of 0.8413,
    0.2493 bits, so 0.321.

    >>> candidates = Run.from_rows([{5: 1.0, 6: -1.0}])
    >>> scores = [np.array([3.0, 0.0]), np.array([1.0, -1.0])]
    >>> [f"{score:.3f}" for score in summed_evidence(candidates, scores, ["information_content", "normal"]).scores]
    ['3.870', '0.321']
    """
    evidence = (_evidence(candidates, *each) for each in zip(scores, distributions, strict=True))
    return candidates.rescored(_add_weighted([np.log2(1.0 + np.maximum(values, 0.0)) for values in evidence], weights))


def append_labels(head: Run, tail: Run) -> Run:
    """The labels of head in their order, then the others of tail in theirs, scored 1 / rank (FuTex 3.3).

    >>> both = append_labels(Run.from_rows([{4: 9.0, 2: 8.0}]), Run.from_rows([{1: 0.5, 4: 0.4, 7: 0.3}]))
    >>> both.labels.tolist(), both.scores.tolist()
    ([4, 2, 1, 7], [1.0, 0.5, 0.3333333432674408, 0.25])
    """
    rest = tail.keep(~tail.held_by(head))
    below_head = -1e6  # lower than any rank of head
    order = [Run(run.indptr, run.labels, start - run.ranks) for run, start in ((head, 0.0), (rest, below_head))]
    joined = Run.union(order)
    placed = joined.rescored(order[0].scores_of(joined) + order[1].scores_of(joined))
    return Run(placed.indptr, placed.labels, (1.0 / placed.ranks).astype(np.float32))


def _evidence(candidates: Run, scores: Scores, distribution: Distribution) -> NDArray[np.float64]:
    """(suggestions,) what the scores of one stage are as evidence: see `summed_evidence`."""
    if distribution == "information_content":
        return scores.astype(np.float64)
    standard = standardise(candidates, scores)
    if distribution == "sparse":
        return standard
    from scipy.special import log_ndtr  # takes a tenth of a second, which taggers without an encoder save

    return np.asarray(-log_ndtr(-standard) / np.log(2.0), np.float64)


def standardise(candidates: Run, scores: Scores, among: Mask | None = None) -> NDArray[np.float64]:
    """(suggestions,) (score - mean) / deviation within each document; 0 where all scores of a document are the same.

    among: (suggestions,) the candidates whose mean and deviation are taken, where not all.
    """
    documents, rows = len(candidates), candidates.rows
    counted = slice(None) if among is None else among
    sizes = np.maximum(np.bincount(rows[counted], minlength=documents), 1)
    centred = scores - (np.bincount(rows[counted], scores[counted], documents) / sizes)[rows]
    deviation = np.sqrt(np.bincount(rows[counted], centred[counted] ** 2, documents) / sizes)[rows]
    return np.divide(centred, deviation, out=np.zeros(len(scores)), where=deviation > 1e-9)


def zscores(ranked: Run) -> NDArray[np.float64]:
    """(suggestions,) standard scores, by mean and deviation of the first `REFERENCE_RANKS` candidates of each document.

    Over all candidates they would depend on how many weak ones follow. Scores 3, 2, 1 have the mean 2 and the deviation
    sqrt(2/3).

    >>> zscores(Run.from_rows([{5: 3.0, 6: 2.0, 7: 1.0}])).round(4).tolist()
    [1.2247, 0.0, -1.2247]
    """
    return standardise(ranked, ranked.scores, ranked.ranks <= REFERENCE_RANKS)


def _add_weighted(scores: Sequence[Scores], weights: Sequence[Weight] | None) -> NDArray[np.float64]:
    """(suggestions,) the sum of the scores of all stages, each multiplied by its weight."""
    weighed = zip(weights or [1.0] * len(scores), scores, strict=True)
    return np.asarray(sum(weight * each.astype(np.float64) for weight, each in weighed), np.float64)
