"""Find a threshold for each label on labelled documents, and measure them on documents that they were not found on."""

from dataclasses import replace

import numpy as np

from tagwright.combining.thresholds import Thresholds, parse_aim, without_thresholds
from tagwright.evaluation.significance import Comparisons, compare_all
from tagwright.tagger import Tagger
from tagwright.types import Run

FOLDS = 5

MEASURES = ("micro-F1@100", "macro-F1@100", "micro-P@100")


def tune(tagger: Tagger, run: Run, gold: Run, aim: str) -> tuple[Tagger, Comparisons]:
    """Return the tagger with thresholds, and what A, one for all labels, gives beside B, one for each label.

    run: what the tagger suggests for documents that it has not learned from. gold: a row for each. aim: "f1", or a
    precision, as in "precision=0.8", see `Thresholds.fit`, which says what is raised. To compare, each fifth of the
    documents is cut by thresholds of the others, and all are measured together: a label that the others lack is cut by
    the common one, and counts.
    """
    precision, labels = parse_aim(aim), len(tagger.vocabulary)
    order, cuts = np.random.default_rng(0).permutation(len(gold)), list[tuple[Run, Run, Run]]()
    for part in np.array_split(order, FOLDS):
        others = np.setdiff1d(order, part)
        each = Thresholds.fit(run.take(others), gold.take(others), labels, precision)
        one = replace(each, values=np.full(labels, each.common, np.float32))
        cuts.append((one.cut(run.take(part)), each.cut(run.take(part)), gold.take(part)))
    a, b, measured = (Run.concat(parts) for parts in zip(*cuts, strict=True))
    found = Thresholds.fit(run, gold, labels, precision)
    tuned = replace(tagger, steps=(*without_thresholds(tagger.steps), found))
    return tuned, compare_all({"A": a, "B": b}, measured, measures=MEASURES)
