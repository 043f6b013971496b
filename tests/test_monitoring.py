"""The log of suggestions, and what changes in it."""

from __future__ import annotations

import json
import logging
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright import Suggestion, Suggestions
from tagwright.errors import InputError
from tagwright.monitoring import (
    FIRST,
    STEP,
    STREAM,
    WINDOW,
    Change,
    Doubt,
    changes,
    log_suggestions,
    probability,
    read_doubts,
)
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel

SURE, UNSURE, UNFIT = (False, False), (True, False), (True, True)
BEES = {"text": "Honey bees and apis visit orchards."}


def drawn(count: int, share: float, seed: int = 0) -> list[Doubt]:
    """Documents of which a share is unsure."""
    return [UNSURE if each < share else SURE for each in np.random.default_rng(seed).random(count)]


def test_the_shares_are_those_of_the_first_and_the_last_documents() -> None:
    documents = [*[UNSURE] * 50, *[SURE] * (FIRST - 50), *[SURE] * 300, *[UNFIT] * 40, *[UNSURE] * 60, *[SURE] * 100]
    found = changes([*documents, *[UNFIT] * (STEP - 1)])  # they are too few to be looked at
    assert found["unsure"] == Change(0.1, 0.5, probability(100, WINDOW, 50, FIRST))
    assert found["none"] == Change(0.0, 0.2, probability(40, WINDOW, 0, FIRST))
    assert all(change.is_alarm for change in found.values())
    assert changes(documents[: FIRST + WINDOW - 1]) == {}


def test_documents_like_the_first_ones_raise_no_alarm() -> None:
    stream = drawn(STREAM, 0.3)
    assert not any(change.is_alarm for end in range(0, STREAM, STEP) for change in changes(stream[:end]).values())


def test_what_the_tagger_does_not_say_is_no_signal() -> None:
    assert list(changes([(True, None)] * (FIRST + WINDOW))) == ["unsure"]
    assert changes([(None, None)] * (FIRST + WINDOW)) == {}


def test_the_probability_of_a_share_is_that_of_all_ways_to_draw_the_documents() -> None:
    documents = "aaab" + "abbbb"  # 3 of the 4 last ones have "a", 1 of the 5 before
    counts = [sum(documents[i] == "a" for i in rows) for rows in combinations(range(9), 4)]
    at_least, at_most = (sum(each) / len(counts) for each in ([n >= 3 for n in counts], [n <= 3 for n in counts]))
    assert probability(3, 4, 1, 5) == pytest.approx(2 * min(at_least, at_most))


def test_a_log_is_read_back_without_the_lines_that_killed_processes_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log.jsonl"
    bees = Suggestion("b", "Bees", 0.3, confidence=0.75)
    log_suggestions(log, "bees 1", [Suggestions([bees], none=0.2), Suggestions([], none=0.9)])
    assert "Bees" not in log.read_text(encoding="utf-8")
    with log.open("a", encoding="utf-8") as file:
        file.write('{"time": "20\n')
    log_suggestions(log, "bees 2", [Suggestions([Suggestion("b", "Bees", 0.3)])])
    with caplog.at_level(logging.WARNING):
        assert read_doubts([log]) == {"bees 1": [(False, False), (True, True)], "bees 2": [(None, None)]}
    assert "1 lines hold no suggestions, and are left out" in caplog.text


def test_run_files_are_logs_and_other_files_are_not(tmp_path: Path) -> None:
    run, other = tmp_path / "run.jsonl", tmp_path / "docs.jsonl"
    run.write_text('{"id": "d1", "suggestions": [{"label": "b", "score": 2, "confidence": 0.4}]}\n', encoding="utf-8")
    other.write_text('{"id": "d1"}\n', encoding="utf-8")
    assert read_doubts([run, run]) == {"": [(True, None)] * 2}
    with pytest.raises(InputError, match="holds no suggestions; expected a log"):
        read_doubts([other])


def test_every_interface_of_the_server_records_what_it_suggests(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees", log=log)])) as client:
        found = client.post("/api/suggest", json=BEES).json()["suggestions"]
        client.post("/v1/projects/bees/suggest", data=BEES)
        client.post("/v1/projects/bees/suggest-batch", json={"documents": [BEES, BEES]})
        client.post("/api/suggest", json={"text": " "})
        client.post("/", data={"text": BEES["text"]}, headers={"Origin": "http://testserver"})
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [record["version"] for record in records] == ["bees"] * 5
    assert [each["label"] for each in records[0]["suggestions"]] == [each["id"] for each in found]


def test_a_log_that_cannot_be_written_costs_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees", log=tmp_path)])) as client:
        assert client.post("/api/suggest", json=BEES).status_code == 200
    assert "cannot be written" in caplog.text
