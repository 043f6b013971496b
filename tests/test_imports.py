"""Imports form no circle and run one way, benchmarks included; the contracts of pyproject.toml order the rooms."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

grimp = pytest.importorskip("grimp")


def imports() -> dict[str, set[str]]:
    """Module -> the modules of the project that it imports, those for type checkers too."""
    graph = grimp.build_graph("tagwright", "benchmarks", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circle(imported: Mapping[str, set[str]]) -> list[str]:
    """The modules of a circle of imports; none if there is none."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_through_others() -> None:
    assert circle(imports()) == []


def test_a_circle_is_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == {"b", "c"}


def test_nothing_imports_the_package_itself_or_what_measures_it() -> None:
    """The package's first module shows what is above; a module that imports it imports all of that."""
    found = {module: names for module, names in imports().items() if module.startswith("tagwright.")}
    assert len(found) > 200
    up = {"tagwright", *(name for names in found.values() for name in names if name.startswith("benchmarks"))}
    assert {module: names & up for module, names in found.items() if names & up} == {}
