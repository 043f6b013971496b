"""The pages name what there is: every module, function and class they mention can be imported, every file opened."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from runpy import run_path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from tagwright.app import cli
from tagwright.app.cli import app
from tagwright.core import checked
from tagwright.llm.options import LlmOptions
from tagwright.registry import METHODS
from tagwright.training.config import TrainingConfig

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tagwright"
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "results" not in page.parts)
ROOMS = {path.stem for path in PACKAGE.iterdir()}


def named(text: str) -> set[str]:
    """Dotted names in backticks that begin with a package or module of ours, as in `papers.losses.info_nce`."""
    found = re.findall(r"(?<!`)`(?:tagwright\.)?([a-z_]+(?:\.\w+)+)`(?!`)", text)
    return {name for name in found if name.partition(".")[0] in ROOMS}


def is_there(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(["tagwright", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if not hasattr(thing, attribute):
                return False
            thing = getattr(thing, attribute)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    pytest.importorskip("torch")
    options = {f"llm.{field.name}" for field in fields(LlmOptions)} | checked._GONE.keys()  # like names of modules
    assert [name for name in sorted(named(page.read_text("utf-8")) - options) if not is_there(name)] == []


def test_what_the_build_fills_in_stands_in_one_page_and_says_so() -> None:
    """`make docs` replaces exactly these sentences; a reader of the files must see them."""
    conf = run_path(str(ROOT / "docs" / "conf.py"))
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    for mark, text in conf["FILLED"].items():
        assert "`make docs` puts" in mark
        assert sum(mark in page for page in pages) == 1
        assert mark not in text()
    assert "| PSP@k | Precision in which" in conf["measures"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_options_that_a_page_sets_are_known(page: Path) -> None:
    known = {field.name for method in METHODS.values() for field in fields(method.config)}
    for table, kind in (("training", TrainingConfig), ("llm", LlmOptions)):
        known |= {f"{table}.{field.name}" for field in fields(kind)}
    assert set(re.findall(r'--set "?([\w.]+)=', page.read_text(encoding="utf-8"))) <= known


def test_every_page_is_in_the_contents() -> None:
    contents = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^[\w/.-]+$", contents, re.MULTILINE))
    assert {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in PAGES} - {"index"} <= listed


FOREIGN = re.compile("accelerate |annif |docker |hf |pip |python |torchrun ")
"Commands of other programs, with options of their own."


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_options_that_a_page_names_are_there(page: Path) -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    text = page.read_text(encoding="utf-8")
    spans = [span for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text) if not FOREIGN.match(span)]
    options = {word for span in spans for word in re.findall(r"(?<![\w-])--[a-z][a-z-]+", span)}
    parameters = [each for command in group.commands.values() for each in command.params]
    known = {name for each in parameters for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    if page.stem.startswith("from-"):
        known |= {gone.split()[0] for gone in cli._GONE}
    assert options - known == set()
    assert {word for span in spans for word in re.findall(r"^tagwright ([a-z]+)", span)} <= set(group.commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_variables_and_benchmarks_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    sources = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    assert [name for name in re.findall(r"TAGWRIGHT_\w+", text) if name not in sources] == []
    programs = re.findall(r"python -m benchmarks (?:--\w+ \w+ )?([a-z_]+)", text)
    assert [name for name in programs if not (ROOT / "benchmarks" / f"{name}.py").is_file()] == []
