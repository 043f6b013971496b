"""Estimate from labelled documents by how much a tagger is better on new ones, which may be unlike these."""

from dataclasses import dataclass, replace

import numpy as np

from tagwright.auto.out_of_fold import Folds
from tagwright.auto.ranker import MARGIN, CombinerOptions, Examples, FittedCombiner, assign_folds, fit_combiner
from tagwright.combining.candidate_features import CandidateFeatures
from tagwright.combining.corpus_features import SAME
from tagwright.core.progress import note
from tagwright.evaluation.resampling import Score
from tagwright.types import Doubles, Floats, Longs

NEAREST = 3
"By its likeness to so many labelled documents, the most similar ones, a document is like them."

RELATED = 0.3
"""How closely the gain on a document may be related to its likeness: the standard deviation of their correlation. The
smallest of 0, .1, .2, .3 and .4 with which intervals held the gain where documents of one cluster were labelled, on the
worst of kirja, mdn and pubmedqa."""


@dataclass(frozen=True)
class Shift:
    """How other documents differ from the labelled ones. unlike: see `unlikeness`. others: how many there are."""

    unlike: float = 0.0
    others: int = 0


def measure_shift(described: CandidateFeatures, folds: Folds, options: CombinerOptions) -> Shift:
    """Compare the labelled documents with the others of the corpus; no shift where no stage has vectors of them."""
    if not (described.nearest and folds.dense):
        return Shift()
    labelled, others = folds.encode(folds.scored).astype(np.float32), described.nearest.vectors
    others = others[others.any(axis=1)]  # those with a text
    return unlikeness(labelled, assign_folds(len(labelled), options.folds, options.seed), others)


def unlikeness(labelled: Floats, folds: Longs, others: Floats) -> Shift:
    """By how many standard deviations other documents are less like labelled ones than these are: at least 0.

    labelled: (documents, dim) vectors of norm 1; each is compared with those of other folds. folds: (documents,).
    others: of documents without labels; those with the text of a labelled one do not count.
    """
    to_others = others @ labelled.T
    to_others = to_others[to_others.max(axis=1, initial=-1.0) < SAME]
    among = np.where(folds[:, None] == folds, -1.0, labelled @ labelled.T)
    count = min(NEAREST, len(folds) - int(np.bincount(folds).max()))
    within, beyond = (np.sort(each, axis=1)[:, -count:].mean(axis=1) for each in (among, to_others))
    if not len(beyond) or not within.std():
        return Shift(others=len(beyond))
    return Shift(max(0.0, float((within.mean() - beyond.mean()) / within.std())), len(beyond))


def gain_on_new(gains: Doubles, shift: Shift) -> Score:
    """The mean gain on new documents, with its 95% interval by Student's t.

    gains: (documents,) measured out of fold, on two documents or more. Labelled documents and others are samples. For
    each standard deviation by which these are less like the labelled ones, the gain may differ by `RELATED` of its own.

    Gains of 0 and .2 have the deviation .1414; 12.71 * .1414 / sqrt(2) is 1.271, cut at 1.

    >>> gain_on_new(np.array([0.0, 0.2]), Shift())
    Score(0.1, -1.0, 1.0)
    """
    from scipy.special import stdtrit

    mean, drawn = float(gains.mean()), 1 / len(gains) + (1 / shift.others if shift.others else 0.0)
    error = float(gains.std(ddof=1)) * np.sqrt(drawn + (RELATED * shift.unlike) ** 2)
    half = float(stdtrit(len(gains) - 1, 0.975)) * error
    return Score(mean, max(-1.0, mean - half), min(1.0, mean + half))


def fit_trusted(examples: Examples, options: CombinerOptions, fixed: Doubles, shift: Shift) -> FittedCombiner:
    """Train a combiner; trust it less where it may lose, and does on average or others are clearly unlike the labelled.

    fixed: (documents,) nDCG@5 of what it is compared with. Unlike by d, what is learned counts 1 / (1 + d); d has the
    standard error 1 / sqrt(documents). Where it loses on average, it counts half at most.
    """
    fitted = fit_combiner(examples, options)
    gain = gain_on_new(fitted.measured - fixed, shift)
    trust = 1 / (1 + shift.unlike) if shift.unlike > MARGIN / np.sqrt(len(fixed)) else 1.0
    trust = min(trust, 0.5 if gain < 0 else 1.0)
    if fitted.ranker is None or gain.low >= 0 or trust == 1:
        return fitted
    note(f"what is learned counts {trust:.0%}, the sum the rest: in full, {say_gain(gain, shift)}")
    return fit_combiner(examples, replace(options, trust=trust))


def record_gain(gain: Score, shift: Shift, trust: float) -> dict[str, float]:
    """Return what the record of a training keeps. trust: how much of what was learned counts."""
    kept = {**gain.to_json(), "unlike": shift.unlike, "others": shift.others, "trust": trust}
    return {name: round(value, 4) for name, value in kept.items()}


def say_gain(gain: Score, shift: Shift) -> str:
    """Say how large a gain on new documents may be, in points, and by what it is less sure.

    >>> say_gain(Score(0.1, -0.05, 0.25), Shift())
    '-5.0 to +25.0 points (95% interval), if these are like the labelled ones'
    >>> say_gain(Score(0.1, 0.05, 0.15), Shift(0.5, 1000))
    '+5.0 to +15.0 points (95% interval); the 1,000 without labels are less like the labelled ones, by 0.5 deviations'
    """
    points = f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f} points (95% interval)"
    if not shift.others:
        return f"{points}, if these are like the labelled ones"
    if not shift.unlike:
        return f"{points}; the {shift.others:,} without labels are like the labelled ones"
    by = f"by {shift.unlike:.1f} deviations"
    return f"{points}; the {shift.others:,} without labels are less like the labelled ones, {by}"
