"""How sure a label is together with all that are below it: where no single one of them is, their parent may be."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tagwright.combining.confidence import LIKELY, ScoreMap, fit_score_map
from tagwright.data.hierarchy import Hierarchy
from tagwright.types import Doubles, Run

CANDIDATES = 100
"Best labels of a document that count for those above them: as many as confidences are learned from."

_LEAST = 1e-6
"The logarithm of the odds is taken between this probability and 1 - this."


def any_right(
    labels: Sequence[int], confidences: Sequence[float], hierarchy: Hierarchy
) -> tuple[Sequence[int], Doubles]:
    """Return the parents of these labels, and for each the log odds that it or a label below it is right.

    labels, confidences: of one document. Labels are taken to be right independently: 1 - product of (1 - confidence).

    Owls 0.5 and fish 0.2 are below animals: 1 - 0.5 * 0.8 = 0.6, the odds are 1.5.

    >>> zoo = Hierarchy(Run.from_rows([[], [0], [0]]))
    >>> parents, logits = any_right([1, 2], [0.5, 0.2], zoo)
    >>> parents, np.exp(logits).round(4).tolist()
    ([0], [1.5])
    """
    wrong = defaultdict[int, float](lambda: 1.0)
    for label, confidence in zip(labels, confidences, strict=True):
        for each in (label, *hierarchy.above(label)):
            wrong[each] *= 1.0 - confidence
    parents = list(dict.fromkeys(each for label in labels for each in hierarchy.parents(label)))
    right = np.clip(1.0 - np.array([wrong[each] for each in parents], np.float64), _LEAST, 1.0 - _LEAST)
    return parents, np.log(right) - np.log1p(-right)


def fit_parents(run: Run, gold: Run, hierarchy: Hierarchy) -> ScoreMap | None:
    """Learn from labelled documents how often a parent, or a label below it, is right; None without parents.

    run: the candidates of each document with confidences that have not seen its labels. gold: its labels. Parents above
    a likely label are left out, as they never replace a label.
    """
    scores, right, rows = list[float](), list[bool](), list[int]()
    for row, (labels, confidences) in enumerate(_rows(run)):
        likely = (label for label, confidence in zip(labels, confidences, strict=True) if confidence >= LIKELY)
        above_likely, true = with_above(likely, hierarchy), with_above(gold[row][0].tolist(), hierarchy)
        for parent, logit in zip(*any_right(labels, confidences, hierarchy), strict=True):
            if parent not in above_likely:
                scores.append(logit)
                right.append(parent in true)
                rows.append(row)
    return fit_score_map(np.array(scores), np.array(right), np.array(rows)) if scores else None


def parent_confidences(run: Run, fitted: ScoreMap, hierarchy: Hierarchy) -> list[Mapping[int, float]]:
    """For each document of a run with confidences, parent -> probability that it or a label below it is right."""
    pairs = (any_right(labels, confidences, hierarchy) for labels, confidences in _rows(run))
    return [dict(zip(parents, fitted(logits).tolist(), strict=True)) for parents, logits in pairs]


def with_above(labels: Iterable[int], hierarchy: Hierarchy) -> set[int]:
    """These labels and all above them."""
    return {each for label in labels for each in (label, *hierarchy.above(label))}


def _rows(run: Run) -> list[tuple[list[int], list[float]]]:
    """Labels and confidences of the best candidates of each document."""
    assert run.confidences is not None
    best = run.top(CANDIDATES)
    assert best.confidences is not None
    parts = zip(best.indptr[:-1].tolist(), best.indptr[1:].tolist(), strict=True)
    return [(best.labels[start:end].tolist(), best.confidences[start:end].tolist()) for start, end in parts]
