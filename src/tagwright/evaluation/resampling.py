"""Compute measures on resampled documents, for intervals and randomisation tests.

Every measure here is computed from sums over the documents. Weighted sums give the measure on a bootstrap sample, where
a weight is how often the document was drawn, and in a randomisation test, where it is whether the document keeps its
run. The sums of hundreds of samples are one matrix product, weights (samples, documents) @ (documents, sums).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from tagwright.evaluation.metrics import f1
from tagwright.types import Doubles, Mask, Run


class Score(float):
    """The value of a measure, a number, with its 95% interval; the documents are a random sample of all possible ones.

    value: of the measure, from 0 to 1, or a difference from -1 to 1. low, high: the ends of the interval.

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

    def __getnewargs__(self) -> tuple[float, float, float]:  # type: ignore[override]  # to copy and pickle the interval
        return self.value, self.low, self.high

    @property
    def value(self) -> float:
        """The value as a plain number."""
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
        """(samples, sums): weighted sums over the documents, linear in the weights (samples, documents)."""
        ...

    def values(self, sums: Doubles) -> Doubles:
        """(samples, measures): the measures from their sums (samples, sums)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Measures that are a sum over the documents divided by another sum, such as micro-averages and means.

    parts, wholes: (documents, measures) numerators and denominators; for a mean the denominators are 1.
    """

    names: tuple[str, ...]
    parts: Doubles
    wholes: Doubles

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, 2 * measures): sums of the numerators, then of the denominators."""
        return weights @ np.hstack([self.parts, self.wholes])

    def values(self, sums: Doubles) -> Doubles:
        """(samples, measures), 0 where the denominator is 0."""
        part, whole = np.split(sums, 2, axis=1)
        return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


@dataclass(frozen=True, slots=True, eq=False)
class MacroF1:
    """macro-F1@k: the mean F1 of the labels that are gold for at least one document (Yang & Liu 1999; DEPL 5.2).

    The mean is over gold labels only, so that two runs are averaged over the same labels; wrong suggestions lower the
    F1 of labels that are gold elsewhere. A sample averages over the labels that are gold in it.

    counts: sparse (3 * labels, documents) of 0 and 1, in three blocks: whether the label is suggested and gold for the
    document, whether it is suggested, whether it is gold.
    """

    names: tuple[str, ...]
    counts: Any

    @classmethod
    def of(cls, name: str, run: Run, gold: Run, k: int, among: Mask | None = None) -> Self:
        """Count the first k suggestions of each document. among: (labels,) labels to average over; None: all."""
        from scipy.sparse import csr_array, vstack

        top = run.top(k)
        averaged = np.unique(gold.labels if among is None else gold.labels[among[gold.labels]])

        def incidence(part: Run) -> Any:
            part = part.keep(np.isin(part.labels, averaged))
            cells = np.searchsorted(averaged, part.labels), part.rows
            return csr_array((np.ones(len(part.labels)), cells), shape=(len(averaged), len(part)))

        parts = top.keep(top.held_by(gold)), top, gold
        return cls((name,), vstack([incidence(part) for part in parts], format="csr"))

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, 3 * labels): the number of documents for which each label is right, suggested, gold."""
        return np.asarray((self.counts @ weights.T).T, np.float64)

    def values(self, sums: Doubles) -> Doubles:
        """(samples, 1) the mean F1, 0 where no label is gold."""
        right, suggested, gold = np.split(sums, 3, axis=1)
        scores = f1(right, suggested - right, gold - right).sum(axis=1, keepdims=True)
        return np.asarray(scores / np.maximum(1, (gold > 0).sum(axis=1, keepdims=True)), np.float64)


def estimates(measures: Sequence[Measures], documents: int, samples: int, seed: int) -> dict[str, Score]:
    """Return each measure, from 0 to 1, with its 95% bootstrap interval over the documents.

    documents: their number. samples: of the bootstrap.
    """
    if not measures:
        return {}
    points = sampled_values(measures, np.ones((1, documents)))[0]
    drawn = np.concatenate([sampled_values(measures, weights) for weights in bootstrap(documents, samples, seed)])
    low, high = np.clip(interval(points, drawn, documents), 0, 1)  # the correction of the bias may lead beyond
    names = [name for part in measures for name in part.names]
    return {name: Score(*map(float, row)) for name, *row in zip(names, points, low, high, strict=True)}


def sampled_values(measures: Sequence[Measures], weights: Doubles) -> Doubles:
    """(samples, measures): the value of each measure on each sample; weights: (samples, documents).

    Rounded to 12 decimals: the digits beyond depend on the order of summation, and 1 would not equal 1.
    """
    columns = np.hstack([part.values(part.sums(weights)) for part in measures])
    return np.asarray(columns.round(12), np.float64)


def interval(points: Doubles, drawn: Doubles, documents: int) -> Doubles:
    """(2, measures): percentiles of the samples, less the bias of the samples: a 95% interval.

    points: (measures,) on all documents. drawn: (samples, measures). documents: the size of a sample.

    The percentiles are 2.5% and 97.5% for many documents. For few they lie further out, since samples of n documents
    vary less than they should, by (n - 1) / n, and the normal distribution stands in for Student's t with n - 1 degrees
    of freedom: the lower one is Phi(-sqrt(n / (n - 1)) t), the "expanded percentile interval" of Hesterberg (2015,
    What Teachers Should Know About the Bootstrap). Of 33 documents it is 1.9%, and the interval is 5% wider.

    The bias is the mean of the samples minus the value on all documents. It matters for macro-F1: a sample lacks a
    third of the labels with a single document, and the others are easier. For means it is close to 0.

    Of 0, 1, ..., 40 the percentiles are 1 and 39 and the mean is 20. The value is 18, so the bias is 2.

    >>> interval(np.array([18.0]), np.arange(41.0)[:, None], 10**9).round(4).tolist()
    [[-1.0], [37.0]]
    """
    from scipy.special import ndtr, stdtrit

    n = max(2, documents)
    lower = ndtr(-math.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.975))
    bias = drawn.mean(axis=0) - points
    return np.asarray((np.quantile(drawn, [lower, 1 - lower], axis=0) - bias).round(12), np.float64)


def bootstrap(documents: int, samples: int, seed: int) -> Iterator[Doubles]:
    """Yield weights (batch of samples, documents): how often each document is drawn, with replacement."""
    rng = np.random.default_rng(seed)
    for batch in _batches(documents, samples):
        cells = rng.integers(documents, size=(batch, documents)) + documents * np.arange(batch)[:, None]
        yield np.bincount(cells.ravel(), minlength=batch * documents).reshape(batch, documents).astype(np.float64)


def sign_flips(documents: int, samples: int, seed: int) -> Iterator[Doubles]:
    """Yield weights (batch of samples, documents): 1 or 0 with equal probability."""
    rng = np.random.default_rng(seed)
    for batch in _batches(documents, samples):
        yield rng.integers(2, size=(batch, documents), dtype=np.int8).astype(np.float64)


def _batches(documents: int, samples: int) -> Iterator[int]:
    """Yield sizes of batches of samples whose weights, float64, take about 8 MiB for any number of documents."""
    batch = max(1, (1 << 20) // documents)
    for start in range(0, samples, batch):
        yield min(batch, samples - start)
