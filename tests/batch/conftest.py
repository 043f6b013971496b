"""A saved tagger without an encoder, and documents of which three cannot be read or have no id of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tagwright import zero_shot

NAMES = ["Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers", "Stocks", "Money"]
DOCUMENTS = 60
BROKEN, NAMELESS, REPEATED = 7, 23, 24
"Lines, from 1: no JSON; a record without id; one with the id of the line before the last."


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    zero_shot(NAMES, stages=["exact_match", "tfidf"], language="en").save(folder)
    return folder


def words(number: int) -> str:
    return " ".join(NAMES[number * step % len(NAMES)] for step in (1, 3, 5))


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_documents(tmp_path)


def write_documents(folder: Path) -> Path:
    """60 lines in all."""
    lines = [json.dumps({"id": f"d{i}", "title": words(i), "abstract": words(i + 1)}) for i in range(1, DOCUMENTS + 1)]
    lines[BROKEN - 1] = "{broken"
    lines[NAMELESS - 1] = json.dumps({"id": "", "title": "Bees"})
    lines[REPEATED - 1] = json.dumps({"id": f"d{REPEATED - 2}", "title": "Bees"})
    path = folder / "documents.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
