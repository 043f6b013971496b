"""Compare two runs over the same documents: the difference of each measure, its interval and p values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tagwright.evaluation.metrics import is_gold
from tagwright.evaluation.resampling import (
    MacroF1,
    Measures,
    Ratios,
    Score,
    bootstrap,
    interval,
    sign_flips,
    values,
)
from tagwright.evaluation.scores import Setting, check, panel, split
from tagwright.types import Doubles, Mask, Run


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of two runs.

    difference: a - b with its interval. p, adjusted: test -> p, before and after Holm's correction.

    Tests: randomisation for every measure; t, the paired t-test, for means over documents; mcnemar for P@1 and
    success@k. Two are from Yang and Liu (1999), as in DEPL: macro-t, a paired t-test over labels, for macro-F1; sign
    for P@k and PSP@k.
    """

    a: float
    b: float
    difference: Score
    p: Mapping[str, float]
    adjusted: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, a and b, measure by measure."""

    documents: int
    measures: Mapping[str, Difference]

    def to_json(self) -> dict[str, Any]:
        """The JSON form: documents, and for each measure a, b, difference with interval, p, adjusted."""
        return {"documents": self.documents, "measures": {name: asdict(row) for name, row in self.measures.items()}}


def compare(
    run_a: Run,
    run_b: Run,
    gold: Run,
    *,
    train: Run | None = None,
    measures: Sequence[str] | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    samples: int = 1000,
    permutations: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs: differences, intervals and p values. train, measures, propensity, samples as in `evaluate`.

    permutations: number of permutations in the randomisation test; a tenth of them for macro-F1, which is slow. Holm's
    correction is over all measures of a test. Raises the errors of `evaluate`.
    """
    check(gold, run_a, run_b)
    setting = Setting.of([run_a, run_b, gold], measures, train, propensity)
    a, b = panel(setting, run_a, gold), panel(setting, run_b, gold)
    names = [name for part in a for name in part.names]
    whole = np.ones((1, len(gold)))
    points = values(a, whole)[0], values(b, whole)[0]
    drawn = [values(a, weights) - values(b, weights) for weights in bootstrap(len(gold), samples, seed)]
    low, high = interval(points[0] - points[1], np.concatenate(drawn))
    tests = _tests(a, b, len(gold), permutations, seed)
    signs = {name: micro_sign(run_a, run_b, gold, split(name)[1]) for name in names if split(name)[0] in _SIGNED}
    tests["sign"] = signs
    adjusted = {test: holm(p) for test, p in tests.items()}
    rows = zip(names, *points, points[0] - points[1], low, high, strict=True)
    found = {
        name: Difference(float(in_a), float(in_b), Score(*map(float, estimate)), _of(name, tests), _of(name, adjusted))
        for name, in_a, in_b, *estimate in rows
    }
    return Comparison(len(gold), {name: found[name] for name in setting.names})


def paired_t(a: Doubles, b: Doubles) -> float:
    """Two-sided p of the paired t-test: the mean difference over its standard error, n - 1 degrees of freedom.

    a, b: (documents,). 1 with fewer than two documents or without any difference.

    Differences 1, 1, 0, 0: mean 1/2, standard deviation 1/sqrt(3), t = sqrt(3); with 3 degrees of freedom the
    probability beyond +-t is 1 - (2 / pi)(atan(t / sqrt(3)) + (t / sqrt(3)) / (1 + t^2 / 3)) = 1/2 - 1/pi.

    >>> math.isclose(paired_t(np.array([1.0, 1, 1, 0]), np.array([0.0, 0, 1, 0])), 1 / 2 - 1 / math.pi)
    True
    """
    from scipy.special import stdtr

    differences = a - b
    if len(differences) < 2 or not differences.any():
        return 1.0
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    return 0.0 if error == 0 else float(2 * stdtr(len(differences) - 1, -abs(differences.mean()) / error))


def micro_sign(run_a: Run, run_b: Run, gold: Run, k: int) -> float:
    """Micro sign test of Yang and Liu (1999): count which run is right in the decisions where they differ.

    A decision is yes or no for one document and one label: yes for the first k suggestions. Returns the two-sided p of
    the exact sign test; 1 if the runs never differ.

    The first run is right about label 3 and about leaving out 4, twice: 4 decisions to none, 2 (1/2)^4.

    >>> micro_sign(Run.from_rows([[3], [3]]), Run.from_rows([[4], [4]]), Run.from_rows([[3], [3]]), k=1)
    0.125
    """
    a, b = run_a.top(k), run_b.top(k)
    only_a, only_b = a.keep(~is_gold(a, b)), b.keep(~is_gold(b, a))
    right = [int(is_gold(only, gold).sum()) for only in (only_a, only_b)]
    wrong = [len(only.labels) - hits for only, hits in zip((only_a, only_b), right, strict=True)]
    return sign(right[0] + wrong[1], right[1] + wrong[0])


def mcnemar(a: Mask, b: Mask) -> float:
    """Two-sided p of McNemar's exact test: on documents where only one run is right, is each right equally often?

    a, b: (documents,) whether each run is right. Exact for any number of documents; 1 if the runs never differ.

    Three documents against none: 2 (1/2)^3.

    >>> mcnemar(np.array([True, True, True, False]), np.array([False, False, False, False]))
    0.25
    """
    return sign(int((a & ~b).sum()), int((b & ~a).sum()))


def sign(for_a: int, for_b: int) -> float:
    """Two-sided p of the exact sign test. for_a, for_b: cases where a or b is right. 1 without cases.

    All of 4: 2 (1/2)^4.

    >>> sign(4, 0), sign(0, 0)
    (0.125, 1.0)
    """
    from scipy.stats import binomtest

    return float(binomtest(for_a, for_a + for_b).pvalue) if for_a + for_b else 1.0


def randomisation(a: Measures, b: Measures, documents: int, permutations: int, seed: int) -> Doubles:
    """Two-sided p of each measure in the paired randomisation test (Fisher 1935; Smucker et al. 2007).

    If the runs are equally good, it does not matter which of them a document's suggestions came from: exchange them
    for a random half of the documents, and count how often the measures differ as much as they do. The measures are
    computed anew each time, so that the test holds for ratios and macro-F1 as for means. The observed assignment
    counts as one of the permutations, hence p is at least 1 / (permutations + 1).
    """
    whole = np.ones((1, documents))
    total_a, total_b = a.sums(whole), b.sums(whole)
    observed = np.abs(a.values(total_a) - b.values(total_b))
    extreme = np.zeros(observed.shape[1])
    for kept in sign_flips(documents, permutations, seed):
        moved = a.sums(kept) - b.sums(kept)
        differences = a.values(total_b + moved) - b.values(total_a - moved)
        extreme += (np.abs(differences) >= observed - 1e-12).sum(axis=0)
    return (1 + extreme) / (1 + permutations)


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Holm's correction (1979): p values whose family-wise error rate at 0.05 is at most 0.05.

    Three tests: the smallest times 3, the next times 2, the last times 1, and each at least as large as the one before.

    >>> holm({"x": 0.04, "y": 0.01, "z": 0.03})
    {'x': 0.06, 'y': 0.03, 'z': 0.06}
    """
    adjusted, least = {}, 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: p[name])):
        least = max(least, min(1.0, (len(p) - rank) * p[name]))
        adjusted[name] = least
    return {name: adjusted[name] for name in p}


_SIGNED = ("P", "PSP")
"Measures with a sign test: they count decisions."


def _tests(
    a: Sequence[Measures], b: Sequence[Measures], documents: int, permutations: int, seed: int
) -> dict[str, dict[str, float]]:
    """Test -> measure -> p."""
    by_randomisation: dict[str, float] = {}
    means: dict[str, tuple[Doubles, Doubles]] = {}
    macro: dict[str, float] = {}
    for part_a, part_b in zip(a, b, strict=True):
        times = max(1, permutations // 10) if isinstance(part_a, MacroF1) else permutations
        p = randomisation(part_a, part_b, documents, times, seed)
        by_randomisation |= dict(zip(part_a.names, p.tolist(), strict=True))
        if isinstance(part_a, Ratios) and isinstance(part_b, Ratios):
            means |= _means(part_a, part_b)
        elif isinstance(part_a, MacroF1) and isinstance(part_b, MacroF1):
            macro[part_a.names[0]] = paired_t(part_a.by_label(), part_b.by_label())
    return {
        "randomisation": by_randomisation,
        "t": {name: paired_t(*columns) for name, columns in means.items()},
        "mcnemar": {
            name: mcnemar(in_a > 0, in_b > 0)
            for name, (in_a, in_b) in means.items()
            if name == "P@1" or name.startswith("success@")
        },
        "macro-t": macro,
    }


def _means(a: Ratios, b: Ratios) -> dict[str, tuple[Doubles, Doubles]]:
    """Return the measures that are means over documents: name -> values of both runs, each (documents,)."""
    return {
        name: (a.parts[:, column], b.parts[:, column])
        for column, name in enumerate(a.names)
        if (a.wholes[:, column] == 1).all()
    }


def _of(name: str, tests: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {test: p[name] for test, p in tests.items() if name in p}
