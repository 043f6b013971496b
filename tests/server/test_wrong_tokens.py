"""Wrong tokens are counted by address, and too many are answered with 429."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright.review.file import ReviewFile
from tagwright.server.access import Access, WrongTokens
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.session import Review
from tagwright.server.served_model import ServedModel

TOKEN = "a long enough token"


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(clock: Clock, tmp_path: Path) -> Iterator[TestClient]:
    review = Review(ServedModel("bees", word_tagger(), "Bees"), ReviewFile(tmp_path / "reviews.sqlite"))
    access = replace(Access.of(TOKEN), wrong=WrongTokens(most=3, seconds=60, clock=clock))
    app = application([review.model], access=access, pages=ReviewPages(review, access))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def ask(client: TestClient, token: str | None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return client.get("/v1/projects", headers=headers).status_code


def enter(client: TestClient, token: str) -> int:
    return client.post("/review/enter", data={"token": token, "name": "Ann"}, follow_redirects=False).status_code


def test_after_some_wrong_tokens_no_token_is_tried_until_a_minute_is_over(client: TestClient, clock: Clock) -> None:
    assert [ask(client, f"wrong {number}") for number in range(3)] == [401] * 3
    clock.seconds += 20.5
    answer = client.get("/v1/projects", headers={"Authorization": "Bearer wrong"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "40")  # 39.5 seconds are left
    assert answer.headers["content-type"] == "application/problem+json"
    assert ask(client, TOKEN) == 429  # or else a guess that is right would still be seen
    clock.seconds += 39.5
    assert ask(client, TOKEN) == 200
    assert ask(client, "wrong") == 401


def test_wrong_tokens_on_the_page_count_as_well(client: TestClient) -> None:
    assert [enter(client, "wrong"), ask(client, "wrong"), enter(client, "wrong")] == [403, 401, 403]
    answer = client.post("/review/enter", data={"token": TOKEN, "name": "Ann"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
    assert 'role="alert"' in answer.text
    assert ask(client, TOKEN) == 429


def test_what_needs_no_token_and_open_sessions_go_on(client: TestClient) -> None:
    assert enter(client, TOKEN) == 303
    assert [ask(client, "wrong") for _ in range(4)] == [401, 401, 401, 429]
    for address in ("/health", "/", "/review/overview", "/review/enter"):
        assert client.get(address, headers={"Authorization": "Bearer wrong"}).status_code == 200
    assert ask(client, None) == 401


def test_requests_without_a_token_and_right_ones_are_not_counted(client: TestClient) -> None:
    for token, status in ((None, 401), (TOKEN, 200), ("", 401)):
        assert [ask(client, token) for _ in range(5)] == [status] * 5


def test_addresses_are_counted_apart_and_networks_of_version_6_together(clock: Clock) -> None:
    wrong = WrongTokens(most=1, seconds=60, clock=clock)
    for address in ("192.0.2.1", "2001:db8::1", "unix socket", "::ffff:192.0.2.9"):
        wrong.add(address)
    tried = ("192.0.2.1", "192.0.2.2", "2001:db8::ffff:2", "2001:db8:0:1::1", "unix socket", "", "192.0.2.9")
    assert [wrong.wait(address) for address in tried] == [60, 0, 60, 0, 60, 0, 60]


def test_a_minute_begins_with_the_first_wrong_token(clock: Clock) -> None:
    wrong = WrongTokens(most=2, seconds=60, clock=clock)
    wrong.add("a")
    clock.seconds += 59
    wrong.add("a")
    assert wrong.wait("a") == 1
    clock.seconds += 1
    wrong.add("a")
    assert wrong.wait("a") == 0


def test_only_so_many_addresses_are_remembered(clock: Clock) -> None:
    wrong = WrongTokens(most=1, seconds=60, addresses=3, clock=clock)
    for number in range(1000):
        wrong.add(f"address {number}")
    assert len(wrong) == 3
    assert [wrong.wait(f"address {number}") for number in (0, 996, 997, 999)] == [0, 0, 60, 60]
