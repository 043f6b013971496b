"""A least confidence for each label, found on labelled documents. A step of a ranking, by which `SuggestOptions` cuts.

Of a label that few labelled documents have, its own best threshold says little (Yang 2001). So its counts are smoothed
by pseudo-counts, as in empirical Bayes (Efron and Morris 1973; the m-estimate of Cestnik 1990): as if `PSEUDO` more
documents had it, which fare as the documents of all labels do on average. With many documents its own count most; with
none there is only the threshold that is best for all labels together.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Step
from tagwright.core.checked import show
from tagwright.core.saved import read_array, read_manifest, write_arrays, write_manifest
from tagwright.errors import ConfigError, ModelError
from tagwright.types import Doubles, Label, Longs, Run, places_of

PSEUDO = 5.0
"Documents that are added to those of each label: chosen with each corpus left out (`python -m benchmarks cuts`)."

POINTS = 100
"Thresholds that are tried, at most, as in scikit-learn's TunedThresholdClassifierCV."

NEVER = 2.0
"The threshold of a label that is not suggested: no confidence reaches it."


@dataclass(frozen=True, eq=False)
class Thresholds(Step):
    """Keeps the ranking, and knows which suggestions are sure enough. values: (labels,) the least confidence of each.

    common: that of labels without labelled documents, and of all, if all are to have the same.
    """

    common: float
    values: Doubles

    @classmethod
    def fit(cls, run: Run, gold: Run, labels: int, precision: float | None = None, pseudo: float = PSEUDO) -> Self:
        """Find the threshold with the best F1 of each label, or the lowest one with at least this precision.

        run: suggestions with confidences for documents whose labels the tagger has not seen. gold: their labels; one
        that is no suggestion counts as missed. labels: their number. Raises ConfigError without right suggestions, or
        if no threshold has this precision.
        """
        held = run.held_by(gold)
        if run.confidences is None or not held.any():
            raise ConfigError("thresholds are found by the confidences of right suggestions, and there are none")
        tried = np.unique(np.quantile(run.confidences[held], np.linspace(0, 1, POINTS), method="lower"))
        seen, counts = np.unique(gold.labels, return_counts=True)
        right, made = (_count(each, seen, tried) for each in (run.keep(held), run))
        of_all = right.sum(axis=0), made.sum(axis=0), np.array([len(gold.labels)])
        common = float(_choose(*of_all, tried, precision))
        if common == NEVER:
            best = np.max(of_all[0] / of_all[1])
            raise ConfigError(f"no threshold has a precision of {precision:g}; the highest here is {best:.2f}")
        of_each, share = (right[:-1], made[:-1], counts[:, None]), pseudo / len(gold.labels)
        values = np.full(labels, common)
        values[seen] = _choose(*(own + share * every for own, every in zip(of_each, of_all, strict=True)), tried, precision)
        return cls(common, values)

    def apply(self, pool: CandidatePool, run: Run) -> Run:  # noqa: ARG002
        """Return the ranking as it is."""
        return run

    def cut(self, run: Run) -> Run:
        """Return the suggestions that reach the thresholds of their labels.

        >>> run = Run.of(np.array([0, 2]), np.array([0, 1]), np.array([2.0, 1.0]), np.array([0.5, 0.4]))
        >>> Thresholds(0.5, np.array([0.6, 0.3])).cut(run).labels.tolist()
        [1]
        """
        return run if run.confidences is None else run.keep(run.confidences >= self.values[run.labels])

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary: known labels keep their threshold, new ones have the common one."""
        return type(self)(self.common, np.append(self.values, self.common)[places_of(labels, before)])

    def save(self, folder: Path) -> None:
        """Write the common threshold, and those of all labels."""
        write_manifest(folder, "thresholds", {})
        write_arrays(folder, {"common": np.array([self.common]), "values": self.values})

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        read_manifest(folder, "thresholds")
        (common,) = read_array(folder, "common", np.float64, (1,)).tolist()
        return cls(common, read_array(folder, "values", np.float64, (len(labels),)))


def without_thresholds(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps without thresholds: they fit only the confidences that they were found by."""
    return tuple(step for step in steps if not issubclass(type(step), Thresholds))


def parse_aim(aim: str) -> float | None:
    """Return the precision that is aimed at, None for the best F1. Raises ConfigError for anything else.

    >>> parse_aim("f1"), parse_aim("precision=0.8")
    (None, 0.8)
    """
    name, _, value = aim.partition("=")
    with suppress(ValueError):
        if aim == "f1" or (name == "precision" and 0 < float(value) <= 1):
            return float(value) if value else None
    raise ConfigError(f"thresholds are found for {show(aim)}, expected f1, or a precision, such as precision=0.8")


def _count(run: Run, labels: Longs, tried: Doubles) -> Doubles:
    """(labels + 1, thresholds) how many suggestions of each label reach a threshold, in the last row of all others.

    labels, tried: rising.
    """
    places = np.minimum(np.searchsorted(labels, run.labels), len(labels) - 1)
    rows = np.where(labels[places] == run.labels, places, len(labels))
    reached = np.searchsorted(tried, run.confidences, side="right")
    shape = len(labels) + 1, len(tried) + 1
    counts = np.bincount(rows * shape[1] + reached, minlength=shape[0] * shape[1]).reshape(shape)
    return np.asarray(counts[:, :0:-1].cumsum(axis=1)[:, ::-1], np.float64)


def _choose(right: Doubles, made: Doubles, gold: Doubles, tried: Doubles, precision: float | None) -> Doubles:
    """The threshold with the best F1, of equally good ones the highest; or the lowest with this precision, or `NEVER`.

    right, made: (..., thresholds) suggestions that reach each. gold: (..., 1) gold labels.
    """
    if precision is None:
        f1 = 2 * right / (made + gold)
        return np.asarray(tried[::-1][np.argmax(f1[..., ::-1], axis=-1)], np.float64)
    enough = (made > 0) & (right >= (precision - 1e-12) * made)
    return np.where(enough.any(axis=-1), tried[np.argmax(enough, axis=-1)], NEVER)
