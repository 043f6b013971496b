"""What a type checker says of the programs of users."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def type_errors(folder: Path, program: str) -> list[str]:
    """The errors that mypy reports of a program, strict as for the sources, with the cache of the checkout."""
    (file := folder / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", file], capture_output=True, text=True, cwd=ROOT)
    assert not done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]
