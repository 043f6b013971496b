"""Values that reference implementations gave for small inputs: losses, measures, neighbours by meta-path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def golden(name: str) -> dict[str, Any]:
    """Return the content of one of their files."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / name).read_text(encoding="utf-8"))
    return content
