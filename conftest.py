"""Settings that must stand before any library is loaded, and one set of commands for all tests."""

from __future__ import annotations

import os
import sys
from functools import cache

# The workers of pytest-xdist share the cores already: threads of torch that wait for each other took nine tenths of
# the time. Programs that tests start inherit this; `make test-everywhere` also runs everything with two.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Tests and the programs that they start are compiled once, also where containers tell Python to write no bytecode.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    """Make the commands of an application once a process: it takes Typer longer than most commands that tests give."""
    import typer.main

    typer.main.get_command = cache(typer.main.get_command)
