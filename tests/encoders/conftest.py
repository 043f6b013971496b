from __future__ import annotations

from pathlib import Path

import pytest
from tests.tiny import tiny_encoder


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """The folder of a tiny encoder."""
    return str(tiny_encoder(tmp_path / "tiny"))
