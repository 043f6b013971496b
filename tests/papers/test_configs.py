"""The files of `configs/`: the settings of the papers; each trains, on data of the same shape, in two steps."""

from __future__ import annotations

import re
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_advised_options import OPTIONS
from tests.papers import test_recipes

from tagwright.api.options import configuration, settings_of_paper
from tagwright.app.options import values_of
from tagwright.papers import micol

folder = test_recipes.folder  # the data sets

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

FILES = {path.relative_to(CONFIGS).with_suffix("").as_posix(): path for path in sorted(CONFIGS.rglob("*.toml"))}

FIRST = {
    "rts/lf-amazon-131k": "rts",
    "maclr/maclr": "maclr",
    "micol/cross-prp": "micol",
    "futex/mag-cs-futex": "futex",
    "depl/depl": "depl",
    "depl/svm": "svm",
}
"File of the first data set of a paper -> method."

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
    "futex/mag-cs-futex": {"count": 45_000, "pseudo_labels": 5, "batch": 8, "learning_rate": 5e-5},
    "futex/pubmed-futex": {"count": 150_000, "batch": 8, "learning_rate": 5e-5},
    "depl/depl": {"sampled_labels": 300, "hard_negatives": 10, "tokens": 16, "keywords": 20},
    "depl/wiki10-31k-depl": {"sampled_labels": 500, "hard_negatives": 10, "learning_rate": 1e-5},
}
"File -> values that its paper states (RTS Table 3, MACLR and DEPL A.1.3, MICoL A.3.2, FuTex 4.1)."


def commands(file: str) -> list[str]:
    """The commands in the head of a file, which train and evaluate."""
    return re.findall(r"^# (tagwright .*)$", FILES[file].read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("file", FILES)
def test_the_commands_of_a_file_have_options_that_exist(file: str) -> None:
    for line in commands(file):
        name, *words = line.removeprefix("tagwright ").split()
        assert {word for word in words if word.startswith("--")} <= OPTIONS[name], line


def read(file: str) -> Any:
    return configuration(commands(file)[0].split()[2], values_of(FILES[file], []))


@pytest.mark.parametrize("file", FILES)
def test_a_file_has_what_its_paper_states_and_says_what_was_published(file: str) -> None:
    config = asdict(read(file))
    values = {**config, **(config.get("training") or {})}
    stated = STATED.get(file, {})
    assert {name: values[name] for name in stated} == stated
    train, evaluate = commands(file)
    assert f"--config configs/{file}.toml --output {file.replace('/', '-')}" in train
    assert evaluate.endswith(f"--model {file.replace('/', '-')}")
    assert re.search(r"^# Published, P@1 .*:\n# .*: -?\d+\.\d", FILES[file].read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("file", "method"), FIRST.items())
def test_the_first_data_set_of_a_paper_has_the_settings_of_the_option_paper(file: str, method: str) -> None:
    assert read(file) == settings_of_paper(method)


def test_the_bi_encoder_of_micol_is_that_of_its_paper() -> None:
    assert read("micol/bi-prp") == micol.paper("bi")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_a_file_trains(file: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if file.startswith("futex") and find_spec("omikuji") is None:
        pytest.skip("omikuji is not installed")
    monkeypatch.chdir(folder)
    if not Path("configs").exists():
        Path("configs").symlink_to(CONFIGS)
    train, evaluate = commands(file)
    given = [re.sub(r"(--share-of-\w+) \S+", r"\1 0.9", train) + " --overwrite", evaluate]
    if " train finetune " in given[0] and not Path("maclr-maclr").is_dir():
        given.insert(0, commands("maclr/maclr")[0])
    printed = [test_recipes.run(command.removeprefix("tagwright ")) for command in given]
    assert re.search(r"P@1 +\d", printed[-1])
