"""A description that a language model writes says so; nothing is learned or measured on documents that one wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.llm.stub import serving
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.data.vocabulary import Vocabulary
from tagwright.llm.generation import describe_labels
from tagwright.llm.options import LlmOptions
from tagwright.readers.lines import write_json_lines
from tagwright.types import Document, Label

LABELS = Vocabulary(
    [
        Label("animals", ("Animals",), "Living beings that move."),
        Label("bees", ("Bees",), broader=("animals",)),
        Label("taxes", ("Taxes",)),
    ]
)
DOCUMENTS = [
    Document("1", "Of bees", labels=("bees",)),
    Document("2", "Of hives", labels=("bees",)),
    Document("3", "Duty"),
]


def write(message: dict[str, Any]) -> str:
    name = message["label"]["name"]
    return json.dumps({"description": f"All about\n{name}." if name == "Bees" else "x" * 501})


def test_labels_without_a_description_get_one_that_says_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(write) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        records = list(describe_labels(LABELS, LlmOptions(model=stub.model), "english"))
        first, _ = sorted(stub.asked, key=lambda each: each["label"]["name"])
    assert first == {"language": "english", "label": {"name": "Bees", "path": "Animals"}}
    assert [each["description"] for each in records] == ["Living beings that move.", "All about Bees.", ""]
    assert [each.get("described_by", {}).get("model") for each in records] == [None, stub.model, None]
    assert records[1]["described_by"].keys() == {"model", "prompt", "date"}
    write_json_lines(records, tmp_path / "labels.jsonl")
    assert Vocabulary.read(tmp_path / "labels.jsonl")[1].description == "All about Bees."


def test_the_command_writes_a_vocabulary_with_descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ({"id": each.id, "names": list(each.names), "broader": list(each.broader)} for each in LABELS)
    write_json_lines(names, "labels.jsonl")
    with serving(write) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        asked = ["labels", "--describe", stub.model, "--labels", "labels.jsonl", "--language", "en", "--set", "calls=9"]
        done = CliRunner().invoke(app, [*asked, "--output", "described.jsonl"], catch_exceptions=False)
    assert done.stdout == "1 of 3 labels are described now: described.jsonl\n"
    assert Vocabulary.read("described.jsonl")[1].description == "All about Bees."
