"""Choose examples for a report: single documents, and the labels that a run misses most."""

from dataclasses import dataclass

import numpy as np

from tagwright.evaluation.scores import LabelScore, per_label
from tagwright.types import Longs, Run

K = 5
"The first suggestions that are counted."


@dataclass(frozen=True, slots=True)
class Shown:
    """One suggestion: the label's name, whether it is right, and the words of the document that are evidence for it."""

    name: str
    right: bool
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """One document: its first suggestions, and the gold labels that are not among them."""

    id: str
    title: str
    suggestions: tuple[Shown, ...]
    missed: tuple[str, ...]


def spread(documents: int, count: int) -> Longs:
    """The rows of `count` documents at equal distances: a sample without selection.

    >>> spread(100, 4).tolist(), spread(2, 4).tolist()
    ([12, 37, 62, 87], [0, 1])
    """
    count = min(count, documents)
    return np.asarray((np.arange(count) + 0.5) * documents / max(1, count), np.int64)


def most_missed(run: Run, gold: Run, count: int) -> list[LabelScore]:
    """The labels that are missed at most documents, more frequent labels first among equals.

    Label 0 is gold three times and found once; label 1 is gold once and missed; label 2 is found.

    >>> run, gold = Run.from_rows([[0], [2], [2]]), Run.from_rows([[0], [0, 1], [0, 2]])
    >>> [(each.label, each.fn) for each in most_missed(run, gold, 9)]
    [(0, 2), (1, 1)]
    """
    rows = (row for row in per_label(run, gold, k=K) if row.fn)
    return sorted(rows, key=lambda row: (-row.fn, -row.tp, row.label))[:count]
