"""The pages name what there is: every module, function and class they mention can be imported, every file opened."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from tools import reference
from typer.core import TyperGroup
from typer.main import get_command

import tagwright
from tagwright.app.cli import app
from tagwright.llm.options import LlmOptions
from tagwright.registry import METHODS
from tagwright.training.config import TrainingConfig

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tagwright"
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if not {"results", "reference"} & {*page.parts})
ROOMS = {path.stem for path in PACKAGE.iterdir()}


def named(text: str) -> set[str]:
    """Dotted names in backticks that begin with a package or module of ours, as in `papers.losses.info_nce`."""
    found = re.findall(r"(?<!`)`(?:tagwright\.)?([a-z_]+(?:\.\w+)+)`(?!`|:\n`)", text)
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
    tables = (("training", TrainingConfig), ("llm", LlmOptions))  # like names of modules
    options = {f"{table}.{field.name}" for table, kind in tables for field in fields(kind)}
    assert [name for name in sorted(named(page.read_text("utf-8")) - options) if not is_there(name)] == []


NEVER = re.compile(r"\b(?:not|never)(?: yet)?(?: been)? (?:run|tried|tested|trained) on (?:a GPU|a card|one\b)", re.I)


def test_no_page_says_that_nothing_was_run_on_a_gpu() -> None:
    folders = ((ROOT / "docs", "*.md"), (PACKAGE, "*.py"), (ROOT / "benchmarks", "*.py"))
    files = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *(page for folder, end in folders for page in folder.rglob(end)),
    ]
    texts = {str(file.relative_to(ROOT)): " ".join(file.read_text("utf-8").split()) for file in files}
    assert {name: found[0] for name, text in texts.items() if (found := NEVER.search(text))} == {}
    for sentence in ("On a GPU (not yet run on one)", "has not been run on a GPU", "never tried on a card"):
        assert NEVER.search(sentence)


@pytest.mark.parametrize("page", reference.pages(), ids=lambda page: page.stem)
def test_what_pages_say_of_the_sources_is_what_these_say(page: Path) -> None:
    pytest.importorskip("torch")
    if page.stem == "command-line":
        pinned = re.search("^typer==(.+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
        if not pinned or pinned[1] != version("typer"):
            pytest.skip("another typer writes help in other words")
    assert page.read_text(encoding="utf-8") == reference.pages()[page], "python -m tools.reference writes it anew"


def test_each_public_name_has_a_place_in_the_reference() -> None:
    """Methods are modules: their `Config` stands for them."""
    named = {name for names in reference.PYTHON.values() for name in names.split()}
    whole = {name.split(".")[-2] if name.endswith(".Config") else name.split(".")[0] for name in named}
    assert set(tagwright.__all__) - {"auto"} <= whole


def test_the_reference_explains_functions_fields_and_measures() -> None:
    text = (
        'class Tree:\n    """Wood.\n\n    age: in years; "*" is unknown.\n    """\n\n    age: int = 3\n    "Years."\n'
        '    def grow(self, *, by: float) -> None:\n        """Let it grow."""\n\n    def _rot(self) -> None: ...\n'
    )
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.ClassDef)
    assert reference.documented(node) == 'Wood.\n\n- **age**: in years; "\\*" is unknown.'
    assert [*reference.fields(node)] == ["- `age: int = 3`: Years."]
    assert [reference.signature(each) for each in reference.methods(node)] == ["grow(*, by: float) -> None"]
    assert "\n| PSP@k | Precision in which" in reference.measures()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_options_that_a_page_sets_are_known(page: Path) -> None:
    known = {field.name for method in METHODS.values() for field in fields(method.config)} | {"KEY"}
    for table, kind in (("training", TrainingConfig), ("llm", LlmOptions)):
        known |= {f"{table}.{field.name}" for field in fields(kind)}
    known |= {field.name for field in fields(TrainingConfig)}
    assert set(re.findall(r"--set\s+[\"']?([\w.]+)=", page.read_text(encoding="utf-8"))) <= known


def listed(page: Path) -> list[str]:
    """The pages that the contents of a page list, from docs/ on."""
    tree = r"^(?:```\{toctree\}\n(?::.*\n)*|<!-- contents)\n(.*?)^(?:```|-->)"
    trees = re.findall(tree, page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names = " ".join(trees).split()
    return [(page.parent / name).relative_to(ROOT / "docs").as_posix() for name in names]


def test_every_page_is_in_the_contents_once_and_none_lists_more_than_nine() -> None:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    contents = [listed(page) for page in pages]
    names = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in pages}
    assert sorted(name for each in contents for name in each) == sorted(names - {"index"})
    assert max(map(len, contents)) == 9


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
    assert options - known == set()
    assert {word for span in spans for word in re.findall(r"^tagwright ([a-z]+)", span)} <= set(group.commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_variables_and_benchmarks_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    sources = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    assert [name for name in re.findall(r"TAGWRIGHT_\w+", text) if name not in sources] == []
    programs = re.findall(r"python -m benchmarks (?:--\w+ \w+ )?([a-z_]+)", text)
    assert [name for name in programs if not (ROOT / "benchmarks" / f"{name}.py").is_file()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_programs_that_a_page_runs_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = re.findall(r"python -m\s+((?:benchmarks|tools|tests)[\w.]*)", text)
    files = [module.replace(".", "/") for module in modules]
    assert [name for name in files if not any((ROOT / each).exists() for each in (name, f"{name}.py"))] == []
    named = re.findall(r"python ((?:benchmarks|tools|tests)/\S+\.py)", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
