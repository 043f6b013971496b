"""Fixtures of the tests of the methods."""

from __future__ import annotations

import pytest
from tests.papers.topics import encoders


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return encoders(tmp_path_factory.mktemp("encoders"))
