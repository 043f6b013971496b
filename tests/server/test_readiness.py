"""A server is alive as soon as it listens, and ready once its models answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger
from tests.server.test_serving import LONGEST

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


def test_a_first_answer_may_take_longer_than_a_request_may_wait() -> None:
    model = ServedModel("bees", word_tagger(), "Bees")
    predict, slow = model._predict, [0.3]

    def slowly(wanted: Sequence[SuggestRequest]) -> list[Suggestions]:
        time.sleep(slow.pop() if slow else 0.0)
        return predict(wanted)

    model._predict, model.seconds = slowly, 0.1
    with TestClient(application([model])) as client:
        until_ready(client)
