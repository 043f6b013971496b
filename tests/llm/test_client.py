"""A language model is asked within its budget, its answers are kept, and whatever it does is no error."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from tests.llm.stub import Answer, Stub, serving

from tagwright.errors import ConfigError
from tagwright.llm.client import Client, Request, client
from tagwright.llm.options import LlmOptions, instructions

SECRET = "the secret text of the document"


def requests(number: int) -> list[Request]:
    return [Request("Say it.", {"number": each, "document": SECRET}, {"type": "object"}) for each in range(number)]


def ask(stub: Stub, number: int, **options: Any) -> tuple[list[str | None], Client]:
    """The answers to so many requests, and the client."""
    asking = Client(stub.address, "", LlmOptions(model=stub.model, **options), delay=0.0)
    return asking.ask(requests(number), lambda text, _: text or None, "stay"), asking


def number(message: dict[str, Any]) -> str:
    return str(message["number"])


def failing(status: int, times: int) -> Answer:
    """A server that fails so many times before it answers."""
    left = [status] * times

    def answer(message: dict[str, Any]) -> str | int:
        return left.pop() if left else number(message)

    return answer


def test_answers_come_in_the_order_of_the_requests_and_are_counted() -> None:
    with serving(number) as stub:
        answers, asking = ask(stub, 30)
        assert answers == [str(each) for each in range(30)]
        assert asking.calls == len(stub.bodies) == 30


def test_the_same_request_is_sent_once_and_not_again() -> None:
    with serving(number) as stub:
        twice = Client(stub.address, "", LlmOptions(model=stub.model))
        assert twice.ask([*requests(2), *requests(2)], lambda text, _: text, "stay") == ["0", "1", "0", "1"]
        assert ask(stub, 3)[0] == ["0", "1", "2"]
        assert sorted(each["number"] for each in stub.asked) == [0, 1, 2]


def test_documents_are_not_kept_where_the_user_does_not_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE_DOCUMENTS", "no")
    with serving(number) as stub:
        assert ask(stub, 1)[0] == ask(stub, 1)[0] == ["0"]
        assert len(stub.bodies) == 2


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(status: int) -> None:
    with serving(failing(status, 2)) as stub:
        answers, asking = ask(stub, 1)
        assert answers == ["0"]
        assert asking.calls == len(stub.bodies) == 3


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (404, 1), (302, 1), (500, 3)])
def test_errors_are_a_warning_with_a_count(status: int, calls: int, caplog: pytest.LogCaptureFixture) -> None:
    with serving(lambda _: status) as stub:
        answers, _ = ask(stub, 1)
        assert answers == [None]
        assert len(stub.bodies) == calls  # a redirect is not followed
    assert caplog.messages == [
        f"the language model answered nothing for 1 of 1, which stay ({stub.address} answered {status})"
    ]


def test_after_five_failures_the_server_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    with serving(lambda _: 500) as stub:
        answers, asking = ask(stub, 50, retries=0, parallel=1)
        assert answers == [None] * 50
        assert asking.calls == len(stub.bodies) == 5
    assert "for 50 of 50" in caplog.text
    assert "the server failed repeatedly" in caplog.text


@pytest.mark.parametrize("key", ["clé", "a\nb"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_LLM", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TAGWRIGHT_LLM_KEY", key)
    with pytest.raises(ConfigError, match="TAGWRIGHT_LLM_KEY holds") as raised:
        client(LlmOptions(model="any"))
    assert key not in str(raised.value)


def test_a_refusal_is_no_answer_and_is_asked_for_again_another_time(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[str | None] = ["yes", None]
    with serving(lambda _: answers.pop()) as stub:
        assert (ask(stub, 1)[0], ask(stub, 1)[0], ask(stub, 1)[0]) == ([None], ["yes"], ["yes"])
        assert len(stub.bodies) == 2
    assert "no valid answer" in caplog.text


def test_a_slow_server_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    def wait(_: dict[str, Any]) -> str:
        stub.stopping.wait(60)
        return "late"

    with serving(wait) as stub:
        assert ask(stub, 3, timeout=0.05, retries=0)[0] == [None] * 3
    assert "no answer within 0.05 s" in caplog.text


def test_a_budget_of_calls_stops_it(caplog: pytest.LogCaptureFixture) -> None:
    with serving(number) as stub:
        answers, _ = ask(stub, 10, parallel=1, calls=3)
        assert len(stub.bodies) == 3
        assert [each for each in answers if each is not None] == ["0", "1", "2"]
    assert "for 7 of 10" in caplog.text
    assert "the budget of calls is used up" in caplog.text


def decide(number: int) -> list[Request]:
    content = {"document": SECRET}
    return [Request("", {**content, "number": each}, {}, questions={"1": "Bees?"}) for each in range(number)]


def test_decisions_are_kept_and_counted_within_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    def decided(number: int) -> str:
        return json.dumps({"1": {"noul": number / 10}})

    with serving(lambda message: decided(message["state"]["number"])) as stub:
        asking = Client(stub.address, "", LlmOptions(model=stub.model, response="systemone", calls=3), delay=0.0)
        answers = asking.ask(decide(3), lambda text, _: text, "stay")
        assert answers == list(map(decided, range(3)))
        assert asking.ask(decide(3), lambda text, _: text, "stay") == answers
        assert (asking.calls, len(stub.bodies)) == (3, 3)
        assert asking.ask(decide(4), lambda text, _: text, "stay")[3] is None
    assert "the budget of calls is used up: llm.calls=3" in caplog.text


NO_ANSWERS = [b"", b"<html>", b"[1]", b'{"choices": []}', b'{"choices": [{"message": {"content": 3}}]}', b"[" * 100_000]


@pytest.mark.parametrize("body", NO_ANSWERS)
def test_what_is_no_answer_of_its_kind_is_none(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with serving(lambda _: body) as stub:
        assert ask(stub, 1)[0] == [None]
        asking = Client(stub.address, "", LlmOptions(model=stub.model, response="systemone"), delay=0.0)
        assert asking.ask(decide(1), lambda text, _: text, "stay") == [None]
    assert "an answer is no chat completion" in caplog.text
    assert "an answer holds no decisions" in caplog.text


def test_what_many_calls_cost_is_said_before_and_after(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tagwright")
    with serving(number) as stub:
        ask(stub, 25)
    before, after = (each.message for each in caplog.records if each.name == "tagwright")
    assert before.startswith("language model: 25 calls, about ")
    assert after.startswith("language model: 25 calls, ")


def test_no_text_of_a_document_is_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG, "tagwright")
    for answer in (500, None, b"<html>" + SECRET.encode()):
        with serving(lambda _, answer=answer: answer) as stub:  # type: ignore[misc]
            ask(stub, 25, retries=0)
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize(
    "address",
    ["", "file:///etc/passwd", "ftp://host/v1", "localhost:8080", "http://", "http://me:pass@host/v1", "http://h:x/"],
)
def test_only_addresses_of_http_are_accepted(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_LLM", address)
    with pytest.raises(ConfigError, match="http://127") as raised:
        client(LlmOptions(model="any"))
    assert "pass@" not in str(raised.value)


@pytest.fixture(name="folder")
def folder_of_instructions(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("prompts")
    (folder / "ranking.txt").write_text("Rank them.\n", encoding="utf-8")
    return str(folder)


def test_instructions_can_be_changed(folder: str) -> None:
    assert instructions("ranking", LlmOptions(prompts=folder)) == "Rank them."
    assert instructions("ranking", LlmOptions()).startswith("You index documents")
    with pytest.raises(ConfigError, match=r"keywords\.txt: cannot be read"):
        instructions("keywords", LlmOptions(prompts=folder))
