"""A short attack: what `python -m tools.attack` tries a hundred thousand times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import reviewing
from tools.attack import fuzz

from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import Refitter
from tagwright.types import Document

TOKEN = "a long enough token"


@pytest.mark.slow
@pytest.mark.parametrize("part", [fuzz.with_access, fuzz.without_token])
def test_damaged_requests_are_answered_or_refused(tmp_path: Path, part: fuzz.Attack) -> None:
    tally, tracebacks = part(tmp_path, range(150))
    assert tally.answers.total() == 150
    assert tally.lost == []
    assert tracebacks == {}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("review")
    review = reviewing(folder, Document("d1", "Xanthoparmelia"))
    pages = ReviewPages(review, Access.of(TOKEN), Refitter(review, lambda tagger, *_: tagger, folder / "versions"))
    app = application([review.model], access=Access.of(TOKEN), pages=pages)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client
    review.file.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Cookie": "tagwright_session=WyIxIiwgIkFubiJd.0"},
        {"Cookie": f"tagwright_session={TOKEN}"},
        {"X-Forwarded-For": "127.0.0.1", "X-Original-URL": "/health", "X-HTTP-Method-Override": "GET"},
    ],
)
def test_nothing_but_the_token_lets_anybody_in(client: TestClient, headers: dict[str, str]) -> None:
    for path in ("/v1/projects", "/api/models", "/metrics"):
        assert client.get(path, headers=headers).status_code == 401
    for path in ("/review", "/review/overview", "/review/documents/1"):
        answer = client.get(path, headers=headers, follow_redirects=False)
        assert answer.headers["location"] == "/review/enter"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "//v1/projects",
            "/v1//projects",
            "/review/../v1/projects",
            "/static/../v1/projects",
            "/health/../api/models",
        ),
        *("/review/%2e%2e/api/models", "/static/%2e%2e/templates/page.html", "/static/..%2ftemplates/page.html"),
        *("/static//etc/passwd", "/static/../../tagger.py", "/V1/projects", "/api/models/", "/review/../metrics"),
    ],
)
def test_no_way_of_writing_an_address_lets_anybody_in(client: TestClient, path: str) -> None:
    scope_path = client.build_request("GET", "http://testserver").url.copy_with(raw_path=path.encode())
    answer = client.get(scope_path, follow_redirects=False)
    assert answer.status_code in (303, 401, 404)
