from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from tagwright.monitoring.two_samples import most_changed, ranks_differ, separation


def test_the_probability_of_a_share_is_that_of_all_ways_to_draw_the_documents() -> None:
    documents = "aaab" + "abbbb"  # 3 of the 4 last ones have "a", 1 of the 5 before
    drawn = [sum(documents[i] == "a" for i in rows) for rows in combinations(range(9), 4)]
    at_least, at_most = sum(n >= 3 for n in drawn) / len(drawn), sum(n <= 3 for n in drawn) / len(drawn)
    change = most_changed({"a": 3}, 4, {"a": 1}, 5)
    assert change.p == pytest.approx(2 * min(at_least, at_most))
    assert (change.category, change.before, change.now) == ("a", 0.2, 0.75)
    assert most_changed({"a": 3}, 4, {"a": 1}, 5, rises=True).p == pytest.approx(at_least)


def test_the_probability_counts_every_category_that_could_have_changed() -> None:
    alone = most_changed({"a": 9}, 10, {"a": 1}, 10, rises=True).p
    others = {f"b{i}": 1 for i in range(30)}
    assert most_changed({"a": 9}, 10, {"a": 1, **others}, 10, rises=True).p == pytest.approx(31 * alone)


def test_a_label_that_has_become_rare_is_no_flood() -> None:
    assert most_changed({"a": 1}, 100, {"a": 90}, 100, rises=True).p == 1.0
    assert most_changed({"a": 1}, 100, {"a": 90}, 100).p < 1e-20


def test_probabilities_are_those_of_scipy() -> None:
    from scipy.stats import hypergeom, mannwhitneyu

    for now, before in ((0, 3), (4, 0), (60, 41), (200, 200), (90, 300)):
        p = 2 * min(hypergeom.sf(now - 1, 700, now + before, 200), hypergeom.cdf(now, 700, now + before, 200))
        assert most_changed({"a": now}, 200, {"a": before}, 500).p == pytest.approx(min(1.0, p), rel=1e-6)
    rng = np.random.default_rng(0)
    ones, others = rng.integers(0, 9, 50).tolist(), rng.integers(2, 12, 90).tolist()
    expected = mannwhitneyu(ones, others, method="asymptotic").pvalue
    assert ranks_differ(ones, others) == pytest.approx(expected, rel=1e-6)


def test_ranks_that_interleave_do_not_differ() -> None:
    assert ranks_differ([1, 4, 5, 8], [2, 3, 6, 7]) == pytest.approx(1.0)


def test_separation_is_the_share_of_the_variance_that_the_bits_explain() -> None:
    # the bit is 1 in 3 of 4 and in 1 of 4 documents: its correlation with the sample is 1/2
    assert separation([1, 1, 1, 0], [0, 0, 0, 1], bits=1)[0] == pytest.approx(0.25)
    assert separation([1, 1, 1, 0], [3, 1, 1, 2], bits=1)[0] == pytest.approx(0.0)  # the second bit is not read


def test_separation_is_improbable_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.random((40, 8)) < rng.random(8)) @ (1 << np.arange(8))
    mixed = [rng.permutation(rows).tolist() for _ in range(2000)]
    found = [separation(each[:15], each[15:], bits=8)[1] for each in mixed]
    # of 2000 trials at 5%, 100 are expected, and more than 140 or fewer than 60 once in 20,000 times
    assert 60 < sum(p < 0.05 for p in found) < 140


def test_bits_that_never_change_say_nothing() -> None:
    assert separation([5, 5], [5, 5, 5], bits=3) == (0.0, 1.0)


def test_the_order_of_documents_says_nothing() -> None:
    assert len({separation(rows, [0, 1, 2, 2, 3, 1], bits=2) for rows in permutations((1, 2, 3))}) == 1
