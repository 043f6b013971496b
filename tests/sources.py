"""The modules of the package, parsed for rules over all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tagwright


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Each module by its path, such as `core/atomic.py`. All together they would slow every search for cycles."""
    folder = Path(tagwright.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
