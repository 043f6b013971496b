"""The randomisation test, against going through every permutation, and what is made of it."""

import itertools
import json
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tagwright.errors import ConfigError
from tagwright.evaluation.resampling import MacroF1, Ratios, sampled_values
from tagwright.evaluation.significance import compare, compare_all, holm, paired_p_value, randomisation_test
from tagwright.types import Doubles, Run

RANDOM = np.random.default_rng(11)


def column(values: Doubles) -> Doubles:
    return values[:, None]


def exact(difference: Callable[[Doubles], float], documents: int) -> float:
    """The share of all exchanges of documents (0 or 1 each) that differ at least as much as none."""
    observed = abs(difference(np.zeros(documents)))
    exchanges = itertools.product((0.0, 1.0), repeat=documents)
    return float(np.mean([abs(difference(np.array(each))) >= observed - 1e-12 for each in exchanges]))


def test_randomisation_of_means_agrees_with_every_exchange() -> None:
    a, b = RANDOM.random((2, 10))
    expected = exact(lambda swap: float(np.mean((a - b) * (1 - 2 * swap))), 10)
    ones = np.ones((10, 1))
    found = randomisation_test(Ratios(("m",), column(a), ones), Ratios(("m",), column(b), ones), 10, 20_000, seed=0)
    assert found[0] == pytest.approx(expected, abs=0.015)


def test_paired_scores_are_tested_as_means() -> None:
    """Three differences of 1: of the 8 exchanges, those of all and of none differ as much, 2 / 8."""
    assert paired_p_value(np.ones(3), np.zeros(3)) == pytest.approx(0.25, abs=0.02)
    assert paired_p_value(np.ones(3), np.ones(3)) == 1
    assert paired_p_value(np.ones(40), np.zeros(40)) < 0.001


def test_randomisation_of_macro_f1_computes_it_anew_for_every_exchange() -> None:
    gold = [{0, 1}, {0}, {1, 2}, {3}, {0, 2}, {1}, {2}, {0}]
    a = [{0, 1}, {0, 2}, {1}, {3}, {0}, {1, 0}, {2}, {3}]
    b = [{3}, {0}, {2, 3}, {1}, {1}, {1}, {0}, {0, 1}]

    def score(rows: list[set[int]]) -> float:
        found = MacroF1.of("F", Run.from_rows(rows), Run.from_rows(gold), 2)
        return float(sampled_values([found], np.ones((1, 8)))[0, 0])

    def difference(swap: Doubles) -> float:
        first = [y if swapped else x for x, y, swapped in zip(a, b, swap, strict=True)]
        second = [x if swapped else y for x, y, swapped in zip(a, b, swap, strict=True)]
        return score(first) - score(second)

    in_a, in_b = (MacroF1.of("F", Run.from_rows(rows), Run.from_rows(gold), 2) for rows in (a, b))
    found = randomisation_test(in_a, in_b, 8, 10_000, seed=0)
    assert found[0] == pytest.approx(exact(difference, 8), abs=0.02)


GOLD = Run.from_rows([[document % 5] for document in range(60)])
GOOD = Run.from_rows([{document % 5: 2.0, 7: 1.0} for document in range(60)])
POOR = Run.from_rows([{7: 2.0, document % 5: 1.0} if document % 2 else {document % 5: 1.0} for document in range(60)])
TRAIN = Run.from_rows([[label] for label in (0, 0, 1, 2, 3, 4, 7)])


def test_a_clear_difference_is_found() -> None:
    found = compare(GOOD, POOR, GOLD, train=TRAIN, samples=100, permutations=999).measures
    assert (found["P@1"].a, found["P@1"].b, found["P@1"].difference.value) == (1, 0.5, 0.5)
    assert 0.35 < found["P@1"].difference.low < 0.5 < found["P@1"].difference.high < 0.65
    assert found["P@1"].p == pytest.approx(1 / 1000)
    assert found["PSP@1"].is_significant


RUNS = {name: Run.from_rows(RANDOM.permutation(6)[:4].tolist() for _ in range(40)) for name in ("x", "y", "z")}
THEIR_GOLD = Run.from_rows(RANDOM.permutation(6)[:2].tolist() for _ in range(40))


def test_every_two_of_three_runs_are_compared() -> None:
    measures = ["P@1", "macro-F1@2"]
    found = compare_all(RUNS, THEIR_GOLD, measures=measures, samples=20, permutations=100)
    assert list(found) == [("x", "y"), ("x", "z"), ("y", "z")]
    for (a, b), pair in found.items():
        alone = compare(RUNS[a], RUNS[b], THEIR_GOLD, measures=measures, samples=20, permutations=100)
        assert {name: (row.a, row.b, row.difference, row.p) for name, row in pair.measures.items()} == {
            name: (row.a, row.b, row.difference, row.p) for name, row in alone.measures.items()
        }


def test_p_values_are_corrected_over_all_comparisons() -> None:
    """Over measures and pairs together: 3 pairs with 2 measures are 6 tests."""
    found = compare_all(RUNS, THEIR_GOLD, measures=["P@1", "R@3"], samples=20, permutations=200)
    cells = [(pair, name) for pair in found for name in ("P@1", "R@3")]
    plain = {cell: found[cell[0]].measures[cell[1]].p for cell in cells}
    least = min(plain, key=lambda cell: plain[cell])
    expected = holm(plain)
    assert expected[least] == pytest.approx(min(1, 6 * plain[least]))
    assert {cell: found[cell[0]].measures[cell[1]].adjusted for cell in cells} == expected


def test_comparisons_are_a_mapping_and_a_table() -> None:
    found = compare_all(RUNS, THEIR_GOLD, measures=["P@1"], samples=20, permutations=50)
    assert isinstance(found, Mapping)
    assert len(found) == len(found.rows()) == 3
    assert {"a": "x", "b": "z", "measure": "P@1"}.items() <= found.rows()[1].items()
    content = json.loads(json.dumps(found.to_json()))
    assert [(each["a"], each["b"]) for each in content["comparisons"]] == list(found)
    assert set(content["comparisons"][0]["measures"]["P@1"]["difference"]) == {"value", "low", "high"}
    assert repr(found) == "Comparisons of x, y, z over 40 documents"
    assert "p: randomisation test: how often the difference is as large" in str(found)
    with pytest.raises(ConfigError, match=r"no comparison 'P@1'; there are \('x', 'y'\)"):
        _ = found["P@1"]
    two = compare_all({name: RUNS[name] for name in "xy"}, THEIR_GOLD, measures=["P@1"], samples=20, permutations=50)
    assert two["P@1"] is two["x", "y"].measures["P@1"]


def test_one_run_is_no_comparison() -> None:
    with pytest.raises(ConfigError, match="got 1 run, expected two or more"):
        compare_all({"x": RUNS["x"]}, THEIR_GOLD)


def test_no_difference_of_shares_is_beyond_a_hundred_points() -> None:
    """Of two documents, the correction of the bias led to 102."""
    gold = Run.from_rows([[0], [1]])
    right, wrong = gold, Run.from_rows([[2], [2]])
    for a, b in ((right, wrong), (Run.from_rows([[0], [2]]), wrong), (wrong, Run.from_rows([[2], [1]]))):
        for seed in range(5):
            for each in compare(a, b, gold, samples=50, permutations=10, seed=seed).measures.values():
                assert -1 <= each.difference.low <= each.difference.high <= 1
