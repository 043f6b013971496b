"""Compare runs over the same documents: the difference of each measure, its interval and p values."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from tagwright.core.display import html_table, many
from tagwright.errors import ConfigError
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
from tagwright.evaluation.text_tables import Rows, as_text, between, percent
from tagwright.types import Doubles, Mask, Run

_Key = TypeVar("_Key", bound=Hashable)

TESTS = {
    "randomisation": (
        "p",
        "randomisation test: how often the difference is as large when a random half of the documents exchange their "
        "suggestions between the two runs; for every measure (Fisher 1935)",
    ),
    "t": ("p (t)", "paired t-test over documents, for measures that are means over documents"),
    "mcnemar": (
        "p (McNemar)",
        "McNemar's test: of the documents where only one run is right, whether each is right equally often; for P@1 "
        "and success",
    ),
    "macro-t": (
        "p (macro t)",
        "macro t-test: a paired t-test over labels, each with its F1 in both runs; for macro-F1 (Yang and Liu 1999)",
    ),
    "sign": (
        "p (sign)",
        "micro sign test: of the decisions, yes or no for a document and a label, in which the runs differ, whether "
        "each is right equally often; for P@k and PSP@k (Yang and Liu 1999)",
    ),
}
"Test -> the heading of its column, and what it asks. Where p is small, the difference is hardly one of chance."


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of two runs.

    difference: a - b with its interval. p, adjusted: test of `TESTS` -> p, before and after Holm's correction.
    """

    a: float
    b: float
    difference: Score
    p: Mapping[str, float]
    adjusted: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """The JSON form: a, b, difference with interval, p, adjusted."""
        values = {"a": self.a, "b": self.b, "difference": self.difference.to_json()}
        return {**values, "p": dict(self.p), "adjusted": dict(self.adjusted)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, measure by measure. a, b: their names."""

    documents: int
    measures: Mapping[str, Difference]
    a: str = "A"
    b: str = "B"

    def to_json(self) -> dict[str, Any]:
        """The JSON form: documents, and for each measure a, b, difference with interval, p, adjusted."""
        return {"documents": self.documents, "measures": {name: row.to_json() for name, row in self.measures.items()}}


@dataclass(frozen=True, slots=True, repr=False)
class Comparisons(Mapping[tuple[str, str], Comparison]):
    """Any number of runs, every two of them compared: a mapping from two names to their `Comparison`.

    pairs: in the order of the runs. With two runs alone, `comparisons["P@1"]` is their Difference in that measure.
    """

    documents: int
    pairs: tuple[Comparison, ...] = field(default_factory=tuple)

    def __getitem__(self, key: Any) -> Any:
        """One comparison by the names of its runs, or, of two runs alone, one measure. Raises ConfigError."""
        found = {(each.a, each.b): each for each in self.pairs}
        if key in found:
            return found[key]
        if len(self.pairs) == 1 and key in self.pairs[0].measures:
            return self.pairs[0].measures[key]
        raise ConfigError(f"no comparison {key!r}; there are {', '.join(map(repr, found))}")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((each.a, each.b) for each in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def rows(self) -> list[dict[str, Any]]:
        """A record for each measure of each two runs, for a table: `pandas.DataFrame(comparisons.rows())`.

        p, adjusted: of the randomisation test, before and after Holm's correction.
        """
        return [
            {
                "a": pair.a, "b": pair.b, "measure": name, "value_a": row.a, "value_b": row.b,
                "difference": row.difference.value, "low": row.difference.low, "high": row.difference.high,
                "p": row.p["randomisation"], "adjusted": row.adjusted["randomisation"],
            }
            for pair in self.pairs
            for name, row in pair.measures.items()
        ]  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """The JSON form: that of the comparison of two runs; of more, documents and a list of comparisons."""
        if len(self.pairs) == 1:
            return self.pairs[0].to_json()
        pairs = [{"a": each.a, "b": each.b, "measures": each.to_json()["measures"]} for each in self.pairs]
        return {"documents": self.documents, "comparisons": pairs}

    def __repr__(self) -> str:
        names = dict.fromkeys(name for pair in self for name in pair)
        return f"Comparisons of {', '.join(names)} over {many(self.documents, 'document')}"

    def __str__(self) -> str:
        said = [f"{heading}: {sentence}" for heading, sentence in tests_of(self.pairs).items()]
        return "\n\n".join([repr(self), *(as_text(comparison_rows(pair)) for pair in self.pairs), "\n".join(said)])

    def _repr_html_(self) -> str:
        return "".join(html_table(comparison_rows(pair), f"{pair.a} and {pair.b}") for pair in self.pairs)


def comparison_rows(comparison: Comparison) -> Rows:
    """Both runs, their difference in points with its interval, and each test's p after Holm's correction.

    Plain p is of the randomisation test, made for every measure; a star marks 0.05 or less.
    """
    tests, a, b = _made(comparison), comparison.a, comparison.b
    rows = [["%", a, b, f"{a} - {b}", "95% interval", *(TESTS[test][0] for test in tests)]]
    for name, row in comparison.measures.items():
        difference = percent(row.difference.value, "+") + ("*" if is_significant(row) else "")
        p = (_p(row.adjusted.get(test)) for test in tests)
        rows.append([name, percent(row.a), percent(row.b), difference, between(row.difference), *p])
    return rows


def tests_of(comparisons: Iterable[Comparison]) -> dict[str, str]:
    """The tests that were made: the heading of their column in `comparison_rows`, and what they ask."""
    made = dict.fromkeys(test for each in comparisons for test in _made(each))
    return dict(asked for test, asked in TESTS.items() if test in made)


def _made(comparison: Comparison) -> list[str]:
    return [test for test in TESTS if any(test in row.adjusted for row in comparison.measures.values())]


def run_names(count: int) -> list[str]:
    """Names of runs that have none: A, B, ..., or numbers where there are more than letters.

    >>> run_names(3)
    ['A', 'B', 'C']
    """
    return list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]) if count <= 26 else [str(number + 1) for number in range(count)]


def compare(run_a: Run, run_b: Run, gold: Run, **options: Any) -> Comparison:
    """Compare two runs: differences, intervals and p values. options: those of `compare_all`."""
    return compare_all({"A": run_a, "B": run_b}, gold, **options).pairs[0]


def compare_all(
    runs: Mapping[str, Run],
    gold: Run,
    *,
    train: Run | None = None,
    above: Any = None,
    measures: Sequence[str] | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    samples: int = 1000,
    permutations: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Compare every two of the runs. train, above, measures, propensity, samples as in `evaluate`.

    permutations: number of permutations in the randomisation test; a tenth of them for macro-F1, which is slow. Holm's
    correction is over all measures of a test and all comparisons. Raises the errors of `evaluate`, ConfigError for
    fewer than two runs.
    """
    if len(runs) < 2:
        raise ConfigError(f"got {many(len(runs), 'run')}, expected two or more to compare")
    check(gold, *runs.values())
    setting = Setting.of([*runs.values(), gold], measures, train, propensity, above)
    panels = {name: panel(setting, run, gold) for name, run in runs.items()}
    tested, estimated = dict[tuple[str, str], _Tests](), dict[tuple[str, str], _Estimates]()
    for pair in combinations(runs, 2):
        a, b = (panels[name] for name in pair)
        tested[pair] = _tests(a, b, len(gold), permutations, seed)
        tested[pair]["sign"] = _signs(runs[pair[0]], runs[pair[1]], gold, setting.names)
        estimated[pair] = _differences(a, b, len(gold), samples, seed)
    adjusted = _adjusted(tested)
    pairs = [
        Comparison(
            len(gold),
            {
                name: Difference(*estimated[pair][name], _of(name, tested[pair]), _of(name, adjusted[pair]))
                for name in setting.names
            },
            *pair,
        )
        for pair in tested
    ]
    return Comparisons(len(gold), tuple(pairs))


_Tests = dict[str, dict[str, float]]
"Test -> measure -> p."

_Estimates = dict[str, tuple[float, float, Score]]
"Measure -> its value in both runs, and their difference."


def _differences(a: Sequence[Measures], b: Sequence[Measures], documents: int, samples: int, seed: int) -> _Estimates:
    names = [name for part in a for name in part.names]
    whole = np.ones((1, documents))
    points = values(a, whole)[0], values(b, whole)[0]
    drawn = [values(a, weights) - values(b, weights) for weights in bootstrap(documents, samples, seed)]
    low, high = interval(points[0] - points[1], np.concatenate(drawn))
    rows = zip(names, *points, points[0] - points[1], low, high, strict=True)
    return {name: (float(in_a), float(in_b), Score(*map(float, estimate))) for name, in_a, in_b, *estimate in rows}


def _signs(run_a: Run, run_b: Run, gold: Run, names: Sequence[str]) -> dict[str, float]:
    return {name: micro_sign(run_a, run_b, gold, split(name)[1]) for name in names if split(name)[0] in _SIGNED}


def _adjusted(tested: Mapping[tuple[str, str], _Tests]) -> dict[tuple[str, str], _Tests]:
    """The p values after Holm's correction of each test over all pairs and measures."""
    found: dict[tuple[str, str], _Tests] = {pair: {} for pair in tested}
    for test in {test: None for tests in tested.values() for test in tests}:
        p = {(pair, name): value for pair, tests in tested.items() for name, value in tests[test].items()}
        for (pair, name), value in holm(p).items():
            found[pair].setdefault(test, {})[name] = value
    return found


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
    only_a, only_b = a.keep(~a.held_by(b)), b.keep(~b.held_by(a))
    right = [int(only.held_by(gold).sum()) for only in (only_a, only_b)]
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


def holm(p: Mapping[_Key, float]) -> dict[_Key, float]:
    """Holm's correction (1979): p values whose family-wise error rate at 0.05 is at most 0.05.

    Three tests: the smallest times 3, the next times 2, the last times 1, and each at least as large as the one before.

    >>> holm({"x": 0.04, "y": 0.01, "z": 0.03})
    {'x': 0.06, 'y': 0.03, 'z': 0.06}
    """
    adjusted, least = dict[_Key, float](), 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: p[name])):
        least = max(least, min(1.0, (len(p) - rank) * p[name]))
        adjusted[name] = least
    return {name: adjusted[name] for name in p}


_SIGNED = ("P", "PSP")
"Measures with a sign test: they count decisions."


def _tests(a: Sequence[Measures], b: Sequence[Measures], documents: int, permutations: int, seed: int) -> _Tests:
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


def _p(value: float | None) -> str:
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def is_significant(row: Difference) -> bool:
    """Whether the randomisation test is significant after Holm's correction."""
    return row.adjusted["randomisation"] <= 0.05
