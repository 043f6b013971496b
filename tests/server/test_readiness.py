"""A server is alive as soon as it listens, and ready once its models answer and until it is told to end."""

from __future__ import annotations

import signal
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from urllib.error import HTTPError

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger
from tests.server.test_serving import LONGEST, serving

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.application import application
from tagwright.server.label_search import LabelSearch, kept_index
from tagwright.server.predictor import SuggestRequest
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Suggestions


def until_ready(client: TestClient) -> None:
    end = time.monotonic() + LONGEST
    while client.get("/ready").status_code != 200:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_server_is_ready_when_every_model_has_answered_and_can_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [ServedModel("bees", word_tagger(), "Bees"), ServedModel("more", word_tagger(), "More")]
    answers, searches = threading.Event(), threading.Event()
    predict = models[1]._predict

    def slowly(wanted: Sequence[SuggestRequest]) -> list[Suggestions]:
        assert answers.wait(LONGEST)
        return predict(wanted)

    models[1]._predict = slowly

    def indexed(vocabulary: Vocabulary) -> LabelSearch:
        assert searches.wait(LONGEST)
        return kept_index(vocabulary)

    monkeypatch.setattr("tagwright.server.served_model.kept_index", indexed)
    with TestClient(application(models)) as client:
        refused = client.get("/ready")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert refused.json()["detail"] == "The models are being loaded"
        assert client.get("/health").json() == {"status": "ok"}
        answers.set()
        assert client.get("/ready").status_code == 503
        searches.set()
        until_ready(client)
        assert client.get("/ready").json() == {"status": "ready"}


def test_a_model_that_cannot_answer_leaves_the_server_alive_and_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: object) -> list[Suggestions]:
        raise ValueError("broken")

    model = ServedModel("bees", word_tagger(), "Bees")
    model._predict = fail
    with TestClient(application([model])) as client:
        end = time.monotonic() + LONGEST
        while "bees: does not answer; the server is not ready" not in caplog.text:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == 200


def test_a_server_that_is_told_to_end_is_not_ready_but_answers_for_a_while(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain", "10000") as (process, address):

        def status(path: str) -> int:
            try:
                with urllib.request.urlopen(f"{address}{path}", timeout=LONGEST) as answer:
                    return int(answer.status)
            except HTTPError as error:
                return error.code

        def wait(wanted: int) -> None:
            end = time.monotonic() + LONGEST
            while status("/ready") != wanted:
                assert time.monotonic() < end
                time.sleep(0.05)

        wait(200)
        process.send_signal(signal.SIGTERM)
        wait(503)
        assert (status("/health"), status("/api/models")) == (200, 200)
        process.send_signal(signal.SIGTERM)  # a second time: at once
        assert process.wait(LONGEST) in (0, -signal.SIGTERM)


def test_a_first_answer_may_take_longer_than_a_request_may_wait() -> None:
    model = ServedModel("bees", word_tagger(), "Bees")
    predict, slow = model._predict, [0.3]

    def slowly(wanted: Sequence[SuggestRequest]) -> list[Suggestions]:
        time.sleep(slow.pop() if slow else 0.0)
        return predict(wanted)

    model._predict, model.seconds = slowly, 0.1
    with TestClient(application([model])) as client:
        until_ready(client)
