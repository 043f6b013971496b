"""The examples of the API page do what they show: each is run as it stands there, against a server."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from starlette.testclient import TestClient
from tests.server.browsing import served
from tests.server.conftest import reviewing, word_tagger

from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel

TEXTS = ("/metrics", "/reconcile/bees/preview")
"The paths whose answers are no JSON."


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(reviewing(tmp_path_factory.mktemp("review")), lambda tagger, *_: tagger) as address:
        yield urlopen(f"{address}/api").read().decode()


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the examples send lies in the working directory."""
    (tmp_path / "notes.txt").write_text("Bees visit orchards.")
    monkeypatch.chdir(tmp_path)


def examples(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'<pre class="curl">([^<]*)</pre>', page)]


def check(example: str, answer: str) -> None:
    """What was answered is what the example is for: JSON that is no problem, but for learning, which is not allowed."""
    if any(path in example for path in TEXTS):
        assert "Bees" in answer or "tagwright" in answer
    elif "/learn" in example:
        assert json.loads(answer)["title"] == "Learning not allowed"
    else:
        assert "detail" not in json.loads(answer), (example, answer)


@pytest.mark.usefixtures("notes")
def test_each_example_for_curl_runs(page: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    found = examples(page)
    assert len(found) == page.count("<article")
    for example in found:
        check(example, subprocess.run(shlex.split(example), capture_output=True, text=True, check=True).stdout)


def test_with_tokens_examples_send_one(tmp_path: Path) -> None:
    model = ServedModel("bees", word_tagger(), "Bees")
    token = "a-long-enough-token"
    (tmp_path / "tokens").write_text(f"{token} suggest Ann\n")
    with TestClient(application([model], access=Access.of(file=tmp_path / "tokens"))) as client:
        client.post("/enter", data={"token": token})
        page = client.get("/api").text
    assert all("-H 'Authorization: Bearer TOKEN'" in each for each in examples(page))
