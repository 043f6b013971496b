"""Every table can be made of a corpus of one's own: commands that take seconds make theirs of a strange small one."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks import corpora, figures, tables
from tests.benchmarks import own_corpus


class Made(NamedTuple):
    """The file that a command writes, and the tables that are made of it."""

    file: str
    tables: tuple[str, ...]


COMMANDS = {
    "weights --corpora tib": Made("weights", ("zero-shot",)),
    "zeroshot --corpora tib": Made("zeroshot", ("stages",)),
    "encode quality --corpora tib": Made("encode", ("precision",)),
    "curve --corpora tib --sizes 20 --draws 1": Made("curve", ("few labels",)),
    "curve_methods --corpora tib --sizes 0 20": Made("curve-methods", ("single methods",)),
    "cuts --corpora tib --work WORK": Made("cuts", ("best cut", "thresholds of labels")),
    "auto_draws --corpora tib --sizes 10 --draws 0 --work WORK": Made("auto-draws", ("auto draws",)),
    "calibration fit": Made("calibration", ("label-free",)),
    "supervised --corpora tib --rows SVM omikuji --work WORK": Made(
        "supervised", ("supervised, tib, static", "intervals of supervised, tib, static")
    ),
    'unsupervised --corpora tib --rows TF-IDF "XR-Linear on TF-IDF\'s labels" --work WORK': Made(
        "unsupervised", ("unsupervised", "intervals of unsupervised, tib, static")
    ),
    "metadata --corpora tib --rows 'minilm: untrained' --work WORK": Made(
        "metadata", ("metadata", "intervals of metadata, tib")
    ),
    "fulltext --rows FuTex-NoNetwork --work WORK": Made(
        "fulltext", ("full papers, epmc, minilm", "intervals of fulltext, epmc, minilm")
    ),
}
"Command -> what it makes."

TRAINED = ("calibration", "curve", "curve_methods", "cuts", "auto_draws", "encode", "fulltext", "weights", "zeroshot")
"Commands that train or tag for seconds, also on a small corpus."

SLOW = ("first", "languages", "none", "peers", "processor", "serve")
"Commands with `--folder` that take longer, start processes or need what is not installed here."

NAME = re.compile(r"`(?!(?:python -m )?tools)(?:python -m benchmarks )?([a-z_]+)[^`]*`")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("corpus")
    own_corpus.write(made)
    return made


@pytest.fixture
def results(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of that of the results, beside a corpus of one's own."""
    monkeypatch.setattr(corpora, "FOLDER", folder)
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [pytest.param(each, marks=pytest.mark.slow) if each.split()[0] in TRAINED else each for each in COMMANDS],
    ids=lambda command: "-".join(command.split()[:2]).strip("-"),
)
def test_a_command_makes_its_tables(command: str, results: Path) -> None:
    name, *arguments = shlex.split(command.replace("WORK", str(results / "work")))
    path = results / f"{COMMANDS[command].file}.json"
    importlib.import_module(f"benchmarks.{name}").main([*arguments, "--output", str(path)])
    assert figures.read(path)
    assert command != "calibration fit" or (results / "label_free.json").is_file(), "not in the package"
    made = dict(tables.measured())
    assert {*COMMANDS[command].tables} <= made.keys()
    for each in COMMANDS[command].tables:
        assert any(float(figure) for row in made[each] for figure in re.findall(r"\d+\.\d+", row)), made[each]


def test_what_the_page_says_of_commands_and_folders() -> None:
    page = (tables.ROOT / "docs" / "results" / "figures.md").read_text(encoding="utf-8")
    commands, own = (section(page, name) for name in ("## Commands", "## Data of your own"))
    table = next(part for part in own.split("\n\n") if part.startswith("|"))
    rows = [NAME.findall(row.split("|")[2]) for row in table.splitlines()[2:]]
    every = [name for row in rows for name in row]
    asked = {name for row in commands.splitlines()[2:] if "|" in row for name in NAME.findall(row.split("|")[2])}
    assert (sorted(every), len(rows)) == (sorted({*every}), 3)
    assert {*every} == asked
    assert {*every} == {*(command.split()[0] for command in COMMANDS), *SLOW}
    scripts = {name: (tables.ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8") for name in every}
    reads = re.compile("^from benchmarks import .*corpora", re.MULTILINE)
    assert [name for name, text in scripts.items() if not reads.search(text)] == []


def section(page: str, heading: str) -> str:
    return page.partition(f"\n{heading}\n")[2].partition("\n## ")[0].strip()
