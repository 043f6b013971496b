"""Which documents to label next."""

from __future__ import annotations

import pytest

from tagwright.errors import ConfigError
from tagwright.review.sampling import sample


def test_a_random_sample_has_no_document_twice_and_is_drawn_by_the_seed() -> None:
    documents = list(range(20))
    sampled = sample(documents, 8)
    assert len(set(sampled)) == 8
    assert sample(documents, 8) == sampled != sample(documents, 8, seed=1)
    assert sorted(sample(documents, 50)) == list(range(20))
    with pytest.raises(ConfigError, match="expected at least 1"):
        sample([], 0)
