"""Choose examples for a report: single documents, and the labels that a run misses most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.evaluation.scores import per_label
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


@dataclass(frozen=True, slots=True)
class Missed:
    """A label: its documents, at how many of them it is among the first k, and how often it is wrong."""

    label: int
    gold: int
    found: int
    wrong: int


def spread(documents: int, count: int) -> Longs:
    """The rows of `count` documents at equal distances: a sample without selection.

    >>> spread(100, 4).tolist(), spread(2, 4).tolist()
    ([12, 37, 62, 87], [0, 1])
    """
    count = min(count, documents)
    return np.asarray((np.arange(count) + 0.5) * documents / max(1, count), np.int64)


def most_missed(run: Run, gold: Run, count: int, k: int = K) -> list[Missed]:
    """The labels that are missed at most documents, more frequent labels first among equals.

    Label 0 is gold three times and found once; label 1 is gold once and missed; label 2 is found.

    >>> run, gold = Run.from_rows([[0], [2], [2]]), Run.from_rows([[0], [0, 1], [0, 2]])
    >>> most_missed(run, gold, 9)
    [Missed(label=0, gold=3, found=1, wrong=0), Missed(label=1, gold=1, found=0, wrong=0)]
    """
    rows = sorted((row for row in per_label(run, gold, k=k) if row.fn), key=lambda row: (-row.fn, -row.tp, row.label))
    return [Missed(row.label, row.tp + row.fn, row.tp, row.fp) for row in rows[:count]]


def example(
    id_: str,
    title: str,
    suggested: Sequence[int],
    gold: Sequence[int],
    names: Sequence[str],
    words: Sequence[Sequence[str]] = (),
) -> Example:
    """A document with its first suggestions. names: of all labels. words: the evidence for each suggestion, if known.

    >>> example("d", "Bees", [1, 2], [2, 0], ["ants", "bees", "wasps"], [["bee"], []])  # doctest: +NORMALIZE_WHITESPACE
    Example(id='d', title='Bees', suggestions=(Shown(name='bees', right=False, words=('bee',)),
        Shown(name='wasps', right=True, words=())), missed=('ants',))
    """
    right, evidence = set(gold), [tuple(each) for each in words] or [()] * len(suggested)
    shown = zip(suggested, evidence, strict=True)
    missed = sorted(right.difference(suggested))
    return Example(
        id_,
        title,
        tuple(Shown(names[label], label in right, found) for label, found in shown),
        tuple(names[label] for label in missed),
    )
