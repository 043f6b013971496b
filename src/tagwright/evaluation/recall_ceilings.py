"""Measure the recall ceiling of candidates: how many gold labels a ranking of them could reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.evaluation.metrics import is_gold, label_counts
from tagwright.types import Run

DEPTHS = (10, 50, 100, 500)
"Numbers of candidates at which recall is measured."


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What one stage can reach. recall: k -> share of all gold labels among its first k candidates.

    all: the same for all its candidates. mean_size: candidates per document.
    """

    recall: Mapping[int, float]
    all: float
    mean_size: float


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The ceilings of several stages. missed: label -> gold occurrences that no stage reaches, most first."""

    documents: int
    stages: Mapping[str, Ceiling]
    missed: Mapping[int, int]


def ceiling(candidates: Run, gold: Run, depths: Sequence[int] = DEPTHS) -> Ceiling:
    """The recall ceiling of one stage; gold: a row per document, with at least one label in all.

    Of three gold labels, one is the first candidate of its document and another the second:

    >>> found = ceiling(Run.from_rows([{4: 0.9, 2: 0.8}, {1: 0.5}]), Run.from_rows([[2, 4], [3]]), depths=[1])
    >>> round(found.recall[1], 2), round(found.all, 2), found.mean_size
    (0.33, 0.67, 1.5)
    """
    hits, ranks = is_gold(candidates, gold), candidates.ranks
    recall = {k: float(hits[ranks <= k].sum() / len(gold.labels)) for k in depths}
    return Ceiling(recall, float(hits.sum() / len(gold.labels)), len(candidates.labels) / len(candidates))


def ceilings(stages: Mapping[str, Run], union: Run, gold: Run, labels: int) -> Ceilings:
    """The ceiling of each stage, and of the union of their candidates. labels: the size of the vocabulary."""
    missed = label_counts(gold.keep(~is_gold(gold, union)), labels)
    order = np.argsort(-missed, kind="stable")[: int((missed > 0).sum())]
    return Ceilings(
        documents=len(gold),
        stages={name: ceiling(run, gold) for name, run in {**stages, "union": union}.items()},
        missed={int(label): int(missed[label]) for label in order},
    )
