"""Which documents to label next."""

from __future__ import annotations

from tagwright.review.sampling import sample


def test_a_random_sample_has_no_document_twice_and_is_the_same_again() -> None:
    assert len(set(sample(20, 8))) == 8
    assert sample(20, 8) == sample(20, 8) == sample(20, 50)[:8]
    assert sorted(sample(20, 50)) == list(range(20))
