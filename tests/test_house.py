"""The size of the project: figures that may only go down, see `.ci/house.json`."""

from __future__ import annotations

import ast
import json
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CEILINGS: dict[str, int] = json.loads((ROOT / ".ci" / "house.json").read_text(encoding="utf-8"))
MODULES = {
    ".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): file
    for file in (ROOT / "src" / "tagwright").rglob("*.py")
}
NOT_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def code_lines(file: Path) -> int:
    """Count the lines that hold code: no blank ones, no comments, no texts that stand alone, such as docstrings."""
    with tokenize.open(file) as lines:
        tokens = [token for token in tokenize.generate_tokens(lines.readline) if token.type not in NOT_CODE]
    code = set(chain.from_iterable(range(token.start[0], token.end[0] + 1) for token in tokens))
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def imported(module: str) -> Iterator[str]:
    """Yield what a module imports at its top or in a function: modules, and names that may be modules."""
    for node in ast.walk(parsed(MODULES[module])):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def drawn_in(module: str) -> set[str]:
    """Return the modules that a module imports, directly or through others, itself among them."""
    reached, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name in MODULES and name != "tagwright" and name not in reached:
            reached.add(name)
            waiting += imported(name)
    return reached


def is_defence(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise | ast.ExceptHandler) or (isinstance(node, ast.Name) and node.id == "suppress")


def figures() -> dict[str, int]:
    drawn = drawn_in("tagwright.tagger.zero_shot")
    nodes = [node for file in MODULES.values() for node in ast.walk(parsed(file))]
    lines = {
        part: sum(code_lines(file) for file in (ROOT / part).rglob("*.py")) for part in ("tests", "tools", "benchmarks")
    }
    return {
        "code lines of src": sum(map(code_lines, MODULES.values())),
        "code lines of tests and tools": lines["tests"] + lines["tools"],
        "code lines of benchmarks": lines["benchmarks"],
        "modules that zero_shot draws in, lazily too": len(drawn),
        "readers among them": sum(".readers" in name for name in drawn),
        "code lines of these modules": sum(code_lines(MODULES[name]) for name in drawn),
        "raise, except, suppress": sum(map(is_defence, nodes)),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
    }


@pytest.fixture(scope="module")
def measured() -> dict[str, int]:
    return figures()


@pytest.mark.parametrize("name", CEILINGS)
def test_the_project_grows_in_no_respect(measured: dict[str, int], name: str) -> None:
    assert measured[name] <= CEILINGS[name], (
        f"{name}: {measured[name]:,}, at most {CEILINGS[name]:,}; take something away"
    )


def test_lines_of_code_are_those_that_hold_code(tmp_path: Path) -> None:
    (file := tmp_path / "counted.py").write_text(
        '"""What it is for."""\n\n# why\nNUMBERS = (\n    1,\n\n    2,  # two\n)\n"Some numbers."\n\n\n'
        'def run() -> str:\n    """Run."""\n    return """a\nb"""\n'
    )
    assert code_lines(file) == 7  # NUMBERS takes four with code, run its head and two of its text
