"""Thresholds of labels: worked out by hand, shrunk towards the common one, kept by id, saved and loaded."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fixed import Fixed
from tests.saved import again

from tagwright.combining.confidence import Curve
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.thresholds import Thresholds, parse_aim
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.tagger import Tagger
from tagwright.tagger.confidences import with_confidence
from tagwright.types import Run


def suggested(*rows: dict[int, float]) -> Run:
    """A run with scores that are the confidences."""
    run = Run.from_rows(rows)
    return Run(run.indptr, run.labels, run.scores, run.scores)


RUN = suggested({0: 0.9, 1: 0.5}, {0: 0.4, 1: 0.3}, {0: 0.8, 1: 0.1}, {2: 0.6})
GOLD = Run.from_rows([[0, 1], [1], [0], [1]])
"""Right are 0.9 and 0.8 of label 0, 0.5 and 0.3 of label 1, whose third document has no suggestion of it.

Of all labels 4, 3, 2, 1 suggestions are right at 0.3, 0.5, 0.8, 0.9, of 6, 4, 2, 1, and 5 labels are gold: F1 is
8 / 11, 6 / 9, 4 / 7, 2 / 6.
"""


@pytest.mark.parametrize(("pseudo", "first"), [(0.0, 0.5), (2.0, 0.3956), (1e9, 0.3)])
def test_the_threshold_of_a_label_is_between_its_own_and_the_common_one(pseudo: float, first: float) -> None:
    """F1 of label 0 is 4 / 5, 4 / 4, 4 / 4, 2 / 3: of 0.5 and 0.8 the former is nearer to 0.3. Two documents have it.
    Counted as often, the odds 1 of 0.5 and 3 / 7 of 0.3 have the geometric mean 0.6547, and 0.6547 / 1.6547 is 0.3956.

    Label 1 is best at 0.3 by itself, 4 / 5, as all are; labels 2 and 3 have no labelled document.
    """
    found = Thresholds.fit(RUN, GOLD, 4, pseudo=pseudo)
    assert found.values == pytest.approx([first, 0.3, 0.3, 0.3, 0.3], abs=1e-4)


def test_the_lowest_threshold_has_the_precision_that_was_asked_for() -> None:
    """Of all, 4 of 6, 3 of 4, 2 of 2 are right; of label 0 2 of 3, then 2 of 2; of label 1 2 of 2."""
    assert Thresholds.fit(RUN, GOLD, 3, 0.75, pseudo=0.0).values == pytest.approx([0.5, 0.3, 0.5, 0.5])
    assert Thresholds.fit(RUN, GOLD, 3, 1.0, pseudo=0.0).values == pytest.approx([0.5, 0.3, 0.8, 0.8])


def test_a_label_without_such_a_precision_is_hardly_suggested() -> None:
    """The right suggestion of label 0 is less sure than its wrong one; those of label 1 are right, and equally sure."""
    run, gold = suggested({0: 0.2, 1: 0.9}, {0: 0.7, 1: 0.9}), Run.from_rows([[0, 1], [1]])
    found = Thresholds.fit(run, gold, 2, 0.9, pseudo=0.0)
    assert found.values == pytest.approx([0.999, 0.2, 0.9])
    assert found.cut(run).labels.tolist() == [1, 1]


def test_a_label_that_is_never_suggested_where_it_is_right_has_the_common_threshold() -> None:
    found = Thresholds.fit(suggested({0: 0.6, 1: 0.9}, {0: 0.6}), Run.from_rows([[0], [0, 1, 2]]), 3)
    assert found.values == pytest.approx([0.6, 0.6, 0.6, 0.6])


def test_thresholds_that_cannot_be_found_are_refused() -> None:
    run = suggested({0: 0.5}, {0: 0.6})
    for given, best in ((run, "0.50"), (suggested({0: 5e-7}, {}), "0.00")):  # no threshold is as low as 5e-7
        with pytest.raises(ConfigError, match=rf"no threshold has a precision of 0\.9; the highest here is {best}"):
            Thresholds.fit(given, Run.from_rows([[0], []]), 1, 0.9)
    with pytest.raises(ConfigError, match="confidences of right suggestions, and there are none"):
        Thresholds.fit(run, Run.from_rows([[], []]), 1)
    for wrong in ("recall", "precision", "precision=2", "precision=nan", "f1=1"):
        with pytest.raises(ConfigError, match=r"expected f1, or a precision, such as precision=0\.8"):
            parse_aim(wrong)


def test_labels_keep_their_thresholds_by_id_and_new_ones_have_the_common_one() -> None:
    labels, other = Vocabulary(["A", "B"]), Vocabulary(["New", "B"])
    found = Thresholds(np.array([0.2, 0.7, 0.5], np.float32)).with_labels(labels, other)
    assert found.values == pytest.approx([0.5, 0.7, 0.5])
    assert again(found, other).values == pytest.approx([0.5, 0.7, 0.5])


def test_thresholds_go_with_the_confidences_that_they_were_found_by() -> None:
    steps = (WeightedSum(), Curve(slope=1.0), NoneFits(labels=3), Thresholds(np.array([0.2, 0.5], np.float32)))
    tagger = Tagger(Vocabulary(["A"]), {"a": Fixed({0: 1.0})}, steps=steps)
    found = with_confidence(tagger, Curve(slope=2.0))
    assert found.steps == (WeightedSum(), Curve(slope=2.0), NoneFits(labels=1))
    assert with_confidence(found, None).steps == (WeightedSum(),)
