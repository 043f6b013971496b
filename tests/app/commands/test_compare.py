"""The command `compare` with taggers, and a folder of models as --model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import Command

from tagwright import zero_shot
from tagwright.core.versions import put_in_use


@pytest.fixture
def models(desk: Path) -> Path:
    """The old model knows bees and banks, the new one, which is better on these documents, rain as well."""
    for name, labels in {
        "old": {"bee": "Bees", "bank": "Bank"},
        "new": {"bee": "Bees", "bank": "Bank", "rain": "Rain"},
    }.items():
        zero_shot(
            [{"id": id_, "names": [label]} for id_, label in labels.items()], stages=["exact_match"], language="en"
        ).save(desk / "models" / name)
    return desk / "models"


def test_a_folder_of_models_is_a_model_of_every_command(models: Path, run: Command) -> None:
    folder = str(models)
    for name, labels in (("old", 2), ("new", 3)):
        put_in_use(models / name)
        assert f"{labels} labels" in run("labels", "--verify", "--model", folder).out
        assert len(run("labels", "--model", folder).out.splitlines()) == labels
        suggested = run("suggest", "docs.jsonl", "--model", folder, "--format", "jsonl").out
        assert ('"name": "Rain"' in suggested) == (name == "new")
        assert run("evaluate", "docs.jsonl", "--model", folder, "--json").code == 0
    assert run("batch", "docs.jsonl", "--model", folder, "--output", "batch", "--processes", "1").code == 0
    (models / "current").write_text("newest\n")
    assert "newest: no saved tagger here" in run("suggest", "docs.jsonl", "--model", folder).err


def test_saved_taggers_are_compared_with_each_other_and_with_runs(models: Path, run: Command, desk: Path) -> None:
    (desk / "run.jsonl").write_text(
        run("suggest", "docs.jsonl", "--model", "models/old", "-k", "100", "--format", "jsonl").out
    )
    both = ("--model", "models/new", "--model", "models/old")
    found = json.loads(run("compare", "docs.jsonl", *both, "--run", "run.jsonl", "--json").out)
    assert found["runs"] == {"a": "run.jsonl", "b": "models/new", "c": "models/old"}
    of = {pair["a"] + pair["b"]: pair["measures"]["P@1"] for pair in found["comparisons"]}
    # rain, which the old one lacks, is the first label of the third document alone
    assert (round(of["BC"]["a"], 4), round(of["BC"]["b"], 4)) == (1.0, 0.6667)
    assert of["AC"]["a"] == of["AC"]["b"]
    assert "got 1: --run" in run("compare", "docs.jsonl", "--model", "models/new").err
