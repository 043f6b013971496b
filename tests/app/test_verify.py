"""The command `verify`, and what loading leaves to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import Command

from tagwright import api, zero_shot
from tagwright.core import saved
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ModelError
from tagwright.server import serving
from tagwright.stages.names.exact_match import ExactMatch, find_unfound
from tagwright.types import Label


def test_damage_in_a_large_file_is_found_by_verify_and_not_by_loading(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "CHECKED", 10)
    model = tmp_path / "model"
    zero_shot(["Bees", "Banks"], stages=["exact_match"], language="en").save(model)
    assert run("labels", "--verify", "--model", str(model)).out == f"{model}: whole, 2 labels\n"
    names = model / "vocabulary" / "names" / "text.npy"
    names.write_bytes(names.read_bytes().replace(b"Banks", b"Banks".swapcase()))
    assert api.load(model).vocabulary[1].name == "bANKS"
    with pytest.raises(ModelError, match=r"the checksum of vocabulary/names/text.npy differs"):
        api.load(model, verify=True)
    outcome = run("labels", "--verify", "--model", str(model))
    assert (outcome.code, outcome.out) == (2, "")
    assert "is damaged (the checksum of vocabulary/names/text.npy differs)" in outcome.err


def test_a_vocabulary_that_changed_is_noticed(run: Command, desk: Path) -> None:
    zero_shot([{"id": "bee", "names": ["Honey bees"]}, {"id": "tax", "names": ["Taxes"]}],
              stages=["exact_match"], language="en").save(desk / "model")  # fmt: skip
    said = "2 labels added (Banks, Rain), 1 gone (Taxes), 1 renamed (Honey bees -> Bees)"
    outcome = run("labels", "--verify", "--model", "model", "--labels", "labels.jsonl")
    assert (outcome.code, outcome.out) == (1, f"model: whole, 2 labels\ncompared with its labels: {said}\n")
    found = json.loads(run("labels", "--verify", "--model", "model", "--labels", "labels.jsonl", "--json").out)
    assert (found["whole"], found["labels"], found["changes"]["added"]["count"]) == (True, 2, 2)
    assert found["changes"]["renamed"]["examples"] == [{"id": "bee", "name": "Honey bees -> Bees"}]
    assert run("labels", "--verify", "--model", "model", "--labels", "labels.jsonl", "--json").code == 1
    assert json.loads(run("labels", "--verify", "--model", "model", "--json").out) == {
        "model": "model",
        "whole": True,
        "labels": 2,
        "unfound": [],
    }
    suggest = ("suggest", "docs.jsonl", "--labels", "labels.jsonl", "--model", "model", "--format", "jsonl")
    outcome = run(*suggest)
    assert f"tagwright: the labels differ from those of the model: {said}" in outcome.err
    assert "differ" not in outcome.out
    assert run(*suggest, "--quiet").err == ""
    (desk / "same.jsonl").write_text('{"id": "tax", "names": ["Taxes"]}\n{"id": "bee", "names": ["Honey bees"]}\n')
    assert run(*suggest[:3], "same.jsonl", *suggest[4:]).err == ""


def test_labels_that_no_text_can_name_are_told_each_with_the_reason(run: Command, tmp_path: Path) -> None:
    labels = ["The Who", "AT&T", "Do it yourself", "Will", "IT", "?!", "C", "Bees"]
    file, model = tmp_path / "labels.txt", tmp_path / "model"
    file.write_text("\n".join(labels))
    missed = [
        "never found by name: Will [Will]: its names are stop words",
        "never found by name: ?! [?!]: its names have no letters or digits",
        "never found by name: C [C]: its names have fewer than 2 letters and digits",
    ]
    outcome = run("labels", "--verify", "--labels", str(file), "--language", "en")
    assert (outcome.code, outcome.out.splitlines()) == (0, ["8 labels", *missed])
    zero_shot(file, stages=["exact_match"], language="en").save(model)
    outcome = run("labels", "--verify", "--model", str(model))
    assert (outcome.code, outcome.out.splitlines()) == (0, [f"{model}: whole, 8 labels", *missed])
    found = json.loads(run("labels", "--verify", "--labels", str(file), "--language", "en", "--json").out)
    assert found["unfound"][1] == {"id": "?!", "name": "?!", "reason": "its names have no letters or digits"}
    docs = tmp_path / "docs.jsonl"
    docs.write_text('{"id": "1", "text": "The Who of AT&T will do it yourself, with IT and bees. Will they?"}')
    told = "3 labels never found by name, such as Will: its names are stop words; `tagwright labels --verify` names all"
    described = run("describe", str(docs), "--labels", str(file), "--json")
    assert told in json.loads(described.out)["warnings"]
    by_name = zero_shot(file, stages=["exact_match"], language="en").suggest(docs.read_text()[20:], k=9)
    assert {each.name for each in by_name} == {"The Who", "AT&T", "Do it yourself", "IT", "Bees"}


def test_a_thousand_labels_of_one_name_are_found_and_the_others_told() -> None:
    labels = [Label(str(i), ("Bees",)) for i in range(1002)]
    missed = find_unfound(labels, [ExactMatch(labels)])
    assert [(label.id, why) for label, why in missed] == [
        (id_, "more than 1,000 labels have its names") for id_ in ("1000", "1001")
    ]


def test_labels_of_two_languages_are_found_where_any_stage_finds_them(run: Command, tmp_path: Path) -> None:
    """A stop word of one language is a name beside another one; "in" and "an" are stop words of both."""
    rows = [
        {"id": str(i), "names": {"en": [english], "de": [german]}}
        for i, (english, german) in enumerate([("Will", "Testament"), ("Bees", "Die"), ("In", "An")])
    ]
    model = tmp_path / "model"
    zero_shot(rows, stages=["exact_match"]).save(model)
    out = run("labels", "--verify", "--model", str(model)).out
    assert [line.split("[")[1][0] for line in out.splitlines()[1:]] == ["2"]


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x.org/bee> a skos:Concept ; skos:prefLabel "Bees"@en, "Mehiläiset"@fi .
<http://x.org/tax> a skos:Concept ; skos:prefLabel "Taxes"@en, "%s"@fi .
"""


def test_verify_sees_what_suggest_sees(run: Command, desk: Path) -> None:
    (desk / "old.ttl").write_text(SKOS % "Verot")
    (desk / "new.ttl").write_text(SKOS % "Maksut")
    (desk / "fi.jsonl").write_text('{"id": "1", "text": "Mehiläiset lentävät tänään, ja hunaja on hyvää."}\n')
    zero_shot(desk / "old.ttl", stages=["exact_match"], language="fi").save(desk / "model")
    said = "0 labels added, 0 gone, 1 renamed (Verot -> Maksut)"
    outcome = run("labels", "--verify", "--model", "model", "--labels", "new.ttl")
    assert (outcome.code, outcome.out.splitlines()[1]) == (1, f"compared with its labels: {said}")
    suggested = run("suggest", "fi.jsonl", "--labels", "new.ttl", "--model", "model").err
    assert f"the labels differ from those of the model: {said}" in suggested
    assert run("labels", "--verify", "--model", "model", "--labels", "old.ttl").code == 0


def test_a_server_says_that_the_labels_changed(desk: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "tagwright")
    zero_shot(["Bees"], stages=["exact_match"], language="en").save(desk / "model")
    serving.saved_models(["model"], labels=Vocabulary(["Bees", "Wasps"]))
    assert "the labels differ from those of the model: 1 label added (Wasps), 0 gone, 0 renamed" in caplog.text


def test_labels_in_several_languages_are_compared_with_all_names(run: Command, desk: Path) -> None:
    labels = [Label("1", ("Bees",), languages=(("en", "Bees"), ("sv", "Bin")))]
    zero_shot(labels, stages=["exact_match"], language="en").save(desk / "model")
    Vocabulary(labels).write(desk / "two.jsonl")
    outcome = run("labels", "--verify", "--model", "model", "--labels", "two.jsonl")
    assert outcome.err == ""
    assert outcome.out == "model: whole, 1 label\ncompared with its labels: 0 labels added, 0 gone, 0 renamed\n"
