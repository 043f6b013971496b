"""What one client sends to any address costs others no more than its turn: a few bytes are never much work."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.testclient import TestClient
from starlette.types import Message
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.server.conftest import reviewing, word_tagger

from tagwright.data.vocabulary import Vocabulary
from tagwright.review.events import Decision
from tagwright.server import reconciliation, request_bodies
from tagwright.server.application import application
from tagwright.server.request_bodies import ITEMS
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.types import Document, Label

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."

RECORD = utf8(marc_record([("001", "m1"), ("245", ("00", "aHoney bees"))]))


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    review = reviewing(tmp_path, Document("m1", "Honey bees"))
    review.decisions.add_all([Decision(document="m1", reviewer="Ann", action="accept", label="o"),
                              Decision(document="m1", reviewer="Ann", action="done")])  # fmt: skip
    yield review
    review.file.close()


@pytest.fixture
def app(review: Review) -> Starlette:
    """All addresses."""
    return application([review.model], pages=ReviewPages(review), tools=True)


@pytest.fixture
def client(app: Starlette) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        client.post("/review/enter", data={"name": "Ann"})
        yield client


def enrich(client: TestClient, content: bytes, name: str = "in.mrc") -> Any:
    """Send a file to be enriched; the answer."""
    page = client.get("/review/overview").text
    found = re.search(r'name="csrf" value="(\w+)"', page)
    assert found
    form = {"csrf": found[1], "source": "zoo", "agency": ""}
    return client.post("/review/enrich", data=form, files={"records": (name, content)})


def test_records_are_enriched_by_a_process_of_their_own(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("read in the server")

    monkeypatch.setattr("tagwright.catalogues.copies.read_records", fail)
    monkeypatch.setattr("tagwright.api.enriching.read_records", fail)
    for content in (RECORD, gzip.compress(RECORD)):
        answer = enrich(client, content)
        assert answer.headers["content-type"] == "application/marc", answer.text[-3000:]
        assert b"Orchards" in answer.content


@pytest.mark.parametrize("address", ["/review/enrich", "/review/upload", "/api/files"])
def test_a_file_that_unpacks_to_too_much_is_refused_at_every_address(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(request_bodies, "UNPACKED", 100_000)
    content = gzip.compress(RECORD * 2000)
    assert len(content) < 3000
    problem = "in.mrc.gz: unpacks to more than 100,000 bytes; send its parts"
    if address == "/review/enrich":
        assert problem in enrich(client, content, "in.mrc.gz").text
    elif address == "/api/files":
        answer = client.post(address, files={"file": ("in.mrc.gz", content)})
        assert (answer.status_code, answer.json()["detail"]) == (422, problem)
    else:
        csrf = re.search(r'name="csrf" value="(\w+)"', client.get("/review/overview").text)
        assert csrf
        files = {"files": ("in.mrc.gz", content)}
        assert problem in client.post(address, data={"csrf": csrf[1]}, files=files).text


def test_many_records_that_cannot_be_read_are_one_line_of_the_log(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert enrich(client, gzip.compress(RECORD + b"x\x1d" * 5000)).content.endswith(b"x\x1d" * 5000)
    said = [record.getMessage() for record in caplog.records if "in.mrc" in record.getMessage()]
    assert len(said) == 1
    assert re.match(r"(tagwright: )?in\.mrc:2: is copied without suggestions: it is a damaged MARC record", said[0])
    assert said[0].endswith("(and 4,999 other records)")


def test_labels_are_saved_once_for_all_records(
    client: TestClient, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, save = list[Vocabulary](), Vocabulary.save

    def noted(vocabulary: Vocabulary, folder: Path) -> None:
        saved.append(vocabulary)
        save(vocabulary, folder)

    monkeypatch.setattr(Vocabulary, "save", noted)
    for _ in range(2):
        assert b"Orchards" in enrich(client, RECORD).content
    review.model.swap(word_tagger().with_labels([Label("o", ("Groves",))]), datetime.now(UTC))
    assert b"Groves" in enrich(client, RECORD).content
    assert len(saved) == 2


def test_a_value_of_a_query_is_resolved_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved, resolve = Counter[str](), Vocabulary.resolve

    def counted(vocabulary: Vocabulary, value: str) -> int | None:
        resolved[value] += 1
        return resolve(vocabulary, value)

    monkeypatch.setattr(Vocabulary, "resolve", counted)
    values = [f"value {number}" for number in range(1000)]
    queries = {
        f"q{number}": {"query": "Bees", "limit": 100, "properties": [{"pid": "broader", "v": values}]}
        for number in range(5)
    }
    answer = client.post("/reconcile", data={"queries": json.dumps(queries)})
    assert [len(each["result"]) > 0 for each in answer.json().values()] == [True] * 5
    assert resolved == Counter(values)


def test_queries_of_a_client_that_has_left_are_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = list[str]()

    def noted(_: ServedModel, query: reconciliation.Query, *__: object) -> list[Any]:
        computed.append(query.query)
        return []

    monkeypatch.setattr(reconciliation, "_candidates", noted)
    model, left = ServedModel("bees", word_tagger(), "Bees"), asyncio.Event

    async def test() -> None:
        gone = left()

        async def receive() -> Message:
            if len(computed) < 2:
                await gone.wait()
            return {"type": "http.disconnect"}

        request = Request({"type": "http"}, receive)
        queries = {str(number): reconciliation._query("q", {"query": "Bees"}) for number in range(5)}
        await model.start()
        with pytest.raises(ClientDisconnect):
            await reconciliation._answered(request, model, queries)
        await model.stop()

    asyncio.run(test())
    assert computed == ["Bees", "Bees"]


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


def called(client: TestClient, arguments: object) -> Any:
    sent = {**CALL, "params": {"name": "suggest", "arguments": arguments}}
    return client.post("/mcp", json=sent, headers=HEADERS)


def test_messages_to_tools_are_bounded_as_those_to_the_interface(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed, parse = list[int](), json.loads
    pydantic_core = pytest.importorskip("pydantic_core")
    from_json = pydantic_core.from_json

    def noted(body: Any, *given: Any, **options: Any) -> Any:
        parsed.append(len(body))
        return from_json(body, *given, **options)

    monkeypatch.setattr(pydantic_core, "from_json", noted)
    answer = called(client, {"text": "Bees", "only": ["x"] * ITEMS})
    assert (answer.status_code, "at most 100,000 are accepted" in answer.json()["detail"]) == (413, True)
    text = "Honey bees. " * 400_000  # 4.8 MB: of the 5 MB that a document may have
    answer = called(client, {"text": text})
    assert [each["id"] for each in answer.json()["result"]["structuredContent"]["suggestions"]][:1] == [
        "http://x.org/bee"
    ]
    answer = called(client, {"text": text * 2})
    assert "at most 5,000,000 are accepted" in answer.json()["result"]["content"][0]["text"]
    assert max(parsed) < 10_000  # what the library parses in the event loop
    assert parse is json.loads


def test_an_application_may_be_started_again(app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.server.served_model.LONG", 20)
    for _ in range(2):
        with TestClient(app) as client:
            for text in ("Honey bees", "Honey bees and other bees"):
                assert client.post("/api/suggest", json={"text": text}).status_code == 200


def test_the_overview_of_texts_that_stand_as_titles_stays_small(client: TestClient, review: Review) -> None:
    review.documents.add([Document("long", "Honey bees " * 100_000 + "end")])
    page = client.get("/review/overview").text
    assert "Honey bees Honey bees" in page
    assert len(page) < 50_000
    assert ">Honey bees Honey bees" in client.get("/review/overview?q=bees+end").text
