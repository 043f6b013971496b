"""Runs in, one run out: fuse what several stages suggest for the same documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagwright.types import Floats, Longs, Run


def reciprocal_ranks(runs: Sequence[Run], weights: Sequence[float] | None = None, k: float = 60.0) -> Run:
    """Sum of weight / (k + rank) over the runs that hold the label (Cormack et al. 2009; FuTex Eq. 9 with k = 0).

    weights: one per run, all 1 by default. A label that a run does not hold gets nothing from it.

    Ranks 1 and 2 in one run, 2 and 1 in the other, k = 0: both labels get 1/1 + 1/2.

    >>> first, second = Run.from_rows([{7: 0.9, 8: 0.1}]), Run.from_rows([{8: 5.0, 7: 4.0}])
    >>> reciprocal_ranks([first, second], k=0).scores.tolist()
    [1.5, 1.5]
    """
    return _sum(runs, [1.0 / (k + run.ranks) for run in runs], weights)


def weighted_scores(runs: Sequence[Run], weights: Sequence[float] | None = None) -> Run:
    """Weighted sum of the scores after each run's scores are brought to [0, 1] document by document (min-max).

    weights: one per run, all 1 by default. A label that a run does not hold gets 0 from it, as the run's last label
    does. A row whose scores are all equal gets 1 throughout.

    Scores 4, 2, 0 become 1, 0.5, 0; the second run adds half of 1 to label 5.

    >>> first, second = Run.from_rows([{3: 4.0, 4: 2.0, 5: 0.0}]), Run.from_rows([{5: -7.0}])
    >>> fused = weighted_scores([first, second], weights=[1.0, 0.5])
    >>> fused.labels.tolist(), fused.scores.tolist()
    ([3, 4, 5], [1.0, 0.5, 0.5])
    """
    return _sum(runs, [_min_max(run) for run in runs], weights)


def union(runs: Sequence[Run]) -> Run:
    """Every label that any of the runs holds, under the sum of its scores: candidates for a re-ranker.

    >>> union([Run.from_rows([{1: 2.0}]), Run.from_rows([{1: 1.0, 0: 0.5}])]).labels.tolist()
    [1, 0]
    """
    return _sum(runs, [run.scores for run in runs], None)


def _min_max(run: Run) -> Floats:
    filled = np.flatnonzero(np.diff(run.indptr))
    high, low = run.scores[run.indptr[filled]], run.scores[run.indptr[filled + 1] - 1]
    sizes = np.diff(run.indptr)[filled]
    span = np.where(high > low, high - low, 1.0)
    scaled = (run.scores - np.repeat(high, sizes)) / np.repeat(span, sizes) + 1.0
    return scaled.astype(np.float32)


def _sum(runs: Sequence[Run], scores: Sequence[Floats | np.ndarray], weights: Sequence[float] | None) -> Run:
    """Add up scores over runs, label by label within each document."""
    weights = [1.0] * len(runs) if weights is None else weights
    if not runs or len(runs) != len(weights) or len({len(run) for run in runs}) != 1:
        raise ValueError(f"{len(runs)} runs over {[len(run) for run in runs]} documents with {len(weights)} weights")
    width = 1 + max(int(run.labels.max(initial=0)) for run in runs)
    cells: Longs = np.concatenate([run.rows * width + run.labels for run in runs])
    values = np.concatenate([weight * each for weight, each in zip(weights, scores, strict=True)])
    cells, place = np.unique(cells, return_inverse=True)
    totals = np.bincount(place, values, minlength=len(cells))
    indptr = np.searchsorted(cells // width, np.arange(len(runs[0]) + 1))
    return Run.of(indptr, cells % width, totals)
