"""Measure the calibration of confidences.

Two questions. Calibration: of the labels that are called 70% sure, are 70% right? `calibration_error`, the Brier score
and `reliability` tell. Selection: are the surest labels right more often than the others? `risk_coverage` and its areas
tell. All look at suggestions of many documents together, and the intervals draw documents anew, because the suggestions
of one document are right or wrong together.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.evaluation.resampling import Measures, Ratios, Score, estimates, to_json
from tagwright.evaluation.tables import Rows
from tagwright.tagger.acceptance import surest_first, threshold_for_missed, threshold_for_wrong
from tagwright.types import Doubles, Longs, Mask, Run

BINS = 10
"Bins of a calibration error (Naeini et al. 2015 take 10 too); more of them measure the noise of small samples."

DEPTHS = (5, 10)
"The calibration error is measured on the first 5, and the first 10, suggestions of each document."

ACCEPTABLE = 10
"Suggestions of each document that can be accepted or not, when AURC and AUGRC are computed."

MISSED, WRONG = (0.5, 0.3, 0.2, 0.1), (0.5, 1.0, 2.0)
"Bounds for which thresholds are given: of the share of labels that are missed, and of wrong labels per document."


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Suggestions for a number of documents, with their confidence, and whether they are right.

    gold: (documents,) how many gold labels each document has. rows: (suggestions,) the document of each. ranks:
    (suggestions,) from 1. confidence: (suggestions,) from 0 to 1. right: (suggestions,) whether the label is a gold
    label of its document.
    """

    gold: Longs
    rows: Longs
    ranks: Longs
    confidence: Doubles
    right: Mask

    @classmethod
    def of(cls, run: Run, confidence: NDArray[np.floating], gold: Run) -> Self:
        """Look the suggestions of a run up among the gold labels. confidence: (suggestions,), aligned with the run.

        Raises ValueError when there is not one confidence from 0 to 1 for each suggestion.
        """
        if confidence.shape != run.labels.shape:
            raise ValueError(f"{len(confidence)} confidences for {len(run.labels)} suggestions")
        if not ((confidence >= 0) & (confidence <= 1)).all():
            raise ValueError("a confidence is not a number from 0 to 1")
        sizes = np.diff(gold.indptr)
        return cls(sizes, run.rows, run.ranks, confidence.astype(np.float64), run.held_by(gold))

    @property
    def documents(self) -> int:
        """Number of documents, with or without suggestions."""
        return len(self.gold)

    def first(self, k: int) -> "Judged":
        """The first k suggestions of each document."""
        kept = self.ranks <= k
        rows, ranks = self.rows[kept], self.ranks[kept]
        return Judged(self.gold, rows, ranks, self.confidence[kept], self.right[kept])


class ReliabilityBin(NamedTuple):
    """Suggestions of similar confidence: how many, their mean confidence, and the share of them that is right."""

    suggestions: int
    confidence: float
    right: float


class RiskCoverage(NamedTuple):
    """The effect of accepting all suggestions above a confidence, with a point for each confidence.

    threshold: (points,) falling; suggestions with at least this confidence are accepted. coverage: (points,) the share
    of the suggestions that is accepted. risk: (points,) the share of wrong ones among the accepted.
    """

    threshold: Doubles
    coverage: Doubles
    risk: Doubles


class Threshold(NamedTuple):
    """The confidence from which suggestions are to be accepted, if a document is to be expected to keep a bound.

    rule: "missed", the share of its gold labels that are not accepted; "wrong", how many that are accepted are wrong.
    first: how many suggestions of a document are considered; with fewer, more is missed. confidence: None where no
    threshold can promise it. accepted: labels that are accepted then, per document. What is guaranteed: see
    tagger/acceptance.py.
    """

    rule: Literal["missed", "wrong"]
    bound: float
    first: int
    confidence: float | None
    accepted: float


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The evaluation of confidences of a run: measures with intervals, two curves, and thresholds."""

    measures: Mapping[str, Score]
    reliability: tuple[ReliabilityBin, ...]
    risk_coverage: RiskCoverage
    thresholds: tuple[Threshold, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON form: the measures and the thresholds."""
        return {"calibration": to_json(self.measures), "thresholds": [bound._asdict() for bound in self.thresholds]}


def assess(judged: Judged, *, samples: int = 1000, seed: int = 0) -> Calibration | None:
    """ECE@5, ECE@10, Brier@5, AURC and AUGRC with 95% bootstrap intervals, and the curves; None without suggestions.

    The calibration error is computed in the bins of the whole sample, also where documents are drawn anew.
    """
    if not len(judged.rows):
        return None
    acceptable, five = judged.first(ACCEPTABLE), judged.first(DEPTHS[0])
    measures: list[Measures] = [_CalibrationErrors.of(f"ECE@{k}", judged.first(k)) for k in DEPTHS]
    measures += [_brier(f"Brier@{DEPTHS[0]}", five), _Areas.of(acceptable)]
    return Calibration(
        estimates(measures, judged.documents, samples, seed),
        tuple(reliability(five.confidence, five.right)),
        risk_coverage(acceptable.confidence, acceptable.right),
        tuple(thresholds(judged)),
    )


def thresholds(judged: Judged) -> Iterator[Threshold]:
    """The thresholds for `MISSED`, of all suggestions, and for `WRONG`, of the first `ACCEPTABLE` of each document."""
    first = judged.first(ACCEPTABLE)
    for bound in MISSED:
        least = threshold_for_missed(judged.confidence, judged.right, judged.rows, judged.gold, bound)
        yield _threshold("missed", bound, math.inf if least is None else least, judged)
    for bound in WRONG:
        least = threshold_for_wrong(first.confidence, first.right, first.rows, first.documents, bound, ACCEPTABLE)
        yield _threshold("wrong", bound, least, first)


def _threshold(rule: Literal["missed", "wrong"], bound: float, least: float, judged: Judged) -> Threshold:
    accepted = float((judged.confidence >= least).sum() / judged.documents)
    first = int(judged.ranks.max(initial=0))
    return Threshold(rule, bound, first, least if math.isfinite(least) else None, accepted)


def threshold_rows(thresholds: Sequence[Threshold]) -> Rows:
    """From which confidence on suggestions are to be accepted to keep a bound, and how many these are.

    The threshold is rounded to the side on which the bound is kept. Where more labels are missed even if all
    suggestions are accepted, no threshold helps; where any suggestion may be wrong too often, none is accepted.

    >>> for row in threshold_rows([
    ...     Threshold("missed", 0.3, 100, 0.2509, 4.0), Threshold("missed", 0.1, 100, None, 0.0),
    ...     Threshold("wrong", 0.5, 10, None, 0.0),
    ... ])[1:]:
    ...     print(row)
    ['30% of labels missed', '100', '0.250', '4.0']
    ['10% of labels missed', '100', 'more are missed', '']
    ['0.5 labels wrong per document', '10', 'accept none', '0.0']
    """
    bounds = {"missed": lambda bound: f"{bound:.0%} of labels missed", "wrong": "{} labels wrong per document".format}
    rounding = {"missed": math.floor, "wrong": math.ceil}
    without = {"missed": "more are missed", "wrong": "accept none"}
    rows = [["expected at most", "of the first", "accept from confidence", "labels per document"]]
    for rule, bound, first, confidence, accepted in thresholds:
        if confidence is None:
            cells = [without[rule], "" if rule == "missed" else f"{accepted:.1f}"]
        else:
            cells = [f"{rounding[rule](1000 * confidence) / 1000:.3f}", f"{accepted:.1f}"]
        rows.append([bounds[rule](bound), str(first), *cells])
    return rows


def calibration_error(confidence: Doubles, right: Mask, bins: int = BINS) -> float:
    """ECE: the mean distance of confidence from the share that is right, over bins of as many suggestions each.

    Naeini et al. 2015, with the equal-mass bins of Nixon et al. 2019: sum over the bins b of
    n_b / n * |mean confidence in b - share right in b|. Equal confidences are never separated, so bins can be larger.

    Two bins. The surer one is 0.85 sure and half right, the other 0.25 sure and all wrong: (0.35 + 0.25) / 2.

    >>> sure, right = np.array([0.9, 0.8, 0.3, 0.2]), np.array([True, False, False, False])
    >>> round(calibration_error(sure, right, bins=2), 4)
    0.3
    """
    gaps = np.bincount(bin_of(confidence, bins), confidence - right, bins)
    return float(np.abs(gaps).sum() / max(1, len(confidence)))


def bin_of(confidence: Doubles, bins: int = BINS) -> Longs:
    """(suggestions,) the equal-mass bin of each, from 0 for the least sure; those equally sure share the lowest.

    >>> bin_of(np.array([0.7, 0.1, 0.1, 0.9]), 4).tolist()
    [2, 0, 0, 3]
    """
    return np.asarray(np.searchsorted(np.sort(confidence), confidence) * bins // max(1, len(confidence)), np.int64)


def reliability(confidence: Doubles, right: Mask, bins: int = BINS) -> Iterator[ReliabilityBin]:
    """The points of a reliability diagram, one for each bin of `calibration_error` that is not empty, least sure first.

    >>> list(reliability(np.array([0.75, 0.25]), np.array([True, False]), bins=2))[1]
    ReliabilityBin(suggestions=1, confidence=0.75, right=1.0)
    """
    places = bin_of(confidence, bins)
    sizes = np.bincount(places, minlength=bins)
    for number in np.flatnonzero(sizes):
        inside = places == number
        yield ReliabilityBin(int(sizes[number]), float(confidence[inside].mean()), float(right[inside].mean()))


def risk_coverage(confidence: Doubles, right: Mask) -> RiskCoverage:
    """The curve of selective prediction (El-Yaniv & Wiener 2010): the surest suggestions are accepted first.

    Risk is the share of wrong labels among the accepted. One right label, then two as sure, one of them wrong.

    >>> curve = risk_coverage(np.array([0.5, 0.9, 0.5]), np.array([False, True, True]))
    >>> curve.threshold.tolist(), curve.coverage.round(2).tolist(), curve.risk.round(2).tolist()
    ([0.9, 0.5], [0.33, 1.0], [0.0, 0.33])
    """
    order, ends = surest_first(confidence)
    wrong, accepted = np.cumsum(~right[order])[ends], ends + 1.0
    return RiskCoverage(confidence[order][ends], accepted / max(1, len(confidence)), wrong / accepted)


@dataclass(frozen=True, slots=True, eq=False)
class _CalibrationErrors:
    """One calibration error. gaps: (documents, bins) sums of confidence - right. sizes: (documents,) suggestions."""

    names: tuple[str, ...]
    gaps: Doubles
    sizes: Doubles

    @classmethod
    def of(cls, name: str, judged: Judged) -> Self:
        cells = judged.rows * BINS + bin_of(judged.confidence)
        gaps: Doubles = np.bincount(cells, judged.confidence - judged.right, judged.documents * BINS).astype(np.float64)
        sizes = np.bincount(judged.rows, minlength=judged.documents).astype(np.float64)
        return cls((name,), gaps.reshape(judged.documents, BINS), sizes)

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, bins + 1)."""
        return weights @ np.column_stack([self.gaps, self.sizes])

    def values(self, sums: Doubles) -> Doubles:
        """(samples, 1)."""
        return np.asarray(np.abs(sums[:, :-1]).sum(axis=1) / np.maximum(1.0, sums[:, -1]), np.float64)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class _Areas:
    """AURC and AUGRC. rows, wrong: (suggestions,) by falling confidence. ends: where the equally sure ones end."""

    rows: Longs
    wrong: Doubles
    ends: Longs
    names: tuple[str, ...] = ("AURC", "AUGRC")

    @classmethod
    def of(cls, judged: Judged) -> Self:
        order, ends = surest_first(judged.confidence)
        return cls(judged.rows[order], (~judged.right[order]).astype(np.float64), ends)

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, suggestions) the weight of each suggestion, surest first."""
        return weights[:, self.rows]

    def values(self, sums: Doubles) -> Doubles:
        """(samples, 2)."""
        return np.array([_areas(row, self.wrong, self.ends) for row in sums])


def _brier(name: str, judged: Judged) -> Ratios:
    """The mean squared distance of confidence from 1 for what is right and 0 for what is wrong (Brier 1950)."""
    squares: Doubles = np.bincount(judged.rows, (judged.confidence - judged.right) ** 2, judged.documents).astype(float)
    sizes = np.bincount(judged.rows, minlength=judged.documents).astype(np.float64)
    return Ratios((name,), squares[:, None], sizes[:, None])


def _areas(weights: Doubles, wrong: Doubles, ends: Longs) -> tuple[float, float]:
    """AURC and AUGRC of suggestions by falling confidence that count `weights` (whole numbers) times each.

    AURC: the area under risk over coverage, the mean of the risks at 1, 2, ..., n accepted suggestions (Geifman et al.
    2019); equally sure suggestions are accepted in random order, the mean over all such orders. AUGRC: the area under
    the generalised risk over coverage, by trapezoids (Traub et al. 2024); it is the share of all suggestions that is
    accepted and wrong, so that the few surest do not decide. For the share a of right suggestions it is
    (1 - AUROC) a (1 - a) + (1 - a)^2 / 2.

    Within a group of equally sure suggestions the number of wrong ones rises in a line w(i) = w_a + s (i - a), from a
    to b accepted. The sum of w(i) / i is s (b - a) + (w_a - s a)(H_b - H_a), with the harmonic numbers H.

    Right, wrong, wrong: the risks are 0, 1/2, 2/3, their mean 7/18. Of all, 0, 0, 1/3, 2/3 are accepted and wrong; the
    trapezoids are (0 + 1/6 + 1/2) / 3 = 2/9.

    >>> [round(area, 4) for area in _areas(np.ones(3), np.array([0.0, 1.0, 1.0]), np.arange(3))]
    [0.3889, 0.2222]
    """
    accepted = np.concatenate([[0.0], np.cumsum(weights)[ends]])
    errors = np.concatenate([[0.0], np.cumsum(weights * wrong)[ends]])
    all_ = accepted[-1]
    if not all_:
        return 0.0, 0.0
    size, rise = np.diff(accepted), np.diff(errors)
    slope = np.divide(rise, size, out=np.zeros(len(size)), where=size > 0)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(all_) + 1))])[accepted.astype(np.int64)]
    risks = slope * size + (errors[:-1] - slope * accepted[:-1]) * np.diff(harmonic)
    return float(risks.sum() / all_), float(((errors[:-1] + rise / 2) * size).sum() / all_**2)
