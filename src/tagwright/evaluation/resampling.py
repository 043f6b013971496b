"""Compute measures on resampled documents, for intervals and randomisation tests.

Every measure here is computed from sums over the documents. With a weight for each document the same sums give the
measure on a bootstrap sample, or on the part of the documents that a randomisation test leaves with their system.
Hundreds of samples are one matrix product.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from tagwright.evaluation.metrics import f1
from tagwright.types import Doubles, Mask, Run


class Score(float):
    """A measure, which is a number, and its 95% interval, with the documents as a random sample of all possible ones.

    >>> score = Score(0.5, 0.25, 0.75)
    >>> score, score.value, score.high, score + 1
    (Score(0.5, 0.25, 0.75), 0.5, 0.75, 1.5)
    """

    __slots__ = ("high", "low")
    low: float
    high: float

    def __new__(cls, value: float, low: float, high: float) -> Self:  # noqa: D102  # the class says it
        score = super().__new__(cls, value)
        score.low, score.high = float(low), float(high)
        return score

    def __getnewargs__(self) -> tuple[float, float, float]:  # type: ignore[override]  # as __new__ takes them
        return self.value, self.low, self.high

    def __eq__(self, other: object) -> bool:
        """Two scores are equal with their intervals; a score and a number by value."""
        if isinstance(other, Score):
            return self.__getnewargs__() == other.__getnewargs__()
        return float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other if isinstance(other, Score) else float.__ne__(self, other)

    __hash__ = float.__hash__

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def __repr__(self) -> str:
        return f"Score({self.value!r}, {self.low!r}, {self.high!r})"

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return format(self.value, specification)

    def to_json(self) -> dict[str, float]:
        """The JSON form: value, low, high."""
        return {"value": self.value, "low": self.low, "high": self.high}


def to_json(measures: Mapping[str, Score]) -> dict[str, dict[str, float]]:
    """The JSON form of measures: name -> value, low, high."""
    return {name: score.to_json() for name, score in measures.items()}


class Measures(Protocol):
    """Measures of one run that are computed from sums over its documents."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the measures, such as P@5."""
        ...

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, documents) weights -> (samples, any number of) sums, linear in the weights."""
        ...

    def values(self, sums: Doubles) -> Doubles:
        """(samples, sums) -> (samples, measures)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Measures that are one sum over another; a mean over documents has the denominator 1 for every document.

    parts, wholes: (documents, measures).
    """

    names: tuple[str, ...]
    parts: Doubles
    wholes: Doubles

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, 2 * measures): numerators, then denominators."""
        return weights @ np.hstack([self.parts, self.wholes])

    def values(self, sums: Doubles) -> Doubles:
        """(samples, measures), 0 where the denominator is 0."""
        part, whole = np.split(sums, 2, axis=1)
        return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


@dataclass(frozen=True, slots=True, eq=False)
class MacroF1:
    """macro-F1@k: the mean F1 of the labels that are gold for at least one document (Yang & Liu 1999; DEPL 5.2).

    A label that is suggested and never gold lowers no F1 but its own, which is not in the mean, so that two runs are
    averaged over the same labels. A sample averages over the labels that are gold in it.

    tallies: sparse (3 * gold labels, documents), 1 where the label is found, where it is suggested, where it is gold.
    """

    names: tuple[str, ...]
    tallies: Any

    @classmethod
    def of(cls, name: str, run: Run, gold: Run, k: int, among: Mask | None = None) -> Self:
        """among: (labels,) the labels to average over, where not all."""
        from scipy.sparse import csr_array, vstack

        top = run.top(k)
        counted = np.unique(gold.labels if among is None else gold.labels[among[gold.labels]])

        def incidence(part: Run) -> Any:
            part = part.keep(np.isin(part.labels, counted))
            cells = np.searchsorted(counted, part.labels), part.rows
            return csr_array((np.ones(len(part.labels)), cells), shape=(len(counted), len(part)))

        parts = top.keep(top.held_by(gold)), top, gold
        return cls((name,), vstack([incidence(part) for part in parts], format="csr"))

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, 3 * labels): how many documents each label is found at, suggested at, gold at."""
        return np.asarray((self.tallies @ weights.T).T, np.float64)

    def values(self, sums: Doubles) -> Doubles:
        """(samples, 1), 0 when no label counts."""
        right, suggested, gold = np.split(sums, 3, axis=1)
        scores = f1(right, suggested - right, gold - right).sum(axis=1, keepdims=True)
        return np.asarray(scores / np.maximum(1, (gold > 0).sum(axis=1, keepdims=True)), np.float64)


def estimates(measures: Sequence[Measures], documents: int, samples: int, seed: int) -> dict[str, Score]:
    """Each measure with its 95% bootstrap interval over the documents; the ends are not taken beyond 0 and 1."""
    if not measures:
        return {}
    points = values(measures, np.ones((1, documents)))[0]
    drawn = np.concatenate([values(measures, weights) for weights in bootstrap(documents, samples, seed)])
    low, high = np.clip(interval(points, drawn), 0, np.maximum(1, drawn.max(axis=0)))
    names = [name for part in measures for name in part.names]
    return {name: Score(*map(float, row)) for name, *row in zip(names, points, low, high, strict=True)}


def values(measures: Sequence[Measures], weights: Doubles) -> Doubles:
    """(samples, documents) weights -> (samples, measures).

    Rounded to 12 decimals: the digits beyond depend on the order of summation, and 1 would not equal 1.
    """
    columns = np.hstack([part.values(part.sums(weights)) for part in measures])
    return np.asarray(columns.round(12), np.float64)


def interval(points: Doubles, drawn: Doubles) -> Doubles:
    """(measures,) and (samples, measures) -> (2, measures): the 2.5% and 97.5% percentiles, moved by the draws' bias.

    The bias is the draws' mean minus the value. It matters for macro-F1: resampling leaves out a third of the labels
    with a single document, and the remaining labels are easier. For means it is random and close to 0: correcting it,
    as for every measure, hardly moves the ends.

    Of 0, 1, ..., 40 the percentiles are 1 and 39 and the mean is 20; the value is 18.

    >>> interval(np.array([18.0]), np.arange(41.0)[:, None]).tolist()
    [[-1.0], [37.0]]
    """
    bias = drawn.mean(axis=0) - points
    return np.asarray((np.quantile(drawn, [0.025, 0.975], axis=0) - bias).round(12), np.float64)


def bootstrap(documents: int, samples: int, seed: int) -> Iterator[Doubles]:
    """Weights (some of the samples, documents): how often each document is drawn when as many are drawn anew."""
    random = np.random.default_rng(seed)
    for some in _batches(documents, samples):
        drawn = random.integers(documents, size=(some, documents)) + documents * np.arange(some)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=some * documents)
        yield counts.reshape(some, documents).astype(np.float64)


def sign_flips(documents: int, samples: int, seed: int) -> Iterator[Doubles]:
    """Weights (some of the samples, documents): 1 or 0 with equal probability."""
    random = np.random.default_rng(seed)
    for some in _batches(documents, samples):
        yield random.integers(2, size=(some, documents), dtype=np.int8).astype(np.float64)


def _batches(documents: int, samples: int, cells: int = 1 << 20) -> Iterator[int]:
    """Split the samples into batches whose weights take about 8 MB for any number of documents."""
    batch = max(1, cells // documents)
    for start in range(0, samples, batch):
        yield min(batch, samples - start)
