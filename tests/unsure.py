"""Taggers without confidences, as 0.9 saved them for small vocabularies, or with a combiner of one's own."""

from __future__ import annotations

from dataclasses import replace

from tagwright.combining.weighted_sum import WeightedSum
from tagwright.tagger import Tagger


def without_confidences(tagger: Tagger) -> Tagger:
    """The same tagger, which only ranks."""
    assert isinstance(tagger.combiner, WeightedSum)
    return replace(tagger, combiner=replace(tagger.combiner, confidence="none"))
