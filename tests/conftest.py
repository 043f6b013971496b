"""Settings for all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A deadline would be a timed test: on a busy machine a first import takes longer than any example.
settings.register_profile("tagwright", deadline=None)
settings.load_profile("tagwright")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache."""
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
