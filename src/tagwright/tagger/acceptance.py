"""Decide which suggestions of a ranking are made: by number, score and confidence; and thresholds with a guarantee.

A guarantee needs labelled documents that had no part in how the confidences came to be, and that are exchangeable with
those to be tagged: drawn from the same source, in no order. It is conformal risk control (Angelopoulos et al. 2022):
a threshold is chosen on n documents so that the expected loss of the next one is at most alpha. The expectation is over
the n documents and the next: it holds on average over choices of the n documents, not for each of them, and not for
each kind of document. A loss that can only fall as more is accepted, or only rise, is all that it asks for; nothing is
assumed of the confidences, and poor ones cost suggestions, not the guarantee.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from tagwright.core.checked import AtLeastOne, Checked, Probability
from tagwright.defaults import MAX_LABELS
from tagwright.errors import ConfigError
from tagwright.types import Longs, Mask, Run

Confidences: TypeAlias = NDArray[np.floating]

PRIOR = 2.0
"Chosen with each corpus left out, see `best_cut` (`python -m benchmarks cuts`)."

Arrangement: TypeAlias = Literal["ranked", "narrowest", "all"]
"How narrow or broad the labels of a document are, see `SuggestOptions`."


class SuggestArguments(TypedDict, total=False):
    """The fields of `SuggestOptions` besides k, as keyword arguments of `Tagger.suggest`."""

    min_score: float | None
    min_confidence: float | None
    best_cut: bool
    thresholds: bool
    exclude_self: bool
    only: Sequence[str]
    without: Sequence[str]
    hierarchy: Arrangement
    per_branch: int | None


@dataclass(frozen=True, kw_only=True)
class SuggestOptions(Checked):
    """Which ranked labels of a document to suggest: the rules of command line, Python, server and batch.

    Raises ConfigError for a value that cannot be.
    """

    k: AtLeastOne = MAX_LABELS
    "Labels per document, at most."

    min_score: float | None = None
    "Only labels with this score or more, on the tagger's own scale."

    min_confidence: Probability | None = None
    "Only labels with this estimated probability of being right, or more. 0 and None: all labels."

    best_cut: bool = False
    "Of each document as many labels as have the greatest expected F1, by their confidences."

    thresholds: bool = False
    "Only labels as sure as their own thresholds ask for, which `evaluate --tune` finds on labelled documents."

    exclude_self: bool = False
    "Never suggest the label that has the id of the document."

    only: Sequence[str] = ()
    """Conditions, such as "notation:33*": only labels that fulfil at least one of each kind named. Kinds: id, notation,
    type, scheme, collection, branch (an id: that label and all below it); a text without a kind is an id; a final *
    means "begins with"."""

    without: Sequence[str] = ()
    "Conditions in the same form: no labels that fulfil any of them."

    hierarchy: Arrangement = "ranked"
    """ranked: labels as they are ranked. narrowest: none beside a label below it; the narrower one is suggested. all:
    each with all labels above it, which count among the k."""

    per_branch: AtLeastOne | None = None
    "At most this many labels below the same label at the top, that one included; None: any number."

    def __post_init__(self) -> None:
        for name in ("only", "without"):
            value = getattr(self, name)
            listed = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
            object.__setattr__(self, name, (value,) if isinstance(value, str) else listed)
        for name in ("k", "min_score", "min_confidence", "per_branch"):
            value = getattr(self, name)
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
        super().__post_init__()
        if self.best_cut and self.thresholds:
            raise ConfigError("best_cut and thresholds both say how many labels; ask for one of them")

    def check(self, confident: bool) -> None:
        """Raise ConfigError where these options ask for confidences and the tagger does not estimate any."""
        if not confident and (self.best_cut or self.thresholds or self.min_confidence):
            raise ConfigError(
                "this tagger does not estimate confidences (those of all methods do); train it again, or leave out the "
                "least confidence, best cut and thresholds, and cut by the score or the number of labels"
            )

    def accepts(self, run: Run) -> Mask:
        """(suggestions,) true for those of a ranking that are made: of the first k the best cut, and those above both.

        Raises ConfigError for suggestions without confidences where they are needed.

        >>> run = Run.of(np.array([0, 3]), np.array([7, 8, 9]), np.array([3.0, 2.0, 1.0]), np.array([0.9, 0.3, 0.1]))
        >>> rules = {"k": 2}, {"min_score": 1.5}, {"min_confidence": 0.5}, {"best_cut": True}
        >>> [run.labels[SuggestOptions(**rule).accepts(run)].tolist() for rule in rules]
        [[7, 8], [7, 8], [7], [7]]
        """
        first = run.ranks <= self.k
        made = first & self.reaches(run)
        if self.best_cut and run.confidences is not None:
            made &= best_cut(run, np.where(first, run.confidences, 0.0))
        return made

    def reaches(self, run: Run) -> Mask:
        """(suggestions,) true for those with the least score and confidence, or more. Raises ConfigError likewise."""
        enough = np.ones(len(run.labels), np.bool_) if self.min_score is None else run.scores >= self.min_score
        if run.confidences is None:
            self.check(confident=not len(run.labels))
            return enough
        return enough & (run.confidences >= (self.min_confidence or 0.0))


def best_cut(run: Run, confidence: Confidences, prior: float = PRIOR) -> Mask:
    """(suggestions,) true for the surest of each document, as many as have the greatest expected F1.

    Of the surest m, 2 * S_m / (m + S), with S_m the sum of their confidences and S that of all suggestions: expected
    right labels over suggested and expected gold ones (the ratio of expectations; Ye et al. 2012). `prior` is added to
    the latter, 0.4 times as much to the former, an F1 of 0.4: else documents of which hardly anything is known get many
    labels, which cost micro-F1 more than they bring.
    None are given where that no label fits is likelier than the best of this: F1 is 1 then.

    Confidences 0.9, 0.3, 0.1 sum to 1.3: 2.6 / 4.3 = 0.605 for one label, 3.2 / 5.3 = 0.604 for two.

    >>> best_cut(Run.from_rows([{7: 3.0, 8: 2.0, 9: 1.0}]), np.array([0.9, 0.3, 0.1])).tolist()
    [True, False, False]
    """
    rows = run.rows
    order = np.lexsort((run.ranks, -confidence, rows))
    sums = np.cumsum(confidence[order], dtype=np.float64)
    starts = np.repeat(np.concatenate([[0.0], sums])[run.indptr[:-1]], np.diff(run.indptr))
    total = np.bincount(rows, confidence, len(run))[rows]
    value = (2 * (sums - starts) + 0.4 * prior) / (run.ranks + total + prior)
    best = np.full(len(run), -1.0)
    np.maximum.at(best, rows, value)
    cut = np.zeros(len(run), np.int64)
    if run.none is not None:
        best[run.none > best] = np.inf
    reached = value >= best[rows]
    np.maximum.at(cut, rows[reached], run.ranks[reached])
    kept = np.zeros(len(rows), np.bool_)
    kept[order] = run.ranks <= cut[rows]
    return kept


def threshold_for_missed(confidence: Confidences, right: Mask, rows: Longs, gold: Longs, alpha: float) -> float | None:
    """The greatest threshold at which a document's expected share of missed labels is at most alpha.

    confidence, right, rows: (suggestions,) of labelled documents, whether each is right, and its document. gold:
    (documents,) how many gold labels each has, at least 1. Of a document the loss L(t) is the share of its gold labels
    that are not among the suggestions of confidence t or more: labels that are no suggestions at all are missed too.
    The threshold is the greatest t with (sum of L(t) + 1) / (n + 1) <= alpha (Angelopoulos et al. 2022, Eq. 4, B = 1).

    None: no threshold can promise it, as n is below 1 / alpha - 1, or too many labels are no suggestions. Then nothing
    is to be left to the tagger. Guaranteed: over the draw of the labelled documents and of the next one, the expected
    share of its labels that are missed is at most alpha, a document counting 0 where the answer was None.
    Raises ConfigError for an alpha that is not between 0 and 1, and without documents.

    Four documents with one gold label each, all suggested, of confidence 0.9, 0.8, 0.7, 0.6. At 0.7 one is missed:
    (1 + 1) / 5 = 0.4; at 0.8 two: 0.6.

    >>> sure, right, rows = np.array([0.9, 0.8, 0.7, 0.6]), np.ones(4, np.bool_), np.arange(4)
    >>> [threshold_for_missed(sure, right, rows, np.ones(4, np.int64), alpha) for alpha in (0.4, 0.2, 0.1)]
    [0.7, 0.6, None]
    """
    documents = _check(gold, alpha, "the share of missed labels")
    order, ends = surest_first(confidence)
    hits = np.cumsum(np.where(right, 1.0 / gold[rows], 0.0)[order])[ends]
    holds = (documents - hits + 1) / (documents + 1) <= alpha + 1e-12
    return float(confidence[order][ends][int(np.argmax(holds))]) if holds.any() else None


def threshold_for_wrong(
    confidence: Confidences, right: Mask, rows: Longs, documents: int, wrong: float, most: int
) -> float:
    """The least threshold at which a document's expected number of wrong labels is at most `wrong`.

    confidence, right, rows: (suggestions,) of `documents` labelled documents, at most `most` of each, as they would be
    accepted. The loss L(t) of a document is the number of wrong ones among its suggestions of confidence t or more,
    over `most`, so that it is at most 1; alpha is wrong / most. The threshold is the least t such that at all
    thresholds from t on (sum of L + 1) / (n + 1) <= alpha; infinity, accept nothing, where there is none.

    Guaranteed: over the draw of the labelled documents and of the next one, the expected number of wrong labels that
    are accepted for it is at most `wrong`. This is a bound for the number of wrong labels per document, not for their
    share among the accepted: that share does not rise steadily as more is accepted. Raises ConfigError for a bound
    that is not between 0 and `most`, and where a document has more than `most` suggestions.

    Four documents, one label accepted at most; those of confidence 0.9 and 0.7 are right, 0.8 and 0.6 wrong. From 0.7
    on one is wrong: (1 + 1) / 5 = 0.4; from 0.6 on two: 0.6.

    >>> sure, right = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False])
    >>> [threshold_for_wrong(sure, right, np.arange(4), 4, wrong, most=1) for wrong in (0.6, 0.4, 0.2, 0.1)]
    [0.6, 0.7, 0.9, inf]
    """
    if most < 1 or np.bincount(rows, minlength=1).max() > most:
        raise ConfigError(f"a document has more than {most} suggestions; cut them to those that would be accepted")
    _check(np.ones(documents, np.int64), wrong / most, f"wrong labels over the {most} that are accepted at most")
    order, ends = surest_first(confidence)
    losses = np.cumsum(np.where(right, 0.0, 1.0 / most)[order])[ends]
    holds = (losses + 1) / (documents + 1) <= wrong / most + 1e-12
    return float(confidence[order][ends][int(holds.sum()) - 1]) if holds.any() else math.inf


def surest_first(confidence: Confidences) -> tuple[Longs, Longs]:
    """The order by falling confidence, and where in it each group of equally sure suggestions ends.

    >>> order, ends = surest_first(np.array([0.5, 0.9, 0.5]))
    >>> order.tolist(), ends.tolist()
    ([1, 0, 2], [0, 2])
    """
    order = np.argsort(-confidence, kind="stable")
    changes = np.diff(confidence[order]) != 0
    return order, np.flatnonzero(np.append(changes, np.ones(min(1, len(order)), np.bool_)))


def _check(gold: Longs, alpha: float, name: str) -> int:
    if not 0 < alpha < 1:
        raise ConfigError(f"{name} is {alpha:g}, expected a number between 0 and 1")
    if not len(gold) or (gold < 1).any():
        raise ConfigError("a guarantee needs labelled documents, each with a gold label")
    return len(gold)
