"""The same table has the same account at every front: as a file on the command line, in Python, over HTTP."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright.data.corpus import Corpus
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel

TABLES = {
    "guessed.csv": (
        "headline,description,queue\nBees,They fly.,a\n",
        'columns: title from "headline", abstract from "description"; not used: queue (kept as metadata)',
    ),
    "ours.csv": ("title,text,queue,agent\nBees,They fly.,a,b\n", "not used: queue, agent (kept as metadata)"),
    "ours.jsonl": ('{"title": "Bees", "queue": "a"}\n', "not used: queue (1) (kept as metadata)"),
}


def by_command(path: Path, *options: str) -> str:
    command = [sys.executable, "-m", "tagwright", "read", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize("name", TABLES)
def test_every_front_gives_the_same_account(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    """HTTP leaves out the advice to give an option, which it has not."""
    content, account = TABLES[name]
    (path := tmp_path / name).write_text(content)
    caplog.set_level(logging.INFO)
    Corpus.read(path)
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")])) as client:
        answer = client.post("/api/files", files={"file": (name, content.encode())}).json()
    assert answer["notes"] == [f"{name}: {account}"]
    assert [message for message in caplog.messages if account in message and str(path) in message]
    assert account in by_command(path)
    assert by_command(path, "--quiet") == ""


def test_a_file_of_which_a_line_cannot_be_read_is_refused_with_this_line() -> None:
    content = b'{"text": "Bees"}\n{"text":\n{"text": "Wasps"}\n'
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")])) as client:
        answer = client.post("/api/files", files={"file": ("a.jsonl", content)})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("a.jsonl:2: is not JSON")
