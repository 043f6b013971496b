"""Compare runs over the same documents: the difference of each measure, its 95% interval and its p value."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar, overload

import numpy as np

from tagwright.core.display import html_table, plural
from tagwright.errors import ConfigError
from tagwright.evaluation.metrics import PROPENSITIES, Propensity
from tagwright.evaluation.resampling import (
    Measures,
    Ratios,
    Score,
    bootstrap,
    interval,
    sampled_values,
    sign_flips,
)
from tagwright.evaluation.scores import MeasureInputs, check_runs, resampled_measures
from tagwright.evaluation.tables import Rows, as_text, percent, percent_interval
from tagwright.types import Doubles, Run

_Key = TypeVar("_Key", bound=Hashable)

MEANING_OF_P = (
    "randomisation test: how often the difference is as large when a random half of the documents exchange their "
    "suggestions between the two runs (Fisher 1935), after Holm's correction"
)
"Explains the column `p` of `comparison_rows`: a small p says that chance hardly makes such a difference."


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of two runs.

    a, b: the values of the runs, from 0 to 1. difference: a - b with its interval. p, adjusted: of the randomisation
    test, before and after Holm's correction.
    """

    a: float
    b: float
    difference: Score
    p: float
    adjusted: float

    @property
    def is_significant(self) -> bool:
        """Whether p is at most 0.05 after the correction."""
        return self.adjusted <= 0.05

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, with p and adjusted under the name of the test, as there might be others."""
        p = {"p": {"randomisation": self.p}, "adjusted": {"randomisation": self.adjusted}}
        return {"a": self.a, "b": self.b, "difference": self.difference.to_json(), **p}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, measure by measure.

    documents: their number. measures: name -> difference. a, b: names of the runs.
    """

    documents: int
    measures: Mapping[str, Difference]
    a: str = "A"
    b: str = "B"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: documents, and the differences of the measures."""
        return {"documents": self.documents, "measures": {name: row.to_json() for name, row in self.measures.items()}}


@dataclass(frozen=True, slots=True, repr=False)
class Comparisons(Mapping[tuple[str, str], Comparison]):
    """Every pair of several runs compared: a mapping from two names to their `Comparison`.

    documents: the number that was scored. pairs: the comparisons, in the order of the runs. Where only two runs are
    compared, `comparisons["P@1"]` is their `Difference` in that measure.
    """

    documents: int
    pairs: tuple[Comparison, ...] = ()

    @overload
    def __getitem__(self, key: tuple[str, str]) -> Comparison: ...
    @overload
    def __getitem__(self, key: str) -> Difference: ...
    def __getitem__(self, key: tuple[str, str] | str) -> Comparison | Difference:
        """Return one comparison by the names of its runs, or one measure of the only two runs. Raises ConfigError."""
        pairs = {(pair.a, pair.b): pair for pair in self.pairs}
        if isinstance(key, tuple) and key in pairs:
            return pairs[key]
        if isinstance(key, str) and len(self.pairs) == 1 and key in self.pairs[0].measures:
            return self.pairs[0].measures[key]
        raise ConfigError(f"no comparison {key!r}; there are {', '.join(map(repr, pairs))}")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((pair.a, pair.b) for pair in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def rows(self) -> list[dict[str, Any]]:
        """Return a record for each measure of every two runs, for a table: `pandas.DataFrame(comparisons.rows())`."""
        return [
            {
                "a": pair.a, "b": pair.b, "measure": name, "value_a": row.a, "value_b": row.b,
                "difference": row.difference.value, "low": row.difference.low, "high": row.difference.high,
                "p": row.p, "adjusted": row.adjusted,
            }
            for pair in self.pairs
            for name, row in pair.measures.items()
        ]  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: the comparison of two runs; for more, documents and a list of comparisons."""
        if len(self.pairs) == 1:
            return self.pairs[0].to_json()
        pairs = [{"a": pair.a, "b": pair.b, "measures": pair.to_json()["measures"]} for pair in self.pairs]
        return {"documents": self.documents, "comparisons": pairs}

    def __repr__(self) -> str:
        names = dict.fromkeys(name for pair in self for name in pair)
        return f"Comparisons of {', '.join(names)} over {plural(self.documents, 'document')}"

    def __str__(self) -> str:
        tables = [f"{as_text(comparison_rows(pair))}\n{who_is_better(pair)}" for pair in self.pairs]
        return "\n\n".join([repr(self), *tables, f"p: {MEANING_OF_P}"])

    def _repr_html_(self) -> str:
        return "".join(html_table(comparison_rows(pair), f"{pair.a} and {pair.b}") for pair in self.pairs)


def comparison_rows(comparison: Comparison) -> Rows:
    """Return a row for each measure: both runs in percent, their difference in points, its interval, corrected p.

    A star marks a significant difference.
    """
    a, b = comparison.a, comparison.b
    rows = [["%", a, b, f"{a} - {b}", "95% interval", "p"]]
    for name, row in comparison.measures.items():
        difference = percent(row.difference.value, "+") + ("*" if row.is_significant else "")
        p = "<0.001" if row.adjusted < 0.001 else f"{row.adjusted:.3f}"
        rows.append([name, percent(row.a), percent(row.b), difference, percent_interval(row.difference), p])
    return rows


def who_is_better(comparison: Comparison) -> str:
    """Say in a sentence which run is better, and in what: the measures with a significant difference.

    >>> def differ(by: float, p: float) -> Difference:
    ...     return Difference(0.5 + by, 0.5, Score(by, by - 0.1, by + 0.1), p, p)
    >>> who_is_better(Comparison(9, {"P@1": differ(0.2, 0.01), "P@5": differ(-0.1, 0.3)}, "new", "old"))
    'new is better in P@1 (+20.0 points); in P@5 the difference is not significant.'
    >>> who_is_better(Comparison(9, {"P@1": differ(0.2, 0.2)}, "new", "old"))
    'Neither new nor old is better: no difference is significant.'
    """
    better = dict[str, list[str]]()
    for name, row in comparison.measures.items():
        if row.is_significant and row.difference:
            winner = comparison.a if row.difference > 0 else comparison.b
            better.setdefault(winner, []).append(f"{name} ({percent(abs(row.difference), '+')} points)")
    if not better:
        return f"Neither {comparison.a} nor {comparison.b} is better: no difference is significant."
    open_ = [name for name, row in comparison.measures.items() if not (row.is_significant and row.difference)]
    parts = [f"{winner} is better in {', '.join(names)}" for winner, names in better.items()]
    parts += [f"in {', '.join(open_)} the difference is not significant"] if open_ else []
    return f"{'; '.join(parts)}."


def run_names(count: int) -> list[str]:
    """Return names for runs: A, B, ..., or numbers where there are more runs than letters.

    >>> run_names(3)
    ['A', 'B', 'C']
    """
    return list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]) if count <= 26 else [str(number + 1) for number in range(count)]


def compare(run_a: Run, run_b: Run, gold: Run, **options: Any) -> Comparison:
    """Compare two runs over the documents of gold. options: those of `compare_all`."""
    return compare_all({"A": run_a, "B": run_b}, gold, **options).pairs[0]


def compare_all(
    runs: Mapping[str, Run],
    gold: Run,
    *,
    train: Run | None = None,
    above: Any = None,
    measures: Sequence[str] | None = None,
    propensity: Propensity = PROPENSITIES["usual"],
    samples: int = 1000,
    permutations: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Compare every two of the runs over the same documents, with Holm's correction over all measures and pairs.

    runs: name -> run, two or more.
    gold, train, above, measures, propensity, samples: as in `evaluate`.
    permutations: of the randomisation test; a tenth of them for macro-F1, which is slow.

    Raises the errors of `evaluate`, and ConfigError for fewer than two runs.
    """
    if len(runs) < 2:
        raise ConfigError(f"got {plural(len(runs), 'run')}, expected two or more to compare")
    check_runs(gold, *runs.values())
    inputs = MeasureInputs.of([*runs.values(), gold], measures, train, above, propensity)
    by_run = {name: resampled_measures(inputs, run, gold) for name, run in runs.items()}
    p = dict[tuple[tuple[str, str], str], float]()
    estimated = dict[tuple[str, str], _Estimates]()
    for pair in combinations(runs, 2):
        a, b = (by_run[name] for name in pair)
        p |= {(pair, name): value for name, value in _p_values(a, b, len(gold), permutations, seed).items()}
        estimated[pair] = _differences(a, b, len(gold), samples, seed)
    adjusted = holm(p)
    pairs = [
        Comparison(
            len(gold),
            {name: Difference(*estimates[name], p[pair, name], adjusted[pair, name]) for name in inputs.names},
            *pair,
        )
        for pair, estimates in estimated.items()
    ]
    return Comparisons(len(gold), tuple(pairs))


def paired_p_value(a: Doubles, b: Doubles, permutations: int = 10_000, seed: int = 0) -> float:
    """Return the two-sided p of the randomisation test that two runs have the same mean score.

    a, b: (documents,) the scores of the runs for the same documents.
    """
    first, second = (Ratios(("mean",), scores[:, None], np.ones((len(a), 1))) for scores in (a, b))
    return float(randomisation_test(first, second, len(a), permutations, seed)[0])


_Estimates = dict[str, tuple[float, float, Score]]
"Measure -> its value in both runs, and their difference."


def _differences(a: Sequence[Measures], b: Sequence[Measures], documents: int, samples: int, seed: int) -> _Estimates:
    """Return both values of each measure, and their difference; its interval is from the same samples of both runs."""
    names = [name for part in a for name in part.names]
    in_a, in_b = (sampled_values(measures, np.ones((1, documents)))[0] for measures in (a, b))
    drawn = [sampled_values(a, weights) - sampled_values(b, weights) for weights in bootstrap(documents, samples, seed)]
    # the correction of the bias may lead beyond
    low, high = np.clip(interval(in_a - in_b, np.concatenate(drawn), documents), -1, 1)
    rows = zip(names, in_a, in_b, in_a - in_b, low, high, strict=True)
    return {name: (float(one), float(other), Score(*map(float, difference))) for name, one, other, *difference in rows}


def _p_values(
    a: Sequence[Measures], b: Sequence[Measures], documents: int, permutations: int, seed: int
) -> dict[str, float]:
    """Return p of each measure, before correction."""
    p = dict[str, float]()
    for part_a, part_b in zip(a, b, strict=True):
        count = max(1, permutations // 10) if part_a.names[0].startswith("macro") else permutations
        p |= zip(part_a.names, randomisation_test(part_a, part_b, documents, count, seed).tolist(), strict=True)
    return p


def randomisation_test(a: Measures, b: Measures, documents: int, permutations: int, seed: int) -> Doubles:
    """(measures,) the two-sided p of the paired randomisation test (Fisher 1935; Smucker et al. 2007).

    If the runs are equally good, it does not matter from which of them a document's suggestions are. Each permutation
    exchanges them for a random half of the documents; p is the share of permutations in which the runs differ at least
    as much as they do. The measures are computed anew for each, so that the test holds for ratios and macro-F1 as for
    means. The observed assignment counts as a permutation, so that p is at least 1 / (permutations + 1).

    a, b: the same measures of either run. documents: their number.
    """
    whole = np.ones((1, documents))
    total_a, total_b = a.sums(whole), b.sums(whole)
    observed = np.abs(a.values(total_a) - b.values(total_b))
    extreme = np.zeros(observed.shape[1])
    for kept in sign_flips(documents, permutations, seed):
        # Sums are linear: with the suggestions of a where kept and of b elsewhere, they are total_b + difference.
        difference = a.sums(kept) - b.sums(kept)
        differences = a.values(total_b + difference) - b.values(total_a - difference)
        extreme += (np.abs(differences) >= observed - 1e-12).sum(axis=0)  # equal ones differ in their last digits
    return (1 + extreme) / (1 + permutations)


def holm(p: Mapping[_Key, float]) -> dict[_Key, float]:
    """Correct p values for their number (Holm 1979), so that any one of them is at most 0.05 by chance in 5% of cases.

    Three tests: the smallest times 3, the next times 2, the last times 1, and each at least as large as the one before.

    >>> holm({"x": 0.04, "y": 0.01, "z": 0.03})
    {'x': 0.06, 'y': 0.03, 'z': 0.06}
    """
    adjusted, least = dict[_Key, float](), 0.0
    for rank, name in enumerate(sorted(p, key=lambda name: p[name])):
        least = max(least, min(1.0, (len(p) - rank) * p[name]))
        adjusted[name] = least
    return {name: adjusted[name] for name in p}
