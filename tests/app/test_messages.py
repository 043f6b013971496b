"""What users read names no file of the repository: the wheel holds neither pages nor benchmarks nor tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.sources import modules

import tagwright

ROOT = Path(tagwright.__file__).parent
OF_THE_REPOSITORY = re.compile(r"\b(docs|benchmarks|tests|recipe)/|-m (benchmarks|tests)\b|\b[A-Z]{4,}\.md\b")


def shown(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts of a module that may be shown: all but docstrings; those of options and of commands are shown."""
    hidden = set[ast.AST]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            hidden.update(each.value for each in node.body if isinstance(each, ast.Expr))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            command = path.startswith("app/") and isinstance(node, ast.FunctionDef)
            if isinstance(first := node.body[0], ast.Expr) and not command:
                hidden.add(first.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in hidden:
            yield node.lineno, node.value


def test_no_message_names_a_file_of_the_repository() -> None:
    found = [
        f"{path}:{line}: {text}"
        for path, tree in modules()
        for line, text in shown(path, tree)
        if OF_THE_REPOSITORY.search(text)
    ]
    assert found == []


def test_no_page_of_the_server_does() -> None:
    files = [path for suffix in ("html", "js", "po") for path in sorted((ROOT / "server").rglob(f"*.{suffix}"))]
    assert len(files) > 10
    for path in files:
        assert not OF_THE_REPOSITORY.search(path.read_text(encoding="utf-8")), path
