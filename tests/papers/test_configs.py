"""The files of `configs/`: the settings of the papers; each trains, on data of the same shape, in two steps."""

from __future__ import annotations

import re
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.papers import test_recipes
from tools import configs

from tagwright.api.options import configuration, settings_of_paper
from tagwright.app.options import values_of
from tagwright.papers import micol

folder = test_recipes.folder  # the data sets

ROWS = {row.file: row for row in configs.ROWS}

STATED: dict[str, dict[str, Any]] = {
    "rts/lf-amazon-131k": {"min_words": 40, "max_words": 80, "batch": 384, "epochs": 10, "learning_rate": 5e-5},
    "rts/lf-amazon-1m": {"min_words": 40, "max_words": 80, "batch": 384, "epochs": 10, "learning_rate": 5e-6},
    "rts/lf-wikiseealso-320k": {
        "min_words": 80,
        "batch": 256,
        "epochs": 5,
        "learning_rate": 5e-8,
        "title_pairs": False,
    },
    "rts/lf-wikipedia-500k": {"max_words": 160, "batch": 256, "epochs": 5, "learning_rate": 5e-8, "title_pairs": False},
    "maclr/maclr": {"clusters": 2048, "pseudo_labels": 3, "batch": 256, "steps": 100_000, "learning_rate": 1e-5},
    "maclr/finetune-1-percent-of-labels": {"steps": 2000, "learning_rate": 5e-6},
    "maclr/finetune-5-percent-of-labels": {"steps": 10_000, "learning_rate": 5e-6},
    "micol/cross-prp": {"architecture": "cross", "meta_path": "P->P<-P", "epochs": 3, "batch": 4},
    "futex/mag-cs-futex": {"count": 45_000, "pseudo_labels": 5, "trees": 3, "batch": 8, "learning_rate": 5e-5},
    "futex/pubmed-futex": {"count": 150_000, "batch": 8, "learning_rate": 5e-5},
    "depl/depl": {"sampled_labels": 300, "hard_negatives": 10, "tokens": 16, "keywords": 20},
    "depl/wiki10-31k-depl": {"sampled_labels": 500, "hard_negatives": 10, "learning_rate": 1e-5},
}
"File -> values that its paper states (RTS Table 3, MACLR and DEPL A.1.3, MICoL A.3.2, FuTex 4.1)."


def read(row: configs.Row) -> Any:
    return configuration(row.method, values_of(row.path, []))


def flat(config: Any) -> dict[str, Any]:
    values = asdict(config)
    return {**values, **(values.get("training") or {})}


def test_the_files_are_those_of_the_rows() -> None:
    """`python -m tools.configs` writes them."""
    files = {path.relative_to(configs.FOLDER).with_suffix("").as_posix() for path in configs.FOLDER.rglob("*.toml")}
    assert files == set(ROWS)
    assert [file for file, row in ROWS.items() if row.path.read_text(encoding="utf-8") != row.text] == []


@pytest.mark.parametrize("file", ROWS)
def test_a_file_has_the_settings_of_the_paper_and_what_its_row_changes(file: str) -> None:
    row, options = ROWS[file], dict(ROWS[file].options)
    paper, found = flat(settings_of_paper(row.method)), flat(read(row))
    stated = options.pop("training", {}) | options | STATED.get(file, {})
    assert {name: found[name] for name in stated} == {
        name: tuple(value) if isinstance(value, list) else value for name, value in stated.items()
    }
    differing = {name for name in found if found[name] != paper[name]} - {"training"}
    assert differing <= {*options, *row.options.get("training", {})}


def test_the_bi_encoder_of_micol_is_that_of_its_paper() -> None:
    assert read(ROWS["micol/bi-prp"]) == micol.paper("bi")


@pytest.mark.parametrize("file", ROWS)
def test_a_file_trains(file: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if file.startswith("futex") and find_spec("omikuji") is None:
        pytest.skip("omikuji is not installed")
    monkeypatch.chdir(folder)
    if not Path("configs").exists():
        Path("configs").symlink_to(configs.FOLDER)
    row = ROWS[file]
    commands = [re.sub(r"(--share-of-\w+) \S+", r"\1 0.9", command) for command in row.commands]
    if row.method == "finetune" and not Path("maclr-maclr").is_dir():
        commands.insert(0, ROWS["maclr/maclr"].commands[0])
    printed = [test_recipes.run(command.removeprefix("tagwright ")) for command in commands]
    assert re.search(r"P@1 +\d", printed[-1])
