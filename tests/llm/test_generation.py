"""What a language model writes is data with its origin; nothing is measured on documents that it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.llm.stub import serving

from tagwright.core.saved import read_manifest
from tagwright.data.corpus import SYNTHETIC, Corpus, is_synthetic
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.evaluation.dataset import evaluation_set
from tagwright.llm.generation import described, synthetic_documents
from tagwright.llm.options import LlmOptions
from tagwright.readers.documents.jsonl import write_jsonl
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
    if "number" not in message:
        return json.dumps({"description": f"All about\n{name}." if name == "Bees" else "x" * 501})
    record = {"title": f"On {name}", "abstract": f"{name}, told in {message['language']}."}
    return json.dumps({"documents": [record, {"title": "empty"}, 7, record, record]})


def test_labels_without_a_description_get_one_that_says_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(write) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        records = list(described(LABELS, LlmOptions(model=stub.model), "english"))
        first, _ = sorted(stub.asked, key=lambda each: each["label"]["name"])
    assert first == {"language": "english", "label": {"name": "Bees", "path": "Animals"}}
    assert [each["description"] for each in records] == ["Living beings that move.", "All about Bees.", ""]
    assert [each.get("described_by", {}).get("model") for each in records] == [None, stub.model, None]
    assert records[1]["described_by"].keys() == {"model", "prompt", "date"}
    write_json_lines(records, tmp_path / "labels.jsonl")
    assert Vocabulary.read(tmp_path / "labels.jsonl")[1].description == "All about Bees."


def test_rare_labels_get_documents_that_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(write) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        options = LlmOptions(model=stub.model)
        found = list(synthetic_documents(LABELS, DOCUMENTS, options, "english", fewer_than=2, each=2))
        assert all(each["titles"] == ["Of bees", "Of hives", "Duty"] for each in stub.asked)
    assert [each.labels[0] for each in found] == ["animals", "animals", "taxes", "taxes"]
    assert found[0].abstract == "Animals, told in english."
    assert found[0].metadata[SYNTHETIC][0] == stub.model
    write_jsonl(found, tmp_path / "synthetic.jsonl")
    assert all(map(is_synthetic, Corpus.read(str(tmp_path / "synthetic.jsonl"))))
    assert not any(map(is_synthetic, DOCUMENTS))


def test_nothing_is_measured_on_synthetic_documents(tmp_path: Path) -> None:
    one = Document("s", "Bees", labels=("bees",), metadata={SYNTHETIC: ("model",)})
    write_jsonl([DOCUMENTS[0], one], tmp_path / "docs.jsonl")
    with pytest.raises(InputError, match='document "s" was written by a language model'):
        evaluation_set(Corpus.read(str(tmp_path / "docs.jsonl")), LABELS)


def test_the_commands_write_files_that_the_others_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from tagwright.app.cli import app

    def run(*words: str) -> Any:
        done = CliRunner().invoke(app, words)
        if isinstance(done.exception, Exception):
            raise done.exception
        return done.stdout

    monkeypatch.chdir(tmp_path)
    write_jsonl(DOCUMENTS, "docs.jsonl")
    names = ({"id": each.id, "names": list(each.names), "broader": list(each.broader)} for each in LABELS)
    write_json_lines(names, "labels.jsonl")
    train = ("train", "auto", "docs.jsonl", "--labels", "labels.jsonl", "--output", "M", "--quiet")
    few = ("--set", "stages=['tfidf']", "--language", "en")
    with serving(write) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        model = ("--labels", "labels.jsonl", "--language", "en")
        said = run("labels", "--describe", stub.model, *model, "--output", "described.jsonl", "--set", "calls=9")
        assert said == "1 of 3 labels are described now: described.jsonl\n"
        more = ("--synthesise", stub.model, "--output", "synthetic.jsonl", "--each", "1")
        said = run("labels", "docs.jsonl", *model, *more)
        assert said == "3 documents for 3 labels: synthetic.jsonl\n"
    run(*train, *few, "--synthetic", "synthetic.jsonl")
    assert read_manifest(Path("M"), "tagger")["training"]["learned_from"]["documents"] == 6
    with pytest.raises(ConfigError, match='document "1" is not marked as synthetic'):
        run(*train, *few, "--synthetic", "docs.jsonl", "--overwrite")
    with pytest.raises(InputError, match="written by a language model"):
        run("evaluate", "docs.jsonl", "synthetic.jsonl", "--model", "M", "--skip-unlabelled")
