"""What pyproject.toml says that is needed, in versions that requirements.lock has; what modules are called."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared() -> dict[str, Requirement]:
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return {_plain(Requirement(text).name): Requirement(text) for texts in lists for text in texts}


def wanted() -> dict[str, Requirement]:
    """What is declared, and what tests and documentation need besides."""
    groups = (text for texts in PROJECT["dependency-groups"].values() for text in texts)
    return declared() | {_plain(Requirement(text).name): Requirement(text) for text in groups}


def imported() -> set[str]:
    """The modules of others that any source imports, at its top or within a function."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"tagwright", "tomllib", "__future__"}


def imports_of_modules() -> dict[str, set[str]]:
    """The modules of ours that each of ours imports, at its top or within a function.

    The package itself is left out: it names what it shows of every layer, and loads them when they are asked for.
    """
    paths = {_module(path): path for path in (ROOT / "src" / "tagwright").rglob("*.py")}
    del paths["tagwright"]
    imports = dict[str, set[str]]()
    for module, path in paths.items():
        named = set[str]()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= parts if parts <= paths.keys() else parts | {node.module}
        imports[module] = named & paths.keys()
    return imports


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_all_that_is_imported_is_declared() -> None:
    pytest.importorskip("torch")
    distributions, known = packages_distributions(), set(declared())
    missing = {
        module
        for module in imported()
        if not known & {_plain(name) for name in (module, *distributions.get(module, []))}
    }
    # datasets is used where the user has installed it
    assert missing - {"datasets"} == set()


def test_no_module_imports_itself_by_way_of_others() -> None:
    imports = imports_of_modules()
    assert {"tagwright.core.cache", "tagwright.encoders.transformer"} <= imports["tagwright.encoders.static"]
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


@pytest.mark.parametrize("python", ["3.11", "3.14"])
def test_what_is_locked_is_what_is_allowed(python: str) -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    here = [pin for pin in pins if not pin.marker or pin.marker.evaluate({"python_version": python})]
    locked = {_plain(pin.name): str(pin.specifier).removeprefix("==") for pin in here}
    assert len(locked) == len(here)
    for name, requirement in wanted().items():
        if name != "tagwright" and (not requirement.marker or requirement.marker.evaluate({"python_version": python})):
            assert locked[name] in requirement.specifier, name
