"""Measure the calibration of confidences.

Two questions. Calibration: of the suggestions with a confidence of 0.7, are 70% right? The calibration error, the Brier
score and `reliability` answer it. Selection: are confident suggestions right more often than others? `risk_coverage`
and the areas under it, AURC and AUGRC, answer it. The measures pool the suggestions of all documents; the bootstrap
draws documents, not suggestions, since the suggestions of one document are right or wrong together.
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
"Bins of a calibration error, as in Naeini et al. 2015; with more of them, small samples would measure noise."

SELECTION_DEPTH = 10
"Suggestions of each document that can be accepted, for AURC, AUGRC and bounds of wrong labels."


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Suggestions of all documents, pooled: their confidence, and whether they are right.

    gold_counts: (documents,) gold labels of each document. rows: (suggestions,) the document of each. ranks:
    (suggestions,) in its document, from 1. confidence: (suggestions,) from 0 to 1. right: (suggestions,) whether the
    label is a gold label of its document.
    """

    gold_counts: Longs
    rows: Longs
    ranks: Longs
    confidence: Doubles
    right: Mask

    @classmethod
    def of(cls, run: Run, confidence: NDArray[np.floating], gold: Run) -> Self:
        """Judge the suggestions of a run by the gold labels. confidence: (suggestions,) in the order of the run."""
        return cls(np.diff(gold.indptr), run.rows, run.ranks, confidence.astype(np.float64), run.held_by(gold))

    @property
    def documents(self) -> int:
        """Number of documents, with or without suggestions."""
        return len(self.gold_counts)

    def top(self, k: int) -> "Judged":
        """Return the first k suggestions of each document."""
        first = self.ranks <= k
        rows, ranks = self.rows[first], self.ranks[first]
        return Judged(self.gold_counts, rows, ranks, self.confidence[first], self.right[first])


class Threshold(NamedTuple):
    """A confidence threshold for accepting suggestions that bounds the expected loss of a document.

    rule: the loss: "missed", the share of gold labels that are not accepted, or "wrong", the number of wrong labels
    that are accepted. bound: of the expected loss. first: suggestions of a document that can be accepted. confidence:
    the threshold; None where no threshold keeps the bound. accepted: the mean number of labels that are then accepted
    for a document. The guarantee is that of conformal risk control, see tagger/acceptance.py.
    """

    rule: Literal["missed", "wrong"]
    bound: float
    first: int
    confidence: float | None
    accepted: float


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The evaluation of the confidences of a run.

    measures: name -> score; lower is better. reliability, risk_coverage: as these functions return them. thresholds:
    for accepting suggestions.
    """

    measures: Mapping[str, Score]
    reliability: tuple[tuple[int, float, float], ...]
    risk_coverage: tuple[Doubles, Doubles, Doubles]
    thresholds: tuple[Threshold, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: the measures and the thresholds."""
        return {"calibration": to_json(self.measures), "thresholds": [each._asdict() for each in self.thresholds]}


def assess(judged: Judged, *, samples: int = 1000, seed: int = 0) -> Calibration | None:
    """Evaluate confidences: ECE@5, ECE@10, Brier@5, AURC, AUGRC, both curves, thresholds. None without suggestions.

    samples: of the bootstrap, which keeps the bins of the calibration error that all documents give.
    """
    if not len(judged.rows):
        return None
    five, ten, selected = judged.top(5), judged.top(10), judged.top(SELECTION_DEPTH)
    measures: list[Measures] = [_CalibrationError.of("ECE@5", five), _CalibrationError.of("ECE@10", ten)]
    measures += [_brier("Brier@5", five), _Areas.of(selected)]
    return Calibration(
        estimates(measures, judged.documents, samples, seed),
        tuple(reliability(five.confidence, five.right)),
        risk_coverage(selected.confidence, selected.right),
        tuple(thresholds(judged)),
    )


def thresholds(judged: Judged) -> Iterator[Threshold]:
    """Yield thresholds for four bounds of missed labels, and for three of wrong labels among the first ten."""
    first = judged.top(SELECTION_DEPTH)
    for bound in (0.5, 0.3, 0.2, 0.1):
        confidence = threshold_for_missed(judged.confidence, judged.right, judged.rows, judged.gold_counts, bound)
        yield _threshold("missed", bound, math.inf if confidence is None else confidence, judged)
    for bound in (0.5, 1.0, 2.0):
        confidence = threshold_for_wrong(
            first.confidence, first.right, first.rows, first.documents, bound, SELECTION_DEPTH
        )
        yield _threshold("wrong", bound, confidence, first)


def _threshold(rule: Literal["missed", "wrong"], bound: float, confidence: float, judged: Judged) -> Threshold:
    """Count what a threshold accepts; infinity accepts nothing."""
    accepted = float((judged.confidence >= confidence).sum() / judged.documents)
    first = int(judged.ranks.max(initial=0))
    return Threshold(rule, bound, first, confidence if math.isfinite(confidence) else None, accepted)


def threshold_rows(thresholds: Sequence[Threshold]) -> Rows:
    """Return a row for each threshold, rounded to the side on which it keeps its bound.

    Without a threshold, more labels are missed even if all suggestions are accepted, or none may be accepted.

    >>> for row in threshold_rows([
    ...     Threshold("missed", 0.3, 100, 0.2509, 4.0), Threshold("missed", 0.1, 100, None, 0.0),
    ...     Threshold("wrong", 0.5, 10, None, 0.0),
    ... ])[1:]:
    ...     print(row)
    ['30% of labels missed', '100', '0.250', '4.0']
    ['10% of labels missed', '100', 'more are missed', '']
    ['0.5 labels wrong per document', '10', 'accept none', '0.0']
    """
    rows = [["expected at most", "of the first", "accept from confidence", "labels per document"]]
    for rule, bound, first, confidence, accepted in thresholds:
        missed = rule == "missed"
        limit = f"{bound:.0%} of labels missed" if missed else f"{bound} labels wrong per document"
        if confidence is None:
            cells = ["more are missed", ""] if missed else ["accept none", "0.0"]
        else:
            rounded = math.floor(1000 * confidence) if missed else math.ceil(1000 * confidence)
            cells = [f"{rounded / 1000:.3f}", f"{accepted:.1f}"]
        rows.append([limit, str(first), *cells])
    return rows


def equal_mass_bins(confidence: Doubles, bins: int = BINS) -> Longs:
    """(suggestions,) the bin of each, from 0 for the least confident; equal confidences share the lowest of theirs.

    >>> equal_mass_bins(np.array([0.7, 0.1, 0.1, 0.9]), 4).tolist()
    [2, 0, 0, 3]
    """
    return np.asarray(np.searchsorted(np.sort(confidence), confidence) * bins // max(1, len(confidence)), np.int64)


def reliability(confidence: Doubles, right: Mask, bins: int = BINS) -> Iterator[tuple[int, float, float]]:
    """Yield the bins of the calibration error that are not empty, by rising confidence: a reliability diagram.

    Of each bin: the number of suggestions, their mean confidence, and the share that is right, from 0 to 1.

    >>> list(reliability(np.array([0.75, 0.25]), np.array([True, False]), bins=2))[1]
    (1, 0.75, 1.0)
    """
    numbers = equal_mass_bins(confidence, bins)
    for number in np.unique(numbers):
        inside = numbers == number
        yield int(inside.sum()), float(confidence[inside].mean()), float(right[inside].mean())


def risk_coverage(confidence: Doubles, right: Mask) -> tuple[Doubles, Doubles, Doubles]:
    """Return the curve of selective prediction (El-Yaniv & Wiener 2010): the most confident suggestions come first.

    confidence, right: (suggestions,). Returned are, with a point for each different confidence, (points,) falling
    thresholds: suggestions with at least this confidence are accepted; coverage: the share of all suggestions that is
    accepted; risk: the share of the accepted that is wrong.

    First one right label, then two of equal confidence, one of them wrong.

    >>> [part.round(2).tolist() for part in risk_coverage(np.array([0.5, 0.9, 0.5]), np.array([False, True, True]))]
    [[0.9, 0.5], [0.33, 1.0], [0.0, 0.33]]
    """
    order, ends = surest_first(confidence)
    wrong, accepted = np.cumsum(~right[order])[ends], ends + 1.0
    return confidence[order][ends], accepted / max(1, len(confidence)), wrong / accepted


@dataclass(frozen=True, slots=True, eq=False)
class _CalibrationError:
    """ECE@k, the expected calibration error, from 0, the best, to 1, as a measure.

    Naeini et al. 2015, with the equal-mass bins of Nixon et al. 2019: sum over the bins b of
    n_b / n * |mean confidence in b - share right in b|. Equal confidences share a bin, so that bins can differ in size.

    gaps: (documents, bins) sums of confidence - right, n_b * (mean - share). sizes: (documents,) suggestions.
    """

    names: tuple[str, ...]
    gaps: Doubles
    sizes: Doubles

    @classmethod
    def of(cls, name: str, judged: Judged) -> Self:
        cells = judged.rows * BINS + equal_mass_bins(judged.confidence)
        gaps: Doubles = np.bincount(cells, judged.confidence - judged.right, judged.documents * BINS).astype(np.float64)
        sizes = np.bincount(judged.rows, minlength=judged.documents).astype(np.float64)
        return cls((name,), gaps.reshape(judged.documents, BINS), sizes)

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, bins + 1): the gap of each bin, then the number of suggestions."""
        return weights @ np.column_stack([self.gaps, self.sizes])

    def values(self, sums: Doubles) -> Doubles:
        """(samples, 1): the calibration error."""
        return np.asarray(np.abs(sums[:, :-1]).sum(axis=1) / np.maximum(1.0, sums[:, -1]), np.float64)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class _Areas:
    """AURC and AUGRC as measures. They depend on the order of suggestions: no sums over documents give them.

    rows, wrong: (suggestions,) by falling confidence. ends: the last place of each group of equal confidences.
    """

    rows: Longs
    wrong: Doubles
    ends: Longs
    names: tuple[str, ...] = ("AURC", "AUGRC")

    @classmethod
    def of(cls, judged: Judged) -> Self:
        order, ends = surest_first(judged.confidence)
        return cls(judged.rows[order], (~judged.right[order]).astype(np.float64), ends)

    def sums(self, weights: Doubles) -> Doubles:
        """(samples, suggestions): in place of sums the weight of each suggestion, by falling confidence."""
        return weights[:, self.rows]

    def values(self, sums: Doubles) -> Doubles:
        """(samples, 2): AURC and AUGRC."""
        return np.array([_areas(row, self.wrong, self.ends) for row in sums])


def _brier(name: str, judged: Judged) -> Ratios:
    """The Brier score (Brier 1950): the mean of (confidence - right)^2 over suggestions, right being 1 or 0."""
    squares: Doubles = np.bincount(judged.rows, (judged.confidence - judged.right) ** 2, judged.documents).astype(float)
    sizes = np.bincount(judged.rows, minlength=judged.documents).astype(np.float64)
    return Ratios((name,), squares[:, None], sizes[:, None])


def _areas(weights: Doubles, wrong: Doubles, ends: Longs) -> tuple[float, float]:
    """AURC and AUGRC of suggestions, of which each occurs `weights` times, a whole number; all by falling confidence.

    AURC: the area under risk over coverage, the mean of the risks at 1, 2, ..., n accepted suggestions (Geifman et al.
    2019), itself the mean over all orders of suggestions of equal confidence. AUGRC: the area under the generalised
    risk over coverage, by trapezoids (Traub et al. 2024). The generalised risk is the share of all suggestions that is
    accepted and wrong, so that the few most confident do not decide. For the share a of right suggestions AUGRC is
    (1 - AUROC) a (1 - a) + (1 - a)^2 / 2.

    Within a group of equal confidence, from a to b accepted, the expected number of wrong ones rises in a line
    w(i) = w_a + s (i - a). The sum of w(i) / i is s (b - a) + (w_a - s a)(H_b - H_a), with the harmonic numbers H.

    Right, wrong, wrong: the risks are 0, 1/2, 2/3, their mean 7/18. After 0, 1, 2, 3 accepted the generalised risks are
    0, 0, 1/3, 2/3; the trapezoids are (0 + 1/6 + 1/2) / 3 = 2/9.

    >>> [round(area, 4) for area in _areas(np.ones(3), np.array([0.0, 1.0, 1.0]), np.arange(3))]
    [0.3889, 0.2222]
    """
    accepted = np.concatenate([[0.0], np.cumsum(weights)[ends]])
    errors = np.concatenate([[0.0], np.cumsum(weights * wrong)[ends]])
    total = accepted[-1]
    if not total:
        return 0.0, 0.0
    size, rise = np.diff(accepted), np.diff(errors)
    slope = np.divide(rise, size, out=np.zeros(len(size)), where=size > 0)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(total) + 1))])[accepted.astype(np.int64)]
    risks = slope * size + (errors[:-1] - slope * accepted[:-1]) * np.diff(harmonic)
    return float(risks.sum() / total), float(((errors[:-1] + rise / 2) * size).sum() / total**2)
