"""Bodies are bounded by what they hold, wherever they are sent, and are not parsed or checked in the event loop."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.server.conftest import addresses, learn_nothing, word_tagger

from tagwright.review.file import ReviewFile
from tagwright.server import request_bodies
from tagwright.server.application import application
from tagwright.server.problems import Problem
from tagwright.server.request_bodies import FORM, ITEMS, MULTIPART, PARTS, _reading_error, parse_json
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.types import Document

JSON = "application/json"
LIMIT = r"at most [\d,]+( are accepted)?|more than [\d,]+ fields|Maximum number of \w+ is \d+|nested too deep"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[FastAPI]:
    """All addresses, those of a review and of a model that learns among them."""

    file = ReviewFile(tmp_path / "reviews.sqlite")
    model = ServedModel("zero_shot", word_tagger(), "Bees")
    pages = ReviewPages(Review(model, file))
    pages.review.documents.add([Document("d1", "Honey bees")])
    yield application([model], learn=learn_nothing, pages=pages)
    file.close()


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        client.post("/review/enter", data={"name": "Ann"})
        yield client


def posts(app: FastAPI) -> list[str]:
    """Every address that takes a body."""
    names = {"project_id": "zero_shot", "model": "zero_shot", "number": "1"}
    paths = [path for method, path in addresses(app) if method == "POST"]
    return [re.sub(r"{(\w+)}", lambda match: names[match[1]], path) for path in paths]


def many_parts(count: int) -> bytes:
    part = b'--limit\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'
    return part * count + b"--limit--\r\n"


FORMS: Mapping[str, tuple[str, bytes]] = {
    "form of empty fields": (FORM, b"text=bees" + b"&a" * 600_000),
    "sections": (JSON, b'{"sections":[%s{}]}' % (b"{}," * 400_000)),
    "nested lists": (JSON, b'{"text":[%s[]]}' % (b"[]," * 400_000)),
    "keys of metadata": (JSON, b'{"documents":[{"metadata":{%s}}]}' % (b'"k":"b",' * 150_000 + b'"k":"b"')),
    "a long query": (FORM, b'queries={"q":{"query":"%s"}}' % (b"b" * 1_200_000)),
    "values of properties": (
        FORM,
        b'queries={"q":{"query":"b","properties":[{"pid":"notation","v":[%s"1"]}]}}' % (b'"1",' * 300_000),
    ),
    "parts": (f"{MULTIPART}; boundary=limit", many_parts(PARTS + 1)),
    "deep lists": (JSON, b"[" * 3000 + b"]" * 3000),
    "deep objects": (JSON, b'{"text":' * 3000),
}


@pytest.mark.parametrize("name", FORMS)
def test_no_address_parses_more_than_it_admits_and_each_refusal_names_the_limit(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    parsed: list[int] = []
    loads = json.loads

    def counted(text: str, **options: Any) -> Any:
        parsed.append(str(text).count(",") + str(text).count("["))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", counted)
    kind, body = FORMS[name]
    for address in posts(app):
        answer = client.post(address, content=body, headers={"Content-Type": kind})
        assert answer.status_code in (400, 403, 413, 415), address
        takes = answer.status_code != 415
        detail = (
            answer.json()["detail"] if answer.headers["content-type"] == "application/problem+json" else answer.text
        )
        lacks = r"|more than \d+ bytes|is a required property|another session|Paste a text|not a? ?of type"
        named = re.search(LIMIT + lacks, detail)
        assert named or not takes, (address, detail[:300])
    assert max(parsed, default=0) <= ITEMS


def test_the_addresses_that_take_a_kind_of_body_refuse_it_for_its_limit(client: TestClient) -> None:
    expected = {
        "form of empty fields": "The form has more than 25,000 fields; send less at a time",
        "parts": "Too many fields. Maximum number of fields is 100.",
        "sections": "The body has 0 JSON values or more, at most 100,000 are accepted; send less at a time",
        "a long query": "1,200,000 characters, expected at most 10,000 - 'queries.q.query'",
        "values of properties": "The body has 0 JSON values or more, at most 100,000 are accepted; send less at a time",
        "deep lists": "The JSON is nested too deep",
    }  # fmt: skip
    found = {}
    for name in expected:
        kind, body = FORMS[name]
        address = "/api/suggest" if kind == JSON else "/reconcile" if kind == FORM else "/api/files"
        detail = client.post(address, content=body, headers={"Content-Type": kind}).json()["detail"]
        found[name] = re.sub("has [0-9,]+ (?=JSON)", "has 0 ", detail)  # when it was refused
    assert found == expected


@pytest.mark.slow
def test_20_mb_of_honest_text_are_accepted(client: TestClient) -> None:
    """The documented limits: 20 MB in a request, 5 MB of text in a document."""
    text = 'She said: "Honey bees, [sic], fly in {spirals}", \\ and nothing else. ' * 20_000
    for content in (
        {"content": json.dumps({"documents": [{"text": text}] * 13}), "headers": {"Content-Type": JSON}},
        {
            "content": json.dumps({"documents": [{"text": text}] * 6}).encode("utf-16"),
            "headers": {"Content-Type": JSON},
        },
    ):
        assert 15_000_000 < len(content["content"]) < 20 * 1024 * 1024
        answer = client.post("/v1/projects/zero_shot/suggest-batch", **content)
        assert answer.status_code == 200, answer.json()["detail"][:300]
        assert answer.json()[5]["results"]
    escaped = urlencode({"text": "蜜蜂は花を訪れます。" * 160_000})
    answer = client.post("/v1/projects/zero_shot/suggest", content=escaped, headers={"Content-Type": FORM})
    assert answer.status_code == 200


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32-le"])
def test_values_are_counted_in_every_encoding(encoding: str) -> None:
    """A sign whose halves are a quote and a comma hides nothing."""
    body = '["\u2c22\u0122",' + "[0]," * ITEMS + "0]"
    with pytest.raises(Problem, match=LIMIT):
        parse_json(body.encode(encoding))


def test_what_is_within_texts_is_no_value() -> None:
    inside = ',[{"' * ITEMS
    assert parse_json(json.dumps([inside, "\\", inside + "\\"]).encode()) == [inside, "\\", inside + "\\"]
    assert parse_json(b"[" + b"0," * (ITEMS - 3) + b"0]")[-1] == 0
    for body in (b"[" + b"0," * ITEMS + b"0]", b'["' + b'","' * 3 * ITEMS + b'"]', b"[" * 3000):
        with pytest.raises(Problem, match=LIMIT):
            parse_json(body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
)


@given(json_values)
def test_json_is_read_as_python_reads_it_and_no_more_values_than_are_accepted(value: Any) -> None:
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    assert parse_json(body) == value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request_bodies, "ITEMS", max(0, _held(value) - 1))
        if body.count(b"[]") + body.count(b"{}") == 0 and _held(value):
            with pytest.raises(Problem, match="JSON values or more"):
                parse_json(body)


def _held(value: Any) -> int:
    """How many values there are within this one."""
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(1 + _held(each) for each in within)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("/p/x: byte 0xe4 is not UTF-8; --encoding cp1252 reads it", "byte 0xe4 is not UTF-8"),
        ("/p/x:3: is too large; to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE", "is too large"),
        ("/p/x: is not in MARC-8; export it as UTF-8, or name its encoding: --encoding cp1251",
         "is not in MARC-8; export it as UTF-8"),
        ("/p/x: has no recognisable format; name it: --input-format, one of text, csv", "has no recognisable format"),
        ("/p/x: the first line is a, expected b; or say which they are: --columns title=Name,text=Body",
         "the first line is a, expected b"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_upload_is_said_without_options_of_the_command_line(said: str, problem: str) -> None:
    assert _reading_error(f"tagwright: {said}", Path("/p/x"), "x").problem == problem
