"""What commands load before they need it: start-up costs what is imported, and that grows unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.processes import loaded_by

HEAVY = {
    *("torch", "transformers", "sentence_transformers", "accelerate", "tokenizers", "datasets", "pandas", "sklearn"),
    *("scipy", "sparse_dot_topn", "faiss", "omikuji", "rdflib", "numpy", "pyarrow"),
}
READING = {"numpy"}
"What documents and labels are read into."


def test_the_help_of_no_command_loads_anything_heavy() -> None:
    from tagwright.app.cli import app

    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    assert {"suggest", "evaluate", "train", "demo"} < set(names)
    modules, complaints = loaded_by(["--help"], *([name, "--help"] for name in names))
    assert complaints == ""
    assert not modules & HEAVY


def test_what_is_wrong_is_said_before_anything_heavy_is_loaded() -> None:
    commands = [
        ("suggest", "docs.jsonl", "--labels", "none.jsonl"),
        ("suggest", "docs.jsonl", "--model", "none"),
        ("suggest", "docs.jsonl", "--labels", "labels.jsonl", "--set", "encodr=minilm"),
        ("compare", "docs.jsonl", "--labels", "labels.jsonl", "--run", "right.jsonl"),
        ("train", "rts", "docs.jsonl", "--output", "M"),
        ("train", "micol", "docs.jsonl", "--labels", "labels.jsonl", "--output", "M", "--set", "x=1"),
        ("describe", "none.jsonl", "--graph"),
        ("labels", "--model", "none"),
    ]
    modules, complaints = loaded_by(*commands)
    assert "none: no saved tagger here" in complaints
    assert complaints.count("tagwright: ") == len(commands)
    assert not modules & (HEAVY - READING)


DOCS = ("docs.jsonl", "--labels", "labels.jsonl")


def test_unreadable_input_is_said_before_an_encoder_or_a_tagger_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text('{"id": "1", "title": "Bees", "labels": ["bee"]}\n')
    Path("labels.jsonl").write_text('{"id": "bee", "names": ["Bees"]}\n')
    Path("broken.jsonl").write_text("{broken\n")
    for folder in ("saved", "none"):
        Path(folder).mkdir()
    Path("saved/manifest.json").write_text('{"tagwright": 1, "kind": "tagger"}')
    commands = {
        ("suggest", "broken.jsonl", "--labels", "labels.jsonl"): "broken.jsonl:1: ",
        ("suggest", "docs.jsonl", "--labels", "broken.jsonl"): "broken.jsonl:1: ",
        ("suggest", "docs.jsonl", "--labels", "broken.jsonl", "--model", "saved"): "broken.jsonl:1: ",
        ("evaluate", "docs.jsonl", "--labels", "broken.jsonl"): "broken.jsonl:1: ",
        ("evaluate", *DOCS, "--run", "none.jsonl"): "none.jsonl: no such file",
        ("evaluate", *DOCS, "--train", "none.jsonl"): "none.jsonl: no such file",
        ("describe", "--candidates", "docs.jsonl", "--labels", "broken.jsonl"): "broken.jsonl:1: ",
        ("train", "svm", *DOCS, "--output", "M", "--fuse-with", "none"): "none: no saved tagger here",
        ("train", "finetune", "docs.jsonl", "--labels", "broken.jsonl", "--model", "saved", "--output", "M"): (
            "broken.jsonl:1: "
        ),
    }
    modules, complaints = loaded_by(*commands)
    for line, message in zip(complaints.splitlines(), commands.values(), strict=True):
        assert line.startswith(f"tagwright: {message}")
    assert not modules & (HEAVY - READING)
