from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient
from tests.server.conftest import BEES, reviewing, word_tagger

from tagwright.review.file import StorageError
from tagwright.server.application import application
from tagwright.server.options import ServerOptions
from tagwright.server.review.page import ReviewPages
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import own_names


def test_the_address_of_annifs_own_page_leads_to_ours() -> None:
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")])) as client:
        page = client.get("/").text
        assert '"/review"' not in page  # there is none
        assert str(client.get("/v1/ui/").url).endswith("/")
        assert client.get("/v1/ui").text == page


def test_what_a_client_sends_to_a_full_disk_is_not_stored() -> None:
    async def learn(*_: object) -> None:
        raise StorageError("database or disk is full", "reviews.sqlite")

    models = [ServedModel("bees", word_tagger(), "Bees")]
    with TestClient(application(models, learn=learn)) as client:
        answer = client.post("/v1/projects/bees/learn", json=[{"text": "Bees"}])
    assert (answer.status_code, answer.headers["content-type"]) == (507, "application/problem+json")
    assert answer.json()["title"] == "Not stored"
    assert "database or disk is full" in answer.json()["detail"]
    assert "reviews.sqlite" not in answer.text


def test_every_answer_forbids_scripts_of_others(client: TestClient) -> None:
    for address in ("/v1/projects", "/nowhere", "/health"):
        headers = client.get(address).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"


def test_no_redirect_leads_to_the_host_that_a_client_names(tmp_path: Path) -> None:
    """Every address, with a slash more and less, as somebody who is not logged in and as somebody who is."""
    review = reviewing(tmp_path, BEES)
    app = application([review.model], pages=ReviewPages(review))
    paths = [re.sub(r"{\w+}", "1", route.path) for route in app.routes if isinstance(route, Route | Mount)]
    found = dict[str, str]()
    with TestClient(app, headers={"Host": "evil.org"}, follow_redirects=False) as client:
        for _ in range(2):
            for path in {form for each in paths for form in (each, f"{each}/", each.rstrip("/"), f"//evil.org{each}")}:
                answer = client.get(f"http://testserver{path}")
                if location := answer.headers.get("location"):
                    assert 300 < answer.status_code < 400
                    found[path] = location
            origin = {"Origin": "http://evil.org"}
            assert client.post("/review/enter", data={"name": "Ann"}, headers=origin).headers["location"] == "/review"
    review.file.close()
    assert {"/review", "/review/", "/v1", "/v1/ui", "/v1/ui/"} <= set(found)
    assert [each for each in found.values() if not re.match(r"/(?!/)", each)] == []


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8765", 200), ("127.0.0.1", 200), ("[::1]:8765", 200), ("evil.org", 421), ("localhost.evil.org", 421),
     ("", 421)],
)  # fmt: skip
def test_a_server_for_this_machine_answers_under_no_other_name(host: str, status: int) -> None:
    hosts = own_names(ServerOptions())
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")], hosts=hosts)) as client:
        assert client.get("/health", headers={"Host": host}).status_code == status
    assert own_names(ServerOptions(token="a long enough token")) is None
