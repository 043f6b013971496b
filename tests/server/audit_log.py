"""Read audit logs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of an audit log, also while a server writes it: a line without its end is left out."""
    with path.open("rb") as lines:
        yield from (json.loads(line) for line in lines if line.endswith(b"\n"))
