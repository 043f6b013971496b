"""The same table has the same account at every front: as a file on the command line, in Python, over HTTP."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.processes import loaded_by
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


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the command line says of all tables, the second time of each told to be quiet."""
    folder = tmp_path_factory.mktemp("tables")
    for name, (content, _) in TABLES.items():
        (folder / name).write_text(content)
    commands = [["read", str(folder / name), *quiet] for name in TABLES for quiet in ([], ["--quiet"])]
    return loaded_by(*commands)[1]


@pytest.mark.parametrize("name", TABLES)
def test_every_front_gives_the_same_account(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, printed: str
) -> None:
    """HTTP leaves out the advice to give an option, which it has not."""
    content, account = TABLES[name]
    (path := tmp_path / name).write_text(content)
    caplog.set_level(logging.INFO)
    Corpus.read(path)
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")])) as client:
        answer = client.post("/api/files", files={"file": (name, content.encode())}).json()
    assert answer["notes"] == [f"{name}: {account}"]
    assert [message for message in caplog.messages if account in message and str(path) in message]
    assert printed.count(f"{name}: {account}") == 1
    assert len(printed.splitlines()) == len(TABLES)


def test_a_file_of_which_a_line_cannot_be_read_is_refused_with_this_line() -> None:
    content = b'{"text": "Bees"}\n{"text":\n{"text": "Wasps"}\n'
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")])) as client:
        answer = client.post("/api/files", files={"file": ("a.jsonl", content)})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("a.jsonl:2: is not JSON")
