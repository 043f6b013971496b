from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.monitoring.test_monitor import records
from tests.server.conftest import word_tagger

from tagwright.errors import TagwrightError
from tagwright.monitoring import Watch, append
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel

BEES = {"text": "Honey bees and apis visit orchards."}


def flooded(version: str, path: Path) -> Watch:
    """A log of documents that are flooded with bees from 800 on."""
    bees = [replace(each, labels=("http://x.org/bee",)) for each in records(200, seed=1)]
    append(path, [replace(each, version=version) for each in [*records(800), *bees]])
    return Watch(path)


def test_every_interface_records_what_it_suggests(tmp_path: Path) -> None:
    model = ServedModel("bees", word_tagger(), "Bees", watch=Watch(tmp_path / "log.jsonl"))
    assert model.watch is not None
    with TestClient(application([model], watch=model.watch)) as client:
        client.post("/api/suggest", json=BEES)
        client.post("/v1/projects/bees/suggest", data=BEES)
        client.post("/v1/projects/bees/suggest-batch", json={"documents": [BEES, BEES]})
        client.post("/api/suggest", json={"text": " "})
        client.post("/", data={"text": BEES["text"]}, headers={"Origin": "http://testserver"})
        metrics = client.get("/metrics").text
    assert 'tagwright_monitored_documents{model="bees"} 5\n' in metrics
    assert Watch(tmp_path / "log.jsonl").monitors["bees"].count == 5


def test_a_log_that_cannot_be_written_costs_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Watch(tmp_path / "log.jsonl")

    def fail(*_: object) -> None:
        raise TagwrightError("log.jsonl: cannot be written (No space left on device)")

    monkeypatch.setattr(watch, "add", fail)
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees", watch=watch)])) as client:
        assert client.post("/api/suggest", json=BEES).status_code == 200
    assert "No space left on device" in caplog.text


def test_metrics_have_the_last_look_at_each_signal(tmp_path: Path) -> None:
    watch = flooded("bees", tmp_path / "log.jsonl")
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")], watch=watch)) as client:
        lines = client.get("/metrics").text.splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if line.startswith("tagwright_monitor"))
    assert found['tagwright_monitor_alarm{model="bees",signal="label"}'] == "1"
    assert found['tagwright_monitor_alarm{model="bees",signal="language"}'] == "0"
    assert found['tagwright_monitor_value{model="bees",signal="label"}'] == "1"
    assert "# TYPE tagwright_monitor_value gauge" in lines


def test_acceptance_is_that_of_finished_documents_of_the_version(tmp_path: Path) -> None:
    with closing(ReviewFile(tmp_path / "reviews.sqlite")) as file:
        decisions = Decisions(file)
        for number, (version, verdicts) in enumerate([("b 1", "ar"), ("b 2", "aaar"), ("b 1", "a"), ("b 1", "r")]):
            id_ = f"d{number}"
            decisions.add_all(
                Decision(document=id_, reviewer="Ann", action="accept" if each == "a" else "reject", label=f"l{rank}",
                         rank=rank, model=version)
                for rank, each in enumerate(verdicts, 1)
            )  # fmt: skip
            if number != 3:  # the last one is not finished
                decisions.add_all([Decision(document=id_, reviewer="Ann", action="done", model=version)])
        assert decisions.acceptances("b 1") == [0.5, 1.0]
        assert decisions.acceptances("b 2") == [0.75]
