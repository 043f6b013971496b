"""A folder with a few documents, labels and a tiny encoder to run commands in."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from tests.tiny import tiny_encoder

from tagwright.app import cli

LABELS = [
    {"id": "bee", "names": ["Bees", "Apoidea"], "description": "Insects that make honey."},
    {"id": "bank", "names": ["Banks"], "description": "Where money is kept."},
    {"id": "rain", "names": ["Rain"], "description": "Water that falls on rivers and stones."},
]
DOCUMENTS = [
    {"id": "1", "title": "Honey of the bees", "abstract": "A bee flies from flower to flower.", "labels": ["bee"]},
    {"id": "2", "title": "Money in the bank", "labels": ["bank"]},
    {"id": "3", "title": "Rain", "abstract": "Rain fills the river.", "labels": ["rain", "bee"]},
]
RIGHT = [
    {"id": "1", "suggestions": [{"label": "bee", "score": 2.0}, {"label": "rain", "score": 1.0}]},
    {"id": "2", "suggestions": [{"label": "bank", "score": 2.0}]},
    {"id": "3", "suggestions": [{"label": "rain", "score": 2.0}, {"label": "bee", "score": 1.0}]},
]
WRONG = [{"id": str(row), "suggestions": [{"label": "bee", "score": 1.0}]} for row in (1, 2, 3)]


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Command: TypeAlias = Callable[..., Outcome]


def write(path: Path | str, records: Iterable[Mapping[str, object]]) -> None:
    Path(path).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: docs.jsonl, labels.jsonl, right.jsonl and wrong.jsonl."""
    monkeypatch.chdir(tmp_path)
    files = {"docs": DOCUMENTS, "labels": LABELS, "right": RIGHT, "wrong": WRONG}
    for name, records in files.items():
        write(f"{name}.jsonl", records)  # type: ignore[arg-type]
    return tmp_path


@pytest.fixture
def tiny(desk: Path) -> str:
    """A setting that makes the zero-shot method use a tiny encoder."""
    return f"encoder={tiny_encoder(desk / 'tiny')}"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tagwright", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        return Outcome(int(end.value.code or 0), out, err)

    return run
