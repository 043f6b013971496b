"""The modules of the package, parsed for rules over all of them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

import tagwright

FOLDER = Path(tagwright.__file__).parent


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Each module by its path, such as `core/atomic.py`: parsed once, which takes two seconds.

    Together they would slow every search for cycles, so they are left out of these.
    """
    gc.disable()
    paths = sorted(FOLDER.rglob("*.py"))
    parsed = tuple((path.relative_to(FOLDER).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths)
    gc.freeze()
    gc.enable()
    return parsed
