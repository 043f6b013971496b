"""A folder that is saved and read back in tests: a number, and an array of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagwright.core.atomic import replace_folder
from tagwright.core.saved import read_manifest, write_state


def save(folder: Path, number: int) -> None:
    with replace_folder(folder, "box") as target:
        write_state(target, "box", {"number": number, "values": np.full(3, number)})


def number(folder: Path) -> int:
    return int(read_manifest(folder, "box")["number"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
