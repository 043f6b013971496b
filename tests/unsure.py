"""Taggers without confidences, such as those with a step of one's own."""

from __future__ import annotations

from tagwright.tagger import Tagger
from tagwright.tagger.confidences import with_confidence


def without_confidences(tagger: Tagger) -> Tagger:
    """The same tagger, which only ranks."""
    return with_confidence(tagger, None)
