"""What pyproject.toml says that is needed, in versions that requirements.lock has; what modules are called."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from tests.sources import modules

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

FIXED = {
    "filelock": "3.20.3",  # CVE-2026-22701
    "h11": "0.16.0",  # CVE-2025-43859
    "jinja2": "3.1.6",  # CVE-2025-27516
    "pyarrow": "23.0.1",  # CVE-2026-25087
    "pypdfium2": "5.8.0",  # CVE-2026-4455 in its PDFium; the bound is newer, as PDFium is mended each month
    "python-multipart": "0.0.31",  # CVE-2026-53540; -53538 and -53539 in 0.0.30, -42561 in 0.0.27
    "ray": "2.55.0",  # CVE-2026-41486
    "scikit-learn": "1.5.0",  # CVE-2024-5206
    "starlette": "1.3.1",  # CVE-2026-54283; -48710 in 1.0.1
    "torch": "2.10.0",  # CVE-2026-24747
    "transformers": "5.10.0",  # CVE-2026-9856; -4372 in 5.3.0
}
"The first version without the advisories known in November 2026, where there are any."


def declared() -> dict[str, Requirement]:
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    return {_plain(Requirement(text).name): Requirement(text) for texts in lists for text in texts}


def wanted() -> dict[str, Requirement]:
    """What is declared, and what tests and documentation need besides."""
    groups = (text for texts in PROJECT["dependency-groups"].values() for text in texts)
    return declared() | {_plain(Requirement(text).name): Requirement(text) for text in groups}


def trees() -> dict[Path, ast.Module]:
    """The syntax of each source."""
    return {ROOT / "src" / "tagwright" / name: tree for name, tree in modules()}


def imported() -> set[str]:
    """The modules of others that any source imports, at its top or within a function."""
    found = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"tagwright", "tomllib", "__future__"}


def imports_of_modules() -> dict[str, set[str]]:
    """The modules of ours that each of ours imports, at its top or within a function, but not for type checkers alone.

    The package itself is left out: it names what it shows of every layer, and loads them when they are asked for.
    """
    paths = {_module(path): path for path in trees()}
    del paths["tagwright"]
    imports = dict[str, set[str]]()
    for module, path in paths.items():
        named = set[str]()
        for node in _run(trees()[path]):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= parts if parts <= paths.keys() else parts | {node.module}
        imports[module] = named & paths.keys()
    return imports


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a module that are run when it is used."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _run(child)


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


def bounds(name: str, operator: str) -> list[Version]:
    return [Version(each.version) for each in declared()[name].specifier if each.operator == operator]


def test_no_version_with_a_known_advisory_is_admitted() -> None:
    assert {name for name, fixed in FIXED.items() if max(bounds(name, ">=")) < Version(fixed)} == set()


def test_what_is_extended_has_an_upper_bound() -> None:
    """Whose classes have subclasses of ours, found in the source, or whose models are changed in memory."""
    pytest.importorskip("torch")
    extended = {"sentence_transformers", "transformers", "torch"}
    for tree in trees().values():
        origins = dict[str, str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                origins |= {each.asname or each.name: node.module for each in node.names}
            elif isinstance(node, ast.Import):
                origins |= {(each.asname or each.name).partition(".")[0]: each.name for each in node.names}
        bases = (base for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases)
        extended |= {origins.get(ast.unparse(base).partition(".")[0], "").partition(".")[0] for base in bases}
    distributions = packages_distributions()
    names = {_plain(name) for module in extended & distributions.keys() for name in distributions[module]}
    assert names >= {"torch", "scikit-learn"}
    assert {name for name in names & declared().keys() - {"tagwright"} if not bounds(name, "<")} == set()
