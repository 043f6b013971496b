"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# A deadline would be a timed test: on a busy machine a first import takes longer than any example.
settings.register_profile("tagwright", deadline=None)
settings.load_profile("tagwright")
