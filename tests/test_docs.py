"""The pages name what there is: every module, function and class they mention can be imported, every file opened."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

from tagwright.methods.table import METHODS
from tagwright.training.config import TrainingConfig

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tagwright"
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "results" not in page.parts)
ROOMS = {path.stem for path in PACKAGE.iterdir()}


def named(text: str) -> set[str]:
    """Dotted names in backticks that begin with a package or module of ours, as in `training.losses.info_nce`."""
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
    assert [name for name in sorted(named(page.read_text(encoding="utf-8"))) if not is_there(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_options_that_a_page_sets_are_known(page: Path) -> None:
    known = {field.name for method in METHODS.values() for field in fields(method.config)}
    known |= {f"training.{field.name}" for field in fields(TrainingConfig)}
    assert set(re.findall(r'--set "?([\w.]+)=', page.read_text(encoding="utf-8"))) <= known


def test_every_page_is_in_the_contents() -> None:
    contents = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^[\w/-]+$", contents, re.MULTILINE))
    assert {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in PAGES} - {"index"} <= listed
