"""Maps from scores to probabilities: against scikit-learn and scipy, and against sources whose chances are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.saved import again

from tagwright.combining.confidence import (
    FIRST,
    ISOTONIC_FROM,
    Isotonic,
    Mapped,
    Platt,
    fit_isotonic,
    fit_platt,
    fit_score_map,
)
from tagwright.errors import ConfigError

EXAMPLES = st.lists(
    st.tuples(st.integers(-3, 9), st.booleans(), st.sampled_from([0.25, 1.0, 3.0])), min_size=1, max_size=30
)


@given(EXAMPLES)
def test_both_maps_rise_and_stay_between_0_and_1(examples: list[tuple[int, bool, float]]) -> None:
    scores, right, weights = (np.array(part) for part in zip(*examples, strict=True))
    for found in (fit_isotonic(scores, right, weights, 5), fit_platt(scores, right, weights)):
        values = found(np.linspace(-9.0, 15.0, 97))
        assert (np.diff(values) >= -1e-12).all()
        assert (values >= 0).all()
        assert (values <= 1).all()  # a steep curve rounds to the ends


def test_isotonic_regression_pools_by_weight() -> None:
    """The violators 0.0 (weight 3) and 1.0 below it (weight 1) become 1/4; ends are held off 0 and 1 by 1/102."""
    found = fit_isotonic(np.array([1.0, 2.0, 5.0]), np.array([True, False, True]), np.array([1.0, 3.0, 1.0]), 100)
    assert found(np.array([1.0, 2.0, 3.5, 6.0])) == pytest.approx([0.25, 0.25, (0.25 + 101 / 102) / 2, 101 / 102])


def test_platt_minimises_the_cross_entropy_of_smoothed_targets() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    scores = rng.normal(5, 3, 200)
    right = rng.random(200) < 1 / (1 + np.exp(4 - scores))
    weights = rng.uniform(0.2, 2, 200)
    positive, negative = weights[right].sum(), weights[~right].sum()
    targets = np.where(right, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(at: np.ndarray) -> float:
        logits = at[0] * scores + at[1]
        return float(weights @ (np.logaddexp(0, logits) - targets * logits))

    found = fit_platt(scores, right, weights)
    expected = minimize(loss, np.array([0.1, 0.0]), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10}).x
    assert (found.slope, found.intercept) == pytest.approx(tuple(expected), rel=1e-4)


def test_platt_is_level_where_higher_scores_are_right_less_often() -> None:
    found = fit_platt(np.array([3.0, 2.0, 1.0, 0.0]), np.array([False, False, True, True]), np.ones(4))
    assert found(np.array([-5.0, 5.0])) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("documents", "kind"), [(ISOTONIC_FROM - 1, Platt), (ISOTONIC_FROM, Isotonic)])
def test_the_map_is_chosen_by_the_number_of_documents_not_of_suggestions(documents: int, kind: type) -> None:
    rng = np.random.default_rng(2)
    rows = np.repeat(np.arange(documents), 10)
    chance = rng.uniform(0, 1, len(rows))
    found = fit_score_map(np.log(chance / (1 - chance)), rng.random(len(rows)) < chance, rows)
    assert isinstance(found, kind)
    # the chances are the logistic curve of the scores: 2,000 suggestions leave a standard error of 0.03 at each
    assert found(np.array([-1.0, 0.0, 1.0])) == pytest.approx([0.269, 0.5, 0.731], abs=0.1)


@pytest.mark.parametrize("documents", [50, ISOTONIC_FROM])
def test_candidates_behind_the_first_do_not_make_the_first_less_sure(documents: int) -> None:
    rng = np.random.default_rng(3)
    rows, scores = np.repeat(np.arange(documents), FIRST), rng.normal(size=documents * FIRST)
    right = rng.random(len(rows)) < 1 / (1 + np.exp(-scores))
    more = np.repeat(np.arange(documents), 80)
    behind = np.concatenate([scores, np.full(len(more), -9.0)])
    found = fit_score_map(scores, right, rows)
    with_all = fit_score_map(behind, np.append(right, more < 0), np.concatenate([rows, more]))
    points = np.linspace(-2.0, 2.0, 5)
    assert with_all(points) == pytest.approx(found(points))


def test_nothing_is_learnt_from_nothing() -> None:
    nothing = np.zeros(0)
    with pytest.raises(ConfigError, match="no suggestions"):
        fit_score_map(nothing, nothing > 0, nothing.astype(np.int64))


@pytest.mark.parametrize("found", [Isotonic(np.array([0.5, 2.0]), np.array([0.1, 0.7])), Platt(0.25, -1.0)])
def test_a_saved_map_gives_the_same_probabilities(found: Isotonic | Platt) -> None:
    scores = np.linspace(-3, 3, 20)
    assert again(Mapped(found), []).score_map(scores).tolist() == found(scores).tolist()
