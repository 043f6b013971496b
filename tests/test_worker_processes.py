"""Whatever computes in another process, or in several, asks core/workers.py."""

from __future__ import annotations

import ast

import pytest
from tests.sources import modules

from tagwright.core.workers import usable_cores


def imported(tree: ast.Module) -> set[str]:
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_no_other_module_starts_processes_of_python() -> None:
    starting = {"multiprocessing", "subprocess"}
    found = {path for path, tree in modules() if starting & imported(tree)}
    assert found == {"core/workers.py", "readers/documents/pandoc.py"}  # pandoc is a program, not of Python


def test_nobody_else_counts_processors() -> None:
    """`os.cpu_count` counts those of the machine, also where a container or an affinity gives this process fewer."""
    counts = {"cpu_count", "process_cpu_count", "sched_getaffinity"}
    found = {
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr in counts)
        or (isinstance(node, ast.ImportFrom) and counts & {each.name for each in node.names})
    }
    assert found == {"core/workers.py"}


def test_a_restricted_process_counts_the_processors_that_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert usable_cores() == 1
