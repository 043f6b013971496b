"""A server follows the promotions of a model with versions: no request is lost, and every reply names its version."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright import Label, Vocabulary
from tagwright.core.versions import put_in_use
from tagwright.errors import ConfigError
from tagwright.server.application import application
from tagwright.server.follower import Follower, language_of
from tagwright.server.options import ServerOptions
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import follower_of, saved_models

TEXT = "Honey bees, a tax law, orchards"
LABELS = {"0001": {"http://x.org/bee", "http://x.org/tax", "o"}, "0002": {"o", "http://x.org/bee"}}
"What each version answers: the second lacks a label."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, labels in LABELS.items():
        word_tagger().restrict(labels).save(tmp_path / "bees" / number)
    put_in_use(tmp_path / "bees" / "0001")
    return tmp_path / "bees"


def followed(folder: Path, seconds: float | None) -> tuple[ServedModel, Follower]:
    (model,) = saved_models([str(folder)])
    return model, Follower([model], seconds=seconds)


def promoted(model: ServedModel, number: str) -> None:
    """Wait until a version answers."""
    end = time.monotonic() + 600
    while model.number != number:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_promotions_are_followed_without_losing_a_request(folder: Path) -> None:
    model, follower = followed(folder, 0.01)
    asked, stop = Counter[str](), threading.Event()
    with TestClient(application([model], follower=follower)) as client, ThreadPoolExecutor(8) as threads:

        def ask(request: Callable[[], tuple[str, set[str]]]) -> None:
            while not stop.is_set():
                version, labels = request()
                assert labels == LABELS[version.removeprefix("bees ")]
                asked[version] += 1

        def annif() -> tuple[str, set[str]]:
            answer = client.post("/v1/projects/bees/suggest", data={"text": TEXT})
            return answer.headers["X-Model-Version"], {each["uri"] for each in answer.json()["results"]}

        def api() -> tuple[str, set[str]]:
            answer = client.post("/api/suggest", json={"text": TEXT, "evidence": True})
            assert answer.headers["X-Model-Version"] == answer.json()["version"]
            return answer.json()["version"], {each["id"] for each in answer.json()["suggestions"]}

        clients = [threads.submit(ask, request) for request in [annif, api] * 2]
        try:
            for number in ("0002", "0001") * 3:
                put_in_use(folder / number)
                promoted(model, number)
        finally:
            stop.set()
        for each in clients:
            each.result()
    assert set(asked) <= {"bees 0001", "bees 0002"}
    assert sum(asked.values()) > 0


def test_a_request_that_has_begun_is_answered_by_its_version(folder: Path) -> None:
    model, follower = followed(folder, None)
    before = model.snapshot()
    put_in_use(folder / "0002")
    follower.check()
    assert (before.version, model.version) == ("bees 0001", "bees 0002")
    assert len(before.tagger.vocabulary) == 3
    assert [len(each.search()("tax", 9)) for each in (before, model)] == [1, 0]


def test_a_version_that_cannot_be_loaded_changes_nothing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, follower = followed(folder, None)
    put_in_use(folder / "0002")
    (folder / "0002" / "vocabulary" / "names" / "text.npy").unlink()
    follower.check()
    assert model.version == "bees 0001"
    assert "bees 0001 goes on answering: " in caplog.text
    (folder / "current").write_text("0003")
    follower.check()
    assert model.version == "bees 0001"


def test_without_watch_it_looks_only_when_asked(folder: Path) -> None:
    model, follower = followed(folder, None)
    with TestClient(application([model], follower=follower)) as client:
        put_in_use(folder / "0002")
        assert client.post("/api/suggest", json={"text": TEXT}).json()["version"] == "bees 0001"
        assert client.portal is not None
        client.portal.call(follower.ask)
        promoted(model, "0002")
        assert client.post("/api/suggest", json={"text": TEXT}).json()["version"] == "bees 0002"


def test_watch_needs_a_model_with_versions(folder: Path, tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "alone")
    (alone,), (with_versions,) = saved_models([str(tmp_path / "alone")]), saved_models([str(folder)])
    with pytest.raises(ConfigError, match="--watch follows the file `current`"):
        follower_of([alone], ServerOptions(watch=True), None)
    assert follower_of([alone], ServerOptions(), None) is None
    follower = follower_of([alone, with_versions], ServerOptions(), None)
    assert follower is not None
    assert (follower.models, follower.seconds) == ([with_versions], None)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGHUP")
def test_sighup_loads_the_version_promoted_last(folder: Path) -> None:
    command = [sys.executable, "-m", "tagwright", "serve", "--model", str(folder), "--port", "0", "--quiet"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(" at ")[1].strip().replace("/v1/", "/api/models")
            put_in_use(folder / "0002")
            end, version = time.monotonic() + 600, ""
            while version != "bees 0002":
                assert time.monotonic() < end
                server.send_signal(signal.SIGHUP)
                with urllib.request.urlopen(address, timeout=600) as reply:
                    version = json.load(reply)["models"][0]["version"]
                    assert version in ("bees 0001", "bees 0002")
        finally:
            server.kill()


def test_a_vocabulary_in_two_languages_says_both() -> None:
    german = ["Geschichte der Wissenschaft", "Umweltschutz in Gemeinden", "Krankenversicherung", "Verfassungsrecht"]
    english = ["History of science", "Environmental protection", "Health insurance", "Constitutional law of states"]
    both = [Label(str(n), (name,)) for n, name in enumerate([*german, *english] * 5)]
    assert set(language_of(Vocabulary(both)).split("+")) == {"de", "en"}
    assert language_of(Vocabulary(both[4:8])) == "en"
