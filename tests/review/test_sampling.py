"""Which documents to label next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unsure import without_confidences

from tagwright import zero_shot
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.errors import ConfigError
from tagwright.review.sampling import farthest_first, sample, uncertainty
from tagwright.types import Document, Run

DOCUMENTS = [Document(str(number), "x" * (number + 1)) for number in range(20)]


def test_a_random_sample_has_no_document_twice_and_is_drawn_by_the_seed() -> None:
    sampled = sample(DOCUMENTS, 8)
    assert len(set(sampled)) == 8
    assert sample(DOCUMENTS, 8) == sampled != sample(DOCUMENTS, 8, seed=1)
    assert sorted(sample(DOCUMENTS, 50)) == list(range(20))


def test_a_sample_by_length_has_one_of_each_stratum() -> None:
    sampled = sample(DOCUMENTS[::-1], 4, "length")
    lengths = sorted(20 - place for place in sampled)
    assert [(length - 1) // 5 for length in lengths] == [0, 1, 2, 3]
    assert sample([], 4, "length") == []


def test_the_most_uncertain_document_is_the_one_whose_suggestions_may_be_right_or_not() -> None:
    run = Run.from_rows([{0: 3.0, 1: 2.0}, {0: 3.0, 1: 2.0}, {0: 3.0, 1: 2.0}])
    sure = np.array([0.99, 0.01, 0.5, 0.5, 0.9, 0.3])
    bits = uncertainty(run.rescored(run.scores, sure))
    assert np.argsort(-bits).tolist() == [1, 2, 0]
    assert bits[1] == pytest.approx(2.0)


def test_only_labels_that_may_be_suggested_count_for_uncertainty() -> None:
    """Two labels of standard scores 1 and -1 are unsure by 0.84 bits each, a single one of 0 by 1 bit."""
    tagger = zero_shot(["Bees", "Rain", "Owls"], stages=["exact_match"], language="en")
    tagger = replace(tagger, combiner=WeightedSum(confidence="fitted", curve=(1.0, 0.0)))
    documents = [Document("a", "Bees, bees in the rain"), Document("b", "Owls")]
    assert sample(documents, 1, "uncertainty", tagger=tagger, only=["Bees", "Rain", "Owls"]) == [0]
    assert sample(documents, 1, "uncertainty", tagger=tagger, without=["Owls"]) == [0]
    assert sample(documents, 1, "uncertainty", tagger=tagger, only=["Owls"]) == [1]
    with pytest.raises(ConfigError, match="fits no label"):
        sample(documents, 1, "uncertainty", tagger=tagger, only=["Hail"])


def test_the_sample_is_far_apart() -> None:
    angles = np.radians([0, 2, 4, 90, 91, 45])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert farthest_first(vectors, 3) == [0, 4, 5]
    assert len(set(farthest_first(np.ones((4, 1), np.float32), 4))) == 4


def test_uncertainty_needs_confidences() -> None:
    tagger = without_confidences(zero_shot(["Bees", "Rain"], stages=["exact_match"], language="en"))
    with pytest.raises(ConfigError, match="does not estimate confidences"):
        sample([Document("a", "Bees")], 1, "uncertainty", tagger=tagger)
    with pytest.raises(ConfigError, match="give a tagger"):
        sample([Document("a", "Bees")], 1, "uncertainty")
    with pytest.raises(ConfigError, match="expected at least 1"):
        sample([], 0)
