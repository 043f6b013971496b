"""Measure quality by label frequency (DEPL Fig. 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tagwright.evaluation.metrics import Contingency, f1, label_counts
from tagwright.types import Run


class Bin(NamedTuple):
    """Labels first to last (not included), counted from the rarest; `most`: the most training documents of one."""

    first: int
    last: int
    most: int
    macro_f1: float


def by_frequency(run: Run, gold: Run, train: Run, *, k: int = 5, size: int = 100) -> list[Bin]:
    """macro-F1@k of labels from rare to frequent, `size` at a time; the last bin takes the rest.

    train: the gold labels of the training documents. Labels that are gold for none of the documents are not counted, as
    in `metrics.macro_f1`; labels of equal frequency are in the order of the vocabulary.

    Label 1 has one training document and is found, label 0 has two and is missed:

    >>> gold, train = Run.from_rows([[0, 1]]), Run.from_rows([[0, 1], [0]])
    >>> by_frequency(Run.from_rows([[1]]), gold, train, k=1, size=1)
    [Bin(first=0, last=1, most=1, macro_f1=1.0), Bin(first=1, last=2, most=2, macro_f1=0.0)]
    """
    labels = 1 + max(int(part.labels.max(initial=-1)) for part in (run, gold, train))
    table, counts = Contingency.of(run, gold, labels, k), label_counts(train, labels)
    order = np.argsort(counts, kind="stable")
    order = order[(table.tp + table.fn)[order] > 0]
    values = f1(table.tp, table.fp, table.fn)[order]
    ends = [*range(size, len(order) - size + 1, size), len(order)] if len(order) else []
    starts = [0, *ends[:-1]]
    return [
        Bin(start, end, int(counts[order[end - 1]]), float(values[start:end].mean()))
        for start, end in zip(starts, ends, strict=False)
    ]
