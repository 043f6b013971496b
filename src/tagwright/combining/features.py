"""Describe each candidate by one row of numbers, which the learned combiner reads.

The columns are the same for every vocabulary, and nothing in them tells which label a candidate is: what is learned of
some labels holds for all. Every stage is a group of columns by being there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.fusion import standardise
from tagwright.types import Floats, Run

FIXED_SUM = "fixed sum"
"The group of columns of the ranking that needs no labels."

GROUPS = (FIXED_SUM, "agreement", "neighbours", "label", "document")
'The groups of columns that are no stages: a column is named after its group, "label: depth".'

OWN = "reciprocal rank of its own"
"The column that says where a candidate stands in the list of the retriever, before the lists were pooled."

FIRST = 5
"Ranks up to which a stage counts as agreeing."


StageScores: TypeAlias = tuple[Floats, Run | None, bool]
"""What one stage says of the candidates: scores (suggestions,) aligned with them; what it found on its own, None where
it only scores; whether 0 means that it knows nothing of a candidate."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """names: (features,) of the columns, "dense: score". values: (suggestions, features)."""

    names: tuple[str, ...]
    values: Floats

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[np.floating]], suggestions: int) -> Self:
        """The columns side by side."""
        values = np.zeros((suggestions, len(columns)), np.float32)
        for place, column in enumerate(columns.values()):
            values[:, place] = column
        return cls(tuple(columns), values)


def features(
    candidates: Run,
    stages: Mapping[str, StageScores],
    labels: Mapping[str, Floats],
    documents: Mapping[str, Floats],
    support: Mapping[str, Floats],
) -> Features:
    """The features of candidates that are ranked by the fixed sum.

    labels: numbers (labels,) that describe each label. documents: numbers (documents,) that describe each document.
    support: numbers (suggestions,), such as what the nearest documents say of each candidate.
    """
    columns: dict[str, NDArray[np.floating]] = {}
    for name, stage in {FIXED_SUM: (candidates.scores, None, False), **stages}.items():
        columns |= {f"{name}: {what}": column for what, column in _of_stage(candidates, stage).items()}
    columns |= _agreement(columns, stages)
    columns |= {f"neighbours: {name}": column for name, column in support.items()}
    columns |= {f"label: {name}": column[candidates.labels] for name, column in labels.items()}
    columns |= {f"document: {name}": column[candidates.rows] for name, column in documents.items()}
    return Features.of(columns, len(candidates.labels))


def document_features(
    lengths: Mapping[str, NDArray[np.integer]], stages: Mapping[str, StageScores]
) -> dict[str, Floats]:
    """Numbers (documents,): logarithms of lengths, how much each retriever found, and the best score that it gave.

    lengths: characters (documents,) of the title, or of the text.
    """
    runs = {name: found for name, (_, found, _) in stages.items() if found is not None}
    return {
        **{f"{name} length": np.log1p(length, dtype=np.float32) for name, length in lengths.items()},
        **{f"found by {name}": np.log1p(np.diff(run.indptr), dtype=np.float32) for name, run in runs.items()},
        **{f"best of {name}": _best_scores(run) for name, run in runs.items()},
    }


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
    reciprocal: Floats = np.where(sparse & (scores <= 0), 0.0, 1.0 / ranks).astype(np.float32)
    return reciprocal


def _of_stage(candidates: Run, stage: StageScores) -> dict[str, NDArray[np.floating]]:
    scores, found, sparse = stage
    columns: dict[str, NDArray[np.floating]] = {
        "score": scores,
        "standard score": standardise(candidates, scores),
        "reciprocal rank": reciprocal_ranks_within(candidates, scores, sparse=sparse),
    }
    if found is not None:  # 1 / rank in the list of the retriever, 0 where it did not find it
        own = Run(found.indptr, found.labels, reciprocal_ranks_within(found, found.scores))
        columns[OWN] = own.scores_of(candidates)
    return columns


def _agreement(
    columns: Mapping[str, NDArray[np.floating]], stages: Mapping[str, StageScores]
) -> dict[str, NDArray[np.floating]]:
    """Number of stages with a candidate among their first five, and of retrievers that found it."""
    first = [columns[f"{name}: reciprocal rank"] >= 1 / FIRST for name in stages]
    found = [columns[f"{name}: {OWN}"] > 0 for name, (_, run, _) in stages.items() if run is not None]
    masks = {"agreement: stages": first, "agreement: retrievers": found}
    return {name: np.stack(each).sum(axis=0, dtype=np.float32) for name, each in masks.items() if each}


def _best_scores(run: Run) -> Floats:
    """(documents,) the best score of each document, 0 where nothing was found."""
    best = np.zeros(len(run), np.float32)
    some = np.diff(run.indptr) > 0
    best[some] = run.scores[run.indptr[:-1][some]]
    return best
