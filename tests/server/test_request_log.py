"""Every request has an id; the log says how it was answered, and never what was in it."""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from tests.server.browsing import served
from tests.server.conftest import reviewing, word_tagger
from tests.server.test_access import BY_SESSION, BY_TOKEN

from tagwright.combining.pool import CandidatePool
from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.logs import write_logs
from tagwright.server.options import LogFormat
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.types import Document

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."

TOKEN = "a long enough token"


@pytest.fixture
def client() -> Iterator[TestClient]:
    app = application([ServedModel("bees", word_tagger(), "Bees")], max_body=4000)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("given", ["a", "req-17/{e}", "x" * 64])
def test_a_short_printable_id_of_the_client_is_kept(client: TestClient, given: str) -> None:
    assert client.get("/health", headers={"X-Request-ID": given}).headers["X-Request-ID"] == given


@pytest.mark.parametrize("given", [None, "", "x" * 65, "two words", "tab\tbed", "h\xf6flich"])
def test_any_other_id_is_replaced(client: TestClient, given: str | None) -> None:
    headers = {} if given is None else {b"X-Request-ID": given.encode("latin-1")}
    found = [client.get("/health", headers=headers).headers["X-Request-ID"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in found)
    assert found[0] != found[1]


def test_every_answer_and_every_problem_has_the_id(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"X-Request-ID": "r1"}
    monkeypatch.setattr("tagwright.server.annif._project", lambda _: 1 / 0)
    for answer, status in (
        (client.get("/nowhere", headers=headers), 404),
        (client.post("/api/suggest", content="{", headers=headers), 400),
        (client.post("/api/suggest", json={"text": "x", "model": "none"}, headers=headers), 404),
        (client.get("/v1/projects", headers=headers), 500),
    ):
        assert (answer.status_code, answer.headers["X-Request-ID"]) == (status, "r1")
        of_annif = answer.request.url.path.startswith("/v1")  # its problems have four fields
        assert answer.json().get("request_id") == (None if of_annif else "r1")
    too_large = client.post("/api/suggest", content=b" " * 5000, headers=headers)
    assert (too_large.status_code, too_large.headers["X-Request-ID"]) == (413, "r1")
    assert too_large.json()["request_id"] == "r1"
    closed = application([ServedModel("bees", word_tagger(), "Bees")], access=Access.of(TOKEN))
    with TestClient(closed) as other:
        refused = other.get("/api/models", headers=headers)
    assert (refused.status_code, refused.json()["request_id"]) == (401, "r1")
    assert refused.headers["content-security-policy"].startswith("default-src 'self'")


def test_a_line_of_json_says_how_a_request_was_answered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"{TOKEN.replace(' ', '-')} suggest Catalogue\n")
    app = application([ServedModel("bees", word_tagger(), "Bees")], access=Access.of(file=tmp_path / "tokens"))
    headers = {"Authorization": f"Bearer {TOKEN.replace(' ', '-')}", "X-Request-ID": "r1"}
    with write_logs("json"), TestClient(app) as client:
        batch = {"documents": [{"text": "Bees"}, {"text": "tax law, bees"}]}
        client.post("/v1/projects/bees/suggest-batch", json=batch, headers=headers)
        client.get("/api/models?q=secret", headers={"X-Request-ID": "r2"})
    output = capsys.readouterr().err
    assert TOKEN.replace(" ", "-") not in output
    first, second = (each for each in lines(output) if each["message"] == "answered")
    assert first.pop("ms") >= 0
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", first.pop("time"))
    assert first == {
        "level": "info", "request": "r1", "message": "answered", "method": "POST",
        "path": "/v1/projects/{project_id}/suggest-batch", "status": 200, "user": "", "token": "Catalogue",
        "model": "bees", "version": "bees", "documents": 2, "suggestions": 3,
    }  # fmt: skip
    assert (second["request"], second["status"], second["token"]) == ("r2", 401, "")


def test_text_has_a_line_for_failures_only_and_no_message_of_an_exception(
    client: TestClient, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        try:
            raise KeyError("secret cause")
        except KeyError as cause:
            raise ValueError("secret words") from cause

    monkeypatch.setattr("tagwright.server.annif._project", fail)
    with write_logs("text"):
        client.get("/health")
        client.get("/v1/projects", headers={"X-Request-ID": "r1"})
    output = capsys.readouterr().err
    assert output.startswith("the request could not be answered\nTraceback (most recent call last):\n")
    assert output.endswith("\nbuiltins.ValueError [request r1]\n")
    assert "\nbuiltins.KeyError\n" in output
    assert "in list_projects\n" in output
    assert "secret" not in output.replace('raise KeyError("secret cause")', "").replace(
        'raise ValueError("secret words")', ""
    )  # what the code itself says


def test_logging_is_as_before_when_the_server_has_ended() -> None:
    before = [*logging.getLogger().handlers]
    with write_logs("json"):
        assert logging.getLogger("tagwright.server.logs.answered").isEnabledFor(logging.INFO)
    assert logging.getLogger().handlers == before
    assert not logging.getLogger("tagwright.server.logs.answered").isEnabledFor(logging.INFO)


WORD = "Xanthoparmelia"
"Stands in every document, search and name of a file that is sent, and in no label."


def say_everywhere(address: str) -> int:
    """Send the word in every way to every address. Returns the number of requests."""
    sent, query = 0, {"queries": json.dumps({"q": {"query": WORD}})}
    names = dict.fromkeys(("q", "text", "prefix", "id", "only", "language"), WORD)
    form, document = {"text": f"{WORD} bees"}, {"title": WORD, "text": f"{WORD} bees"}
    with httpx.Client(base_url=address, timeout=LONGEST, follow_redirects=True) as client:
        client.post("/review/enter", data={"name": "Ann"})
        csrf = re.search(r'name="csrf" value="(\w+)"', client.get("/review/overview").text)
        assert csrf
        fields = {"csrf": csrf[1], "action": "note", "note": WORD, **form}
        for method, pattern in {**BY_TOKEN, **BY_SESSION}:
            paths = {re.sub(r"{(project_id|model)}", model, pattern) for model in ("bees", WORD)}
            for path in (each.replace("{number}", "1") for each in sorted(paths)):
                given: list[dict[str, Any]] = [{}, {"params": names}, {"params": query}]
                if method == "POST":
                    given += [
                        {"data": form}, {"data": query}, {"data": fields}, {"data": {"text": f"{WORD} crash"}},
                        {"json": document}, {"json": {**document, "model": WORD}}, {"json": {WORD: WORD}},
                        {"json": {"text": f"{WORD} crash"}}, {"json": {"documents": [document, {"text": WORD}]}},
                        {"json": [{"text": WORD, "subjects": [{"uri": WORD}]}]},
                        {"json": {"documents": [{"text": f"{WORD} crash"}]}},
                        {"content": f'{{"text": "{WORD}', "headers": {"Content-Type": "application/json"}},
                        {"content": WORD, "headers": {"Content-Type": f"text/{WORD}"}},
                        {"files": {"file": (f"{WORD}.txt", WORD)}, "data": fields},
                        {"files": {"file": (f"{WORD}.pdf", WORD)}, "data": fields},
                        {"files": {"files": (f"{WORD}.jsonl", f'{{"{WORD}')}, "data": fields},
                    ]  # fmt: skip
                for each in given:
                    client.request(method, path, **each)
                    sent += 1
    host, port = address.removeprefix("http://").split(":")
    for raw in (
        f"POST /api/suggest HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 99999999\r\n\r\n{WORD}",
        f"POST /{WORD} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n{WORD}\r\n",
        f"GET /{WORD}?{WORD} HTTP/1.1\r\n{WORD}\r\n\r\n",
        f"{WORD}\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=LONGEST) as connection:
            connection.sendall(raw.encode())
            while connection.recv(65536):
                pass
    return sent


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json"])
def test_nothing_of_a_document_or_search_is_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: LogFormat
) -> None:
    """Some documents let a stage fail, whose error quotes them."""
    whole = Tagger.candidates

    def candidates(tagger: Tagger, documents: Sequence[Document]) -> CandidatePool:
        for each in documents:
            if "crash" in each.text:
                raise ValueError(each.text)
        return whole(tagger, documents)

    monkeypatch.setattr(Tagger, "candidates", candidates)
    review = reviewing(tmp_path, Document(WORD, WORD, f"{WORD} and bees"))
    with write_logs(form), served(review, lambda tagger, *_: tagger) as address:
        sent = say_everywhere(address)
    assert sent > 300
    text = capsys.readouterr().err
    assert WORD.lower() not in text.lower()
    assert "builtins.ValueError" in text  # the crash is there, without its message
    if form == "json":
        answered = [each for each in lines(text) if each["message"] == "answered"]
        assert len(answered) > sent
        assert {each["status"] for each in answered} >= {200, 400, 404, 413, 415, 422, 500}
