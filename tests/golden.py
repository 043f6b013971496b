"""Values that reference implementations gave, beside the project; tests of them are skipped where they are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "../shared/golden"


def golden(name: str) -> dict[str, Any]:
    """The content of a file of them."""
    file = FOLDER / name
    if not file.is_file():
        pytest.skip(f"no golden values: {file} is missing")
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
