"""Each code block of README.md and the pages is run, is a file that is read, or is checked and says why it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from docs import checks

pytest.importorskip("sybil")
markdown_it = pytest.importorskip("markdown_it")

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DIRECTIVES = {"{math}", "{toctree}"}
"What Sphinx makes something of that is no code."


WRONG_USE: Any = typer.BadParameter.__base__
"What the parser raises, for which typer has no public name."


class Block(NamedTuple):
    """info: what stands behind the backticks; said: the line before, a comment or the name of a file."""

    line: int
    info: str
    source: str
    said: str

    @property
    def file(self) -> str:
        """The name of the file that it is; empty if it is none."""
        found = re.fullmatch("`([^`]+)`:", self.said)
        return found[1] if found else ""


@cache
def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    return [
        Block(token.map[0] + 1, token.info.strip(), token.content, lines[token.map[0] - 1].strip())
        for token in markdown_it.MarkdownIt().parse(text)
        if token.type in ("fence", "code_block")
    ]


def unaccounted(page: Path) -> Iterator[str]:
    """What is wrong with the blocks of a page, a line each."""
    for block in blocks(page):
        reason = re.fullmatch(r"<!-- (not run|run by)\W+(.+) -->", block.said)
        language = block.info.partition(" ")[0]
        if language in DIRECTIVES:
            continue
        if reason and reason[1] == "run by":
            if not (ROOT / reason[2]).is_file():
                yield f"{page.name}:{block.line}: no test {reason[2]}"
        elif reason:
            if language not in checks.CHECKS:
                yield f"{page.name}:{block.line}: nothing checks {block.info!r}: see docs/checks.py"
        elif block.file:
            if not _is_read(block.file, page):
                yield f"{page.name}:{block.line}: {block.file} is read by no other block"
        elif language not in ("console", "python") or page.name == "README.md":
            yield f"{page.name}:{block.line}: {block.info!r} is not run, and no comment before it says why"


def _is_read(file: str, page: Path) -> bool:
    """Whether a block that is run names the file, or the folder that it is in."""
    name = file.partition("/")[0]
    return any(name in block.source for block in blocks(page) if block.info in ("console", "python"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    assert list(unaccounted(page)) == []


def test_a_block_that_nothing_runs_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```\nls\n```\n\n    indented\n\n```sql\n```\n\n<!-- not run: why -->\n```sql\n```\n\n"
        "`a.txt`:\n```text\n```\n\n<!-- run by tests/none.py -->\n```toml\n```\n"
    )
    assert [line.partition(": ")[0] for line in unaccounted(page)] == [f"page.md:{n}" for n in (1, 5, 7, 11, 15, 19)]


@pytest.mark.parametrize(
    "script",
    [
        "tagwright sugest notes/",  # no such command
        "tagwright suggest notes/ --label labels.txt",  # no such option
        "tagwright serve --order given --port many",
        "tagwright batch a.jsonl --model m",  # --output is missing
        'pip install "tagwright[served]"',
        "pip install tagrwight",
        "make demonstration",
        "docker compose down",
        "read a.txt",
        "cat a.txt | tagwright read - --columns",
    ],
)
def test_a_command_that_does_not_work_is_found(script: str) -> None:
    right = "tagwright suggest notes/ --labels labels.txt  # right"
    checks.check_shell(right)
    with pytest.raises((AssertionError, WRONG_USE)):
        checks.check_shell(f"{right}\n{script}")


def test_compose_and_the_image_start_what_serve_accepts() -> None:
    assert checks.compose()["host"] == "0.0.0.0"


def test_a_variable_of_a_unit_is_one_that_is_explained() -> None:
    with pytest.raises(AssertionError):
        checks.check_ini("[Service]\nEnvironment=TAGWRIGHT_CASH=/tmp\nExecStart=/bin/tagwright serve --labels l.txt\n")
