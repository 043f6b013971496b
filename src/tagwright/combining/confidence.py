"""Map scores to probabilities, learned from labelled documents.

The map rises with the score or stays, so it never changes a ranking. It is fitted on scores that were computed without
the labels of the documents they belong to (out of fold): a score that has seen its own label looks surer than it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.fusion import zscores
from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Contributions, Estimates, Step, find_last
from tagwright.core.checked import AtLeastZero, Checked
from tagwright.core.display import plural
from tagwright.errors import ConfigError
from tagwright.types import Doubles, Label, Longs, Mask, Run

ISOTONIC_FROM = 1000
"""Labelled documents from which on isotonic regression is taken. On the zero-shot scores of four corpora the logistic
curve was as good with 50 and 100 (benchmarks/calibration.py); other scores may need another shape of curve."""

FIRST = 20
"""Confidences are fitted on this many first suggestions of each document. With all hundred, few of which are right, the
first ones seemed too unsure by 0.1 with 50 documents; chosen on epmc, arxiv and kirja, confirmed on mdn and tib."""

LIKELY, POSSIBLE = 0.5, 0.2
"Likely: right more often than not. Possible: right at least one time in five. Unlikely: less often."

Number = TypeVar("Number", float, Doubles)

Word: TypeAlias = Literal["likely", "possible", "unlikely"]


@dataclass(frozen=True, slots=True, eq=False)
class Isotonic:
    """A rising line through knots, level beyond the first and the last. scores: (knots,) rising; values: (knots,).

    documents: how many labelled ones it was learned from, 0 where that is not known.
    """

    scores: Doubles
    values: Doubles
    documents: int = 0
    name: ClassVar = "isotonic regression"

    def __call__(self, scores: NDArray[np.floating]) -> Doubles:
        """(n,) scores -> (n,) probabilities.

        Half way between the knots 1 and 3.

        >>> Isotonic(np.array([1.0, 3.0]), np.array([0.25, 0.75]))(np.array([0.0, 2.0, 9.0])).tolist()
        [0.25, 0.5, 0.75]
        """
        return np.asarray(np.interp(scores, self.scores, self.values), np.float64)


@dataclass(frozen=True, slots=True)
class Platt:
    """A logistic curve, 1 / (1 + exp(-(slope * score + intercept))). slope: 0 or more. documents: as of `Isotonic`."""

    slope: float
    intercept: float
    documents: int = 0
    name: ClassVar = "a logistic curve"

    def __call__(self, scores: NDArray[np.floating]) -> Doubles:
        """(n,) scores -> (n,) probabilities.

        e^1.0986 is 3, so the odds are 3 to 1 at a score 1.0986 above the middle.

        >>> Platt(1.0, 0.0)(np.array([0.0, 1.0986])).round(4).tolist()
        [0.5, 0.75]
        """
        return sigmoid(self.slope * np.asarray(scores, np.float64) + self.intercept)


ScoreMap: TypeAlias = Isotonic | Platt
"Maps scores to probabilities; a higher score never gets a lower probability."


class Confidence(Step):
    """A step that adds confidences to a ranking, and keeps its order: a curve, a score map, or the label-free model."""


@dataclass(frozen=True, kw_only=True)
class Curve(Checked, Confidence):
    """A logistic curve over the standard scores of a weighted sum, learned from labelled documents.

    A score is standardised by mean and deviation of the first hundred candidates of its document.
    """

    slope: float = 0.0
    "What a standard score adds to the log odds."

    intercept: float = 0.0
    "The log odds of a standard score of 0."

    slope_of_scores: float = 0.0
    "What the scores themselves add; they tell texts in which nothing stands out."

    log_scores: bool = False
    "Whether the ranking was appended (`append_labels`), so that scores are 1 / rank and their logarithm is read."

    documents: AtLeastZero = 0
    "The number of labelled documents it was learned from; 0 where that is not known."

    @classmethod
    def fit(cls, ranked: Run, right: Mask, *, log_scores: bool = False) -> Self:
        """Learn the curve from a ranking of documents whose labels no stage has seen.

        right: (suggestions,) whether each is. Standard scores and scores are fitted together, so that a text in which
        nothing stands out shows it. Raises ConfigError without suggestions.
        """
        run = with_log_scores(ranked) if log_scores else ranked
        kept, discounts = _mark_first(run.scores, run.rows)
        columns = np.column_stack([zscores(run), run.scores])[kept]
        (slope, slope_of_scores), intercept = _fit_rising(columns, right[kept], discounts)
        return cls(
            slope=slope,
            intercept=intercept,
            slope_of_scores=slope_of_scores,
            log_scores=log_scores,
            documents=len(np.unique(ranked.rows)),
        )

    def apply(self, pool: CandidatePool, run: Run) -> Run:  # noqa: ARG002
        """Return the ranking with confidences."""
        scored = with_log_scores(run) if self.log_scores else run
        logits = self.slope * zscores(scored) + self.slope_of_scores * scored.scores + self.intercept
        return replace(run, confidences=sigmoid(logits).astype(np.float32))

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:  # noqa: ARG002
        """Return the same contributions, with the scores from which the confidences are computed."""
        scored = with_log_scores(run) if self.log_scores else run
        name = "log score" if self.log_scores else "score"
        read: dict[str, NDArray[np.floating]] = {"standard score": zscores(scored), name: scored.scores}
        return replace(before, estimates=Estimates(_describe_curve(Platt.name, self.documents), run, read))


@dataclass(frozen=True)
class Mapped(Confidence):
    """Confidences by a map from scores to probabilities, learned from labelled documents."""

    score_map: ScoreMap

    def apply(self, pool: CandidatePool, run: Run) -> Run:  # noqa: ARG002
        """Return the ranking with confidences."""
        return replace(run, confidences=self.score_map(run.scores).astype(np.float32))

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:  # noqa: ARG002
        """Return the same contributions, with the scores that are mapped to confidences."""
        by = _describe_curve(self.score_map.name, self.score_map.documents)
        return replace(before, estimates=Estimates(by, run, {"score": run.scores}))

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:  # noqa: ARG003
        """Make the step of a saved state."""
        saved = state["score_map"]
        return cls(Isotonic(**saved) if "scores" in saved else Platt(**saved))


def confidence_of(steps: Sequence[Step]) -> Confidence | None:
    """Return the step whose confidences a ranking has; None without confidences."""
    return find_last(steps, Confidence)  # type: ignore[type-abstract]  # it is not made here


def with_log_scores(run: Run) -> Run:
    """Return the run of `append_labels`, whose scores are 1 / rank, with -log rank as scores."""
    return replace(run, scores=np.log(run.scores))


def fit_score_map(scores: NDArray[np.floating], right: Mask, rows: Longs) -> ScoreMap:
    """Isotonic regression, or a logistic curve where fewer than `ISOTONIC_FROM` documents are labelled.

    scores: (suggestions,) out of fold. right: (suggestions,) whether each is right. rows: (suggestions,) its document.
    The first `FIRST` suggestions of each document count, as much as in DCG. Raises ConfigError without suggestions.
    """
    documents = len(np.unique(rows))
    if documents < ISOTONIC_FROM:
        return fit_logistic(scores, right, rows)
    kept, discounts = _mark_first(scores, rows)
    return fit_isotonic(scores[kept], right[kept], discounts, documents)


def fit_logistic(scores: NDArray[np.floating], right: Mask, rows: Longs) -> Platt:
    """The logistic curve, however many documents are labelled; the arguments are those of `fit_score_map`."""
    kept, discounts = _mark_first(scores, rows)
    return replace(fit_platt(scores[kept], right[kept], discounts), documents=len(np.unique(rows)))


def ranks_within(rows: Longs, scores: NDArray[np.floating]) -> Longs:
    """(suggestions,) the rank of each in its document, from 1; the first of equal scores comes first.

    >>> ranks_within(np.array([0, 1, 0, 0]), np.array([2.0, 9.0, 5.0, 2.0])).tolist()
    [2, 1, 1, 3]
    """
    order = np.lexsort((-scores, rows))
    ordered = rows[order]
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.arange(len(rows)) - np.searchsorted(ordered, ordered) + 1
    return ranks


def fit_isotonic(scores: NDArray[np.floating], right: Mask, weights: NDArray[np.floating], documents: int) -> Isotonic:
    """Isotonic regression by pool adjacent violators (Barlow et al. 1972; Zadrozny & Elkan 2002).

    documents: how many are behind the scores; nothing is called surer than that many allow, 1 / (documents + 2) from 0
    and 1 (Laplace's rule).

    Right, wrong, right with rising scores: the first two violate the order and become one step of 1/2; the third is
    1, which three documents allow to be 4/5.

    >>> found = fit_isotonic(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), np.ones(3), documents=3)
    >>> found.scores.tolist(), found.values.tolist()
    ([1.0, 2.0, 3.0], [0.5, 0.5, 0.8])
    """
    from sklearn.isotonic import IsotonicRegression

    least = 1.0 / (documents + 2)
    model = IsotonicRegression(y_min=least, y_max=1.0 - least)
    model.fit(np.asarray(scores, np.float64), right.astype(np.float64), sample_weight=np.asarray(weights, np.float64))
    return Isotonic(model.X_thresholds_, np.clip(model.y_thresholds_, least, 1.0 - least), documents)


def fit_platt(scores: NDArray[np.floating], right: Mask, weights: NDArray[np.floating]) -> Platt:
    """A logistic curve fitted to smoothed targets (Platt 1999).

    With N+ right and N- wrong suggestions the targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2): few examples, however
    well they part, do not make it certain. Each is counted by its weight. A curve that would fall is level instead.

    Of one right and one wrong suggestion the targets are 2/3 and 1/3, and two points are met exactly: the logits are
    log 2 and -log 2, at scores 1 and -1.

    >>> found = fit_platt(np.array([1.0, -1.0]), np.array([True, False]), np.ones(2))
    >>> round(found.slope, 3), round(found.intercept, 3) + 0.0
    (0.693, 0.0)
    """
    (slope,), intercept = _fit_rising(np.asarray(scores, np.float64)[:, None], right, np.asarray(weights, np.float64))
    return Platt(slope, intercept)


def sigmoid(logits: Doubles) -> Doubles:
    """1 / (1 + exp(-logit)).

    >>> sigmoid(np.array([0.0, -1000.0, 1000.0])).tolist()
    [0.5, 0.0, 1.0]
    """
    from scipy.special import expit

    return np.asarray(expit(logits), np.float64)


def squash_score(score: Number) -> Number:
    """From 0 to 1 in the order of the scores, for rankings without confidences: (1 + s / (1 + |s|)) / 2.

    score: one, or an array of them. What comes out are no probabilities.

    >>> squash_score(3.0), squash_score(np.array([-1.0, 0.0])).tolist()
    (0.875, [0.25, 0.5])
    """
    return (1 + score / (1 + abs(score))) / 2


def confidence_level(confidence: float) -> Word:
    """How sure in one word, as a probability without labels behind it is no figure to be read to two decimals.

    >>> confidence_level(0.5), confidence_level(0.2), confidence_level(0.19)
    ('likely', 'possible', 'unlikely')
    """
    return "likely" if confidence >= LIKELY else "possible" if confidence >= POSSIBLE else "unlikely"


def _fit_rising(columns: Doubles, right: Mask, weights: Doubles) -> tuple[list[float], float]:
    """Slopes, none of which is negative, and intercept of logistic regression on the smoothed targets of `fit_platt`.

    columns: (suggestions, n) of scores. The column that would fall most is left out, until all others rise.
    """
    from sklearn.linear_model import LogisticRegression

    positive, negative = float(weights[right].sum()), float(weights[~right].sum())
    targets = np.where(right, (positive + 1) / (positive + 2), 1 / (negative + 2))
    # every suggestion counts as a right and as a wrong example, weighted by its target
    shares = np.concatenate([weights * targets, weights * (1 - targets)])
    slopes, rising = np.zeros(columns.shape[1]), list(range(columns.shape[1]))
    while rising:
        values: Doubles = columns[:, rising]
        mean, deviation = np.average(values, axis=0, weights=weights), values.std(axis=0)
        deviation[deviation == 0] = 1.0
        model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
        model.fit(np.tile((values - mean) / deviation, (2, 1)), np.repeat([True, False], len(values)), shares)
        found = model.coef_[0] / deviation
        if (found > 0).all():
            slopes[rising] = found
            return slopes.tolist(), float(model.intercept_[0] - found @ mean)
        rising.pop(int(model.coef_[0].argmin()))
    share = float(np.average(targets, weights=weights))
    return slopes.tolist(), float(np.log(share / (1 - share)))


def _mark_first(scores: NDArray[np.floating], rows: Longs) -> tuple[Mask, Doubles]:
    """(suggestions,) which are among the first of their document, and what each of these counts.

    Raises ConfigError without suggestions.
    """
    if not len(scores):
        raise ConfigError("no suggestions to learn confidence from; give labelled documents that get suggestions")
    ranks = ranks_within(rows, scores)
    kept = np.asarray(ranks <= FIRST, np.bool_)
    return kept, np.asarray(1.0 / np.log2(1.0 + ranks[kept]), np.float64)


def _describe_curve(curve: str, documents: int) -> str:
    """Say what a curve was learned from.

    >>> _describe_curve("a curve", 50), _describe_curve("a curve", 0)
    ('a curve, learned from 50 labelled documents', 'a curve, learned from labelled documents')
    """
    return f"{curve}, learned from {plural(documents, 'labelled document') if documents else 'labelled documents'}"
