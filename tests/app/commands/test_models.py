"""The command `models`, and FOLDER as --model of the other commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest
from tests.app.conftest import DOCUMENTS, Command, write

from tagwright import Models, load, zero_shot
from tagwright.app.commands.models import _row


@pytest.fixture
def folder(desk: Path) -> str:
    """Two versions: the first knows bees and banks, the second, which is better on these documents, rain as well."""
    for name, labels in {
        "old": {"bee": "Bees", "bank": "Bank"},
        "new": {"bee": "Bees", "bank": "Bank", "rain": "Rain"},
    }.items():
        zero_shot(
            [{"id": id_, "names": [label]} for id_, label in labels.items()], stages=["exact_match"], language="en"
        ).save(desk / name)
    return str(desk / "models")


def test_versions_are_added_compared_promoted_rolled_back_and_pruned(folder: str, run: Command) -> None:
    assert run("models", folder, "add", "old").out == "added: 0001\nin use: 0001\n"
    assert run("models", folder, "add", "new").out == "added: 0002\nin use: 0001\n"
    said = json.loads(run("models", folder, "compare", "2", "--test", "docs.jsonl", "--json").out)
    assert said["runs"] == {"0002": f"{folder}/versions/0002", "0001": f"{folder}/versions/0001"}
    # rain, which the old one lacks, is the first label of the third document alone
    assert (said["measures"]["P@1"]["a"], round(said["measures"]["P@1"]["b"], 4)) == (1.0, 0.6667)
    other = json.loads(run("models", folder, "compare", "1", "2", "--test", "docs.jsonl", "--json").out)
    assert list(other["runs"]) == ["0001", "0002"]
    assert run("models", folder, "promote", "2", "1").err.endswith("promote takes no second VERSION, got '1'\n")
    listed = json.loads(run("models", folder, "--json").out)
    assert listed["current"] == "0001"
    assert [len(each["scores"]) for each in listed["versions"]] == [1, 1]
    assert run("models", folder, "promote", "0002").out == "in use: 0002\n"
    table = run("models", folder).out
    assert "in use" in next(line for line in table.splitlines() if "0002" in line)
    assert run("models", folder, "rollback").out == "in use: 0001\n"
    said = "nothing is new: version 0002 is the same tagger\nin use: 0001\n"
    assert run("models", folder, "add", "new").out == said
    for number in range(3, 6):
        zero_shot([{"id": f"rain{number}", "names": ["Rain"]}], stages=["exact_match"], language="en").save("other")
        assert run("models", folder, "add", "other").out.startswith(f"added: 000{number}\n")
        rmtree("other")
    assert run("models", folder, "prune", "--keep", "1").out == "removed: 0002, 0003, 0004\nin use: 0001\n"
    assert run("models", folder, "prune", "--keep", "1", "--json").out == '{"removed": [], "current": "0001"}\n'


def test_the_table_shows_the_score_on_the_most_documents(folder: str, run: Command) -> None:
    models = Models(folder)
    models.add("old")
    models.add("new")
    write("one.jsonl", DOCUMENTS[:1])
    for documents in ("docs.jsonl", "one.jsonl"):
        assert run("models", folder, "compare", "2", "--test", documents).code == 0
    rows = [line.split() for line in run("models", folder).out.splitlines() if "000" in line]
    assert [row[-1] for row in rows] == ["3", "3"]


def test_a_folder_of_versions_is_a_model_of_every_command(folder: str, run: Command) -> None:
    models = Models(folder)
    models.add("old")
    models.add("new")
    for version, labels in ((1, 2), (2, 3)):
        models.promote(version)
        assert f"{labels} labels" in run("labels", "--verify", "--model", folder).out
        assert len(run("labels", "--model", folder).out.splitlines()) == labels
        suggested = run("suggest", "docs.jsonl", "--model", folder, "--format", "jsonl").out
        assert ('"name": "Rain"' in suggested) == (version == 2)
        assert run("evaluate", "docs.jsonl", "--model", folder, "--json").code == 0
    assert run("batch", "docs.jsonl", "--model", folder, "--output", "batch", "--processes", "1").code == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("add",), "models FOLDER add needs MODEL"),
        (("promote",), "models FOLDER promote needs VERSION"),
        (("promote", "9"), 'no version "9"; there are 0001'),
        (("rollback", "1"), "models FOLDER rollback takes nothing more, got '1'"),
        (("rollback",), "no version was in use before 0001"),
        (("prune",), "models FOLDER prune needs --keep"),
        (("promote", "1", "--keep", "2"), "models FOLDER promote takes no --keep"),
        (("compare", "1"), "models FOLDER compare needs --test"),
        (("compare", "1", "--test", "docs.jsonl"), "version 0001 is in use; compare another one"),
        (("add", "none"), "none: no saved tagger here"),
    ],
)
def test_what_is_wrong_is_said(folder: str, run: Command, arguments: tuple[str, ...], problem: str) -> None:
    Models(folder).add("old")
    outcome = run("models", folder, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err


def test_a_folder_without_versions_is_said_to_be(run: Command) -> None:
    assert "nothing: no versions of a model here (current.json is missing)" in run("models", "nothing").err


def test_saved_taggers_are_compared_with_each_other_and_with_runs(folder: str, run: Command, desk: Path) -> None:
    (desk / "run.jsonl").write_text(
        run("suggest", "docs.jsonl", "--model", "old", "-k", "100", "--format", "jsonl").out
    )
    models = ("--model", "new", "--model", "old")
    found = json.loads(run("compare", "docs.jsonl", *models, "--run", "run.jsonl", "--json").out)
    assert found["runs"] == {"a": "run.jsonl", "b": "new", "c": "old"}
    of = {pair["a"] + pair["b"]: pair["measures"]["P@1"] for pair in found["comparisons"]}
    # rain, which the old one lacks, is the first label of the third document alone
    assert (round(of["BC"]["a"], 4), round(of["BC"]["b"], 4)) == (1.0, 0.6667)
    assert of["AC"]["a"] == of["AC"]["b"]
    assert "got 1: --run" in run("compare", "docs.jsonl", "--model", "new").err


def test_compare_repeats_the_gain_to_expect_that_a_training_said(folder: str, run: Command, desk: Path) -> None:
    gain = {"value": 0.1, "low": -0.05, "high": 0.25, "unlike": 0.0, "others": 0, "trust": 1.0}
    replace(load(desk / "new"), training={"auto": {"gain": gain}}).save(desk / "gained")
    command = ("compare", "docs.jsonl", "--model", "old", "--model", "gained")
    said = "-5.0 to +25.0 points (95% interval), if these are like the labelled ones"
    assert f"B, when it was trained: gain on new documents {said}" in " ".join(run(*command).out.split())
    assert json.loads(run(*command, "--json").out)["gains"] == {"b": said}


def test_what_a_review_page_measured_is_listed(folder: str, run: Command, desk: Path) -> None:
    difference = {"value": 0.023, "low": -0.01, "high": 0.05}
    blind = {"documents": 25, "besides": "0001", "after": 0.923, "before": 0.9, "difference": difference}
    combined = {"nDCG@5": {"before": 0.8, "after": 0.81}, "blind": blind}
    Models(folder).add(replace(load(desk / "new"), training={"method": "auto", "combined": combined}))
    few = {**combined, "blind": {"documents": 7}}
    training = {"method": "auto", "combined": few, "data": {"decisions": "others"}}
    Models(folder).add(replace(load(desk / "new"), training=training))
    assert _row(Models(folder)[1], "")[-2:] == ["92.3", "25 blind"]
    assert _row(Models(folder)[2], "")[-2:] == ["not measured", ""]
