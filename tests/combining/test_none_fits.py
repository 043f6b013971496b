"""Whether any label fits: features and odds by hand, and what must hold for the models that come with Tagwright."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixed import Fixed

from tagwright.combining.confidence import LIKELY
from tagwright.combining.label_free import read_model, read_packaged
from tagwright.combining.none_fits import (
    FILE,
    MEANING,
    NAMES,
    Described,
    NoneFits,
    describe,
    estimate,
    leave_room,
)
from tagwright.combining.pool import CandidatePool
from tagwright.types import Background, Document, Floats, Run

DOCUMENTS = [Document("1", title="Bees"), Document("2", title="Taxes")]


class Meaning(Fixed):
    """A stage with an encoder: all documents are as near to texts in general."""

    distribution, matches_names = "normal", False

    def background(self, reading: int, texts: Sequence[str]) -> Background:  # noqa: ARG002
        return Background(np.full(reading, 0.2, np.float32), 0.1, np.full(reading, 0.5, np.float32))

    def trust(self, reading: int, weight: float) -> Floats:  # noqa: ARG002
        return np.full(reading, 0.9, np.float32)


def pool_of(stages: dict[str, Fixed], evidence: float | None = 1.5) -> CandidatePool:
    readings = {name: stage.read(DOCUMENTS) for name, stage in stages.items()}
    pool = CandidatePool.of(DOCUMENTS, {name: stage.find(2) for name, stage in stages.items()}, stages, readings)
    if evidence is not None:
        pool.keep_evidence(lambda: Run.from_rows([{4: evidence, 5: 0.5}] * 2))
    return pool


def described(stages: dict[str, Fixed], labels: int = 7) -> Described:
    found = describe(pool_of(stages), labels)
    assert found is not None
    return found


def test_features_by_hand() -> None:
    """Names: (7 + 1 + 1) / 3 = 3 bits. Meaning: (.8 + .6 + .4) / 3 = .6, four deviations of .1 above .2.

    The encoder knows the text by .9 and the names by .5. Of e^2 labels the nearest is expected at 2: sqrt(2 * 2).
    """
    stages = {"exact_match": Fixed({4: 7.0, 5: 1.0, 6: 1.0, 7: 0.5}), "dense": Meaning({4: 0.8, 5: 0.6, 6: 0.4})}
    found = described(stages, round(np.e**2))
    expected = np.sqrt(2 * np.log(7))
    assert found.meaning[0] == pytest.approx([4.0, 1.5, expected], abs=1e-5)
    assert found.names[1] == pytest.approx([np.log(4), expected, 0.4], abs=1e-5)
    assert found.known == pytest.approx([0.5, 0.5])


def test_fewer_labels_than_in_the_fit_count_as_the_fewest() -> None:
    one, five = (described({"exact_match": Fixed({4: 7.0})}, labels) for labels in (1, 5))
    assert one.names.tolist() == five.names.tolist()


def test_of_two_encoders_that_counts_which_knows_the_names() -> None:
    """The cosines of the second are .5 for each label, and it knows the names as well as .75: (.5 - .2) / .1 = 3."""

    class Known(Meaning):
        def background(self, reading: int, texts: Sequence[str]) -> Background:
            return super().background(reading, texts)._replace(names_known=np.full(reading, 0.75, np.float32))

    stages = {"exact_match": Fixed({4: 7.0}), "dense": Meaning({4: 0.8}), "dense-2": Known({4: 0.5, 5: 0.5})}
    found = described(stages)
    assert found.known.tolist() == [0.75, 0.75]
    assert found.meaning[0][0] == pytest.approx(3.0, abs=1e-5)


def test_without_an_encoder_names_alone_tell() -> None:
    found = described({"exact_match": Fixed({4: 7.0})})
    assert found.known.tolist() == [0.0, 0.0]
    assert found.names[0] == pytest.approx([np.log(8), np.sqrt(2 * np.log(7)), 0.0])


def test_the_odds_of_both_models_are_mixed_by_how_well_the_encoder_knows_the_names() -> None:
    """Meaning: 2 * 1 - 1 = 1; names: 3 * 1 + 1 = 4; a quarter of the first: .25 + 3 = 3.25."""
    found = Described(np.array([[1.0]]), np.array([[1.0]]), np.array([0.25]))
    assert found.logits(((2.0,), -1.0), ((3.0,), 1.0)).tolist() == [3.25]


def test_where_no_names_are_matched_the_confidences_tell() -> None:
    """(1 - .5) * (1 - .2) = .4; nothing is suggested for the second document."""
    run = Run.of(np.array([0, 2, 2]), np.array([4, 5]), np.array([2.0, 1.0]), np.array([0.5, 0.2]))
    for pool in (pool_of({"dense": Meaning({4: 1.0})}), pool_of({"exact_match": Fixed({4: 1.0})}, evidence=None)):
        assert estimate(pool, run, 9) == pytest.approx([0.4, 1.0])


def test_nothing_fits_a_document_without_text_and_candidates() -> None:
    pool = replace(pool_of({"exact_match": Fixed({4: 7.0})}), documents=[DOCUMENTS[0], Document("2")])
    pool.keep_evidence(lambda: Run.from_rows([{4: 1.5}] * 2))
    run = Run.of(np.array([0, 1, 1]), np.array([4]), np.array([2.0]), np.array([0.0]))
    step = NoneFits(labels=9)
    assert step.apply(pool, run).none == pytest.approx([estimate(pool, run, 9)[0], 1.0])
    with_keywords = Run.of(np.array([0, 1, 2]), np.array([4, 4]), np.array([2.0, 2.0]), np.array([0.0, 0.0]))
    assert step.apply(pool, with_keywords).none == pytest.approx(estimate(pool, run, 9))


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=5), st.floats(0, 1))
def test_no_confidence_exceeds_what_none_leaves_and_the_order_stays(sure: list[float], none: float) -> None:
    scores = -np.arange(len(sure), dtype=np.float32)
    run = Run.of(np.array([0, len(sure)]), np.arange(len(sure)), scores, np.array(sorted(sure, reverse=True)))
    found = leave_room(run, np.array([none]))
    assert found.none is not None
    assert found.confidences is not None
    assert found.confidences.max() <= 1 - found.none[0] + 1e-6
    assert (np.diff(found.confidences) <= 0).all()
    if none <= LIKELY:
        assert run.confidences is not None
        assert found.confidences.tolist() == run.confidences.tolist()


def test_the_probability_goes_with_its_document() -> None:
    run = replace(Run.from_rows([{1: 2.0, 2: 1.0}, {3: 1.0}]), none=np.array([0.25, 0.75], np.float32))
    assert Run.concat([run, run]).none == pytest.approx([0.25, 0.75, 0.25, 0.75])
    for changed in (run.top(1), run.without(np.array([1, -1])), run.rescored(-run.scores)):
        assert changed.none is run.none
    assert run.take([1]).none == pytest.approx([0.75])
    assert Run.concat([run, Run.from_rows([{1: 1.0}])]).none is None


@pytest.mark.parametrize(("name", "features"), [("meaning", MEANING), ("names", NAMES)])
def test_the_models_of_the_package_rise_and_fall_as_they_must(name: str, features: tuple[str, ...]) -> None:
    """What speaks for a label lowers the odds that none fits; chance and strange languages raise them."""
    weights, _ = read_model(FILE, name, features)
    raises = {"expected maximum", "languages apart"}
    assert {feature for feature, weight in zip(features, weights, strict=True) if weight > 0} == raises & {*features}


def test_where_the_models_come_from() -> None:
    told = read_packaged(FILE)
    assert date.fromisoformat(told["date"]) >= date(2026, 11, 27)
    assert set(told["fitted on"]) == set(told["wrongly none with the corpus left out"])
