"""A least confidence for each label, found on labelled documents: a step of a ranking, by which `SuggestOptions` cuts.

Of a label that few labelled documents have, its own best threshold says little (Yang 2001). So it is shrunk towards the
common one, which is best for all labels together, as in empirical Bayes (Efron and Morris 1973): the mean of the log
odds of its own, counted once for each of its documents, and of the common one, counted `PSEUDO` times. Without
documents it is the common one, with many nearly its own.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Step
from tagwright.core.checked import show
from tagwright.errors import ConfigError
from tagwright.types import Doubles, Floats, Ints, Label, Longs, Mask, Run, places_of

PSEUDO = 20.0
"How often the common threshold counts: chosen with each corpus left out (`python -m benchmarks cuts`)."

LOWEST, HIGHEST = 1e-6, 0.999
"The range of thresholds. The highest is that of a label which is not right often enough with any other."

FOLDS = 5
"Parts of labelled documents, each of which is suggested for or cut by what was learned from the others."


@dataclass(frozen=True, eq=False)
class Thresholds(Step):
    """Keeps the ranking, and knows which suggestions are sure enough.

    values: (labels + 1,) the least confidence of each label, and last the common one, of labels without documents.
    """

    values: Floats

    @classmethod
    def fit(cls, run: Run, gold: Run, labels: int, precision: float | None = None, pseudo: float = PSEUDO) -> Self:
        """Find the threshold with the best F1 of each label, or the lowest one with at least this precision.

        run: suggestions with confidences for documents whose labels the tagger has not seen. gold: their labels; one
        that is no suggestion counts as missed. labels: their number. A hundred thresholds are tried. Ties of F1 go to
        the threshold nearest to the common one; for a precision the lowest is taken. Raises ConfigError without right
        suggestions or with none of this precision.
        """
        from scipy.special import expit, logit

        held = run.held_by(gold)
        if run.confidences is None or not held.any():
            raise ConfigError("thresholds are found by the confidences of right suggestions, and there are none")
        quantiles = np.quantile(run.confidences[held], np.linspace(0, 1, 100), method="lower")
        tried = np.unique(quantiles.clip(LOWEST, HIGHEST)).astype(np.float64)
        seen, gold_counts = np.unique(gold.labels, return_counts=True)
        right_counts = _count(run.keep(held), seen, tried)
        suggested_counts = _count(run, seen, tried)
        good = _good_enough(right_counts, suggested_counts, gold_counts, precision)
        if not good[-1].any():  # the last row is all labels together
            # no suggestion may reach the lowest threshold
            best = np.max(right_counts[-1] / np.maximum(suggested_counts[-1], 1))
            raise ConfigError(f"no threshold has a precision of {precision:g}; the highest here is {best:.2f}")
        common = int(np.argmax(good[-1]))
        preferred = common if precision is None else 0
        distance = np.abs(np.arange(len(tried)) - preferred)
        nearest = np.where(good[:-1], distance, len(tried)).argmin(axis=1)
        own = np.where(good[:-1].any(axis=1), tried[nearest], HIGHEST)
        shrunk = (gold_counts * logit(own) + pseudo * logit(tried[common])) / (gold_counts + pseudo)
        values = np.full(labels + 1, tried[common], np.float32)
        values[seen] = expit(shrunk)
        return cls(values)

    def apply(self, pool: CandidatePool, run: Run) -> Run:  # noqa: ARG002
        """Return the ranking as it is."""
        return run

    def cut(self, run: Run) -> Run:
        """Return the suggestions that reach the thresholds of their labels; all without confidences."""
        return run if run.confidences is None else run.keep(run.confidences >= self.values[run.labels])

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary: known labels keep their threshold, new ones have the common one."""
        return type(self)(self.values[np.append(places_of(labels, before), -1)])  # new ones are at -1 too

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:  # noqa: ARG003
        """Make the step of a saved state."""
        return cls(state["values"])


def without_thresholds(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps without thresholds: they fit only the confidences that they were found by."""
    return tuple(step for step in steps if not isinstance(step, Thresholds))


def parse_aim(aim: str | bool) -> float | None:
    """Return the precision of "precision=0.8", None for "f1" or True. Raises ConfigError for anything else."""
    name, _, value = str(aim).partition("=")
    with suppress(ValueError):
        if aim in ("f1", True) or (name == "precision" and 0 < float(value) <= 1):
            return float(value) if value else None
    raise ConfigError(f"thresholds are found for {show(aim)}, expected f1, or a precision, such as precision=0.8")


def _good_enough(right: Longs, suggested: Longs, gold: Longs, precision: float | None) -> Mask:
    """(labels + 1, thresholds) which have the best F1 of their label, or at least this precision.

    right, suggested: as `_count` counts them, the last row of all labels together. gold: (labels,) of how many
    documents each is a label.
    """
    if precision is None:
        f1: Doubles = 2 * right / (suggested + np.append(gold, gold.sum())[:, None])
        return np.asarray(f1 >= f1.max(axis=1, keepdims=True) - 1e-12, np.bool_)
    return (suggested > 0) & (right >= (precision - 1e-12) * suggested)


def _count(run: Run, labels: Ints, tried: Doubles) -> Longs:
    """(labels + 1, thresholds) how many suggestions of each of these labels reach a threshold, and last of all labels.

    labels, tried: rising.
    """
    assert run.confidences is not None
    own = np.isin(run.labels, labels)
    passed = np.searchsorted(tried, run.confidences[own], side="right")  # how many thresholds each suggestion reaches
    counts = np.zeros((len(labels), len(tried) + 1), np.int64)
    np.add.at(counts, (np.searchsorted(labels, run.labels[own]), passed), 1)
    at_least = counts[:, ::-1].cumsum(axis=1)[:, ::-1]  # how many suggestions of a label reach 0, 1, 2, ... thresholds
    of_all = len(run.labels) - np.searchsorted(np.sort(run.confidences), tried)
    return np.vstack([at_least[:, 1:], of_all])
