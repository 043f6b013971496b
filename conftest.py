"""Settings that must stand before any library is loaded, and what is left out where extras are not installed."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

# The workers of pytest-xdist share the cores already: threads of torch that wait for each other took nine tenths of
# the time. Programs that tests start inherit this; `make test-everywhere` also runs everything with two.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Tests and the programs that they start are compiled once, also where containers tell Python to write no bytecode.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

ROOT = Path(__file__).resolve().parent

OPTIONAL = (
    *("accelerate", "babel", "datasets", "faiss", "fastapi", "httpx", "jinja2", "jsonschema", "mcp", "nbclient"),
    *("omikuji", "openpyxl", "openvino", "polars", "pyarrow"),
    *("pymarc", "pypandoc", "pypdfium2", "ray", "rdflib", "sentence_transformers", "simplemma", "starlette", "torch"),
    *("trafilatura", "transformers", "uvicorn"),
)
"""What extras and the development group bring. A module that imports one of them at its top, or a module that does, is
left out without it."""

ABSENT = {name for name in OPTIONAL if find_spec(name) is None}


def pytest_configure() -> None:
    """Make the commands of an application once a process: it takes Typer longer than most commands that tests give."""
    import typer.main

    typer.main.get_command = cache(typer.main.get_command)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules and folders that import what is not installed; any other import that fails is an error."""
    file = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    if not ABSENT or file.suffix != ".py" or not file.is_file():
        return None
    return needs_absent(file) or None


@cache
def needs_absent(file: Path) -> bool:
    """Whether importing a file imports an optional package that is not installed, directly or through our modules."""
    reached, waiting = set[Path](), [file]
    while waiting:
        if (each := waiting.pop()) in reached:
            continue
        reached.add(each)
        for name in imported_on_loading(ast.parse(each.read_text(encoding="utf-8")).body):
            if name.partition(".")[0] in ABSENT:
                return True
            if own := own_module(name):
                waiting.append(own)
    return False


def imported_on_loading(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the modules, and the names in them, that these statements import: not those of functions, nor for types."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (each.name for each in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            yield statement.module
            yield from (f"{statement.module}.{each.name}" for each in statement.names)
        elif isinstance(statement, ast.ClassDef):
            yield from imported_on_loading(statement.body)


def own_module(name: str) -> Path | None:
    """Return the file of a module of ours; None for any other name."""
    place = ROOT.joinpath("src" if name.startswith("tagwright") else ".", *name.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Skip a test that needs what is not installed, saying what."""
    with _skipped():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """The same while it runs."""
    with _skipped():
        return (yield)


@contextmanager
def _skipped() -> Iterator[None]:
    from tagwright.errors import TagwrightError

    try:
        yield
    except (ModuleNotFoundError, TagwrightError) as error:
        package = error.name.partition(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else ""
        if ABSENT and (package in ABSENT or 'pip install "tagwright[' in str(error)):
            pytest.skip(str(error))
        raise
