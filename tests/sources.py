"""The modules of the package, parsed once for all rules over them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import tagwright


@cache
def modules() -> Mapping[str, ast.Module]:
    """The syntax of each module by its path in the package: `core/atomic.py`."""
    folder = Path(tagwright.__file__).parent
    return {
        path.relative_to(folder).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.py")
    }
