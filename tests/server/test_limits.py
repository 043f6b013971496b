"""A token may send so many requests and documents in a minute, and never more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.server.conftest import BEES, Clock, reviewing

from tagwright.errors import InputError
from tagwright.server.access import Access, Holder, Limits
from tagwright.server.application import application
from tagwright.server.problems import Busy, Problem
from tagwright.server.review.page import ReviewPages

LIMITED, FREE, FEW = "l" * 16, "f" * 16, "d" * 16
TOKENS = f"""
{LIMITED} review  requests=10 Koha
{FREE}    suggest Catalogue of requests=3
{FEW}     suggest documents=40 requests=1000 Repository
"""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(clock: Clock, tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "tokens").write_text(TOKENS)
    review = reviewing(tmp_path, BEES)
    access = replace(Access.of(file=tmp_path / "tokens"), limits=Limits(clock))
    app = application([review.model], access=access, pages=ReviewPages(review, access))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def batch(client: TestClient, token: str, count: int) -> int:
    content = {"documents": [{"text": "bees"}] * count}
    return client.post("/v1/projects/bees/suggest-batch", json=content, headers=headers(token)).status_code


def test_limits_stand_before_the_name(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(TOKENS)
    assert Access.of(file=tmp_path / "tokens").holders == (
        Holder("Koha", "review", LIMITED, requests=10),
        Holder("Catalogue of requests=3", "suggest", FREE),
        Holder("Repository", "suggest", FEW, requests=1000, documents=40),
    )


@pytest.mark.parametrize("limit", ["requests=", "requests=0", "documents=-1", "documents=1.5", "requests=1 requests=2"])
def test_a_limit_that_is_no_number_is_refused(tmp_path: Path, limit: str) -> None:
    (tmp_path / "tokens").write_text(f"{LIMITED} suggest {limit} Koha\n")
    with pytest.raises(InputError, match=r"tokens:1: expected (requests|documents)=NUMBER once"):
        Access.of(file=tmp_path / "tokens")


def test_64_clients_at_once_get_exactly_what_their_token_may(client: TestClient, clock: Clock) -> None:
    def ask(number: int) -> tuple[str, int]:
        token = (LIMITED, FREE)[number % 2]
        return token, client.get("/api/models", headers=headers(token)).status_code

    with ThreadPoolExecutor(64) as clients:
        found = Counter(clients.map(ask, range(128)))
        assert found == {(LIMITED, 200): 10, (LIMITED, 429): 54, (FREE, 200): 64}
        clock.seconds += 59.9
        assert set(clients.map(ask, range(0, 128, 2))) == {(LIMITED, 429)}
        clock.seconds += 0.1
        assert Counter(clients.map(ask, range(0, 128, 2))) == {(LIMITED, 200): 10, (LIMITED, 429): 54}


def test_a_refused_request_says_when_to_come_again(client: TestClient, clock: Clock) -> None:
    for _ in range(10):
        assert client.get("/api/models", headers=headers(LIMITED)).status_code == 200
        clock.seconds += 2  # the first was 20 s ago in the end
    refused = client.get("/api/models", headers=headers(LIMITED))
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "40")
    assert refused.json()["detail"] == "With this token, 10 requests a minute are accepted; try again in 40 s"
    metrics = client.get("/metrics", headers=headers(FREE)).text
    assert "\ntagwright_requests_limited_total 1\n" in metrics
    assert "\ntagwright_documents_limited_total 0\n" in metrics


def test_documents_are_counted_and_refused_together(client: TestClient, clock: Clock) -> None:
    assert [batch(client, FEW, count) for count in (30, 11, 10, 1)] == [200, 429, 200, 429]
    clock.seconds += 60
    assert client.post("/api/suggest", json={"text": "bees"}, headers=headers(FEW)).status_code == 200
    text = {"text": "bees"}
    assert client.post("/v1/projects/bees/suggest", data=text, headers=headers(FEW)).status_code == 200
    assert [batch(client, FEW, count) for count in (32, 7, 6)] == [200, 429, 200]


def test_a_request_that_can_never_fit_is_refused_without_a_time(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="The request holds 32 documents; with this token, 10 a minute") as problem:
        Limits().spend("a", "documents", 10, 32)
    assert (problem.value.status, problem.value.headers) == (413, None)


def test_documents_that_find_no_place_in_the_queue_do_not_count(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Busy

    with monkeypatch.context() as full:
        full.setattr("tagwright.server.turns.Batches.check_room", refuse)
        assert [
            client.post("/api/suggest", json={"text": "x"}, headers=headers(FEW)).status_code for _ in range(50)
        ] == [503] * 50
    assert [batch(client, FEW, 20) for _ in range(3)] == [200, 200, 429]


def test_the_pages_count_too(client: TestClient) -> None:
    client.post("/review/enter", data={"token": LIMITED}, follow_redirects=False)
    found = [client.get("/review/overview").status_code for _ in range(6)]
    found += [client.get("/").status_code for _ in range(6)]
    assert found == [200] * 10 + [429] * 2
    refused = client.get("/", headers={"Accept-Language": "de"})
    assert refused.headers["content-type"].startswith("text/html")
    assert "Mit diesem Token werden 10 Anfragen je Minute angenommen; versuchen Sie es in 60 s wieder" in refused.text
    assert client.get("/review/overview").headers["Retry-After"] == "60"
    assert client.get("/static/page.css").status_code == 200


@given(st.lists(st.tuples(st.floats(0, 50), st.integers(1, 5)), max_size=60), st.integers(5, 20))
@example([(1.6352595043773626, 1), (0.0, 5)], 5)
def test_no_minute_holds_more_than_the_limit(steps: list[tuple[float, int]], most: int) -> None:
    clock, accepted = Clock(), list[tuple[float, int]]()
    limits = Limits(clock)
    for wait, count in steps:
        clock.seconds += wait
        before = sum(sent for time, sent in accepted if time + 60 > clock.seconds)
        try:
            limits.spend("a", "documents", most, count)
        except Problem as problem:
            assert before + count > most  # it is refused only if it has to be
            clock.seconds += int((problem.headers or {})["Retry-After"])
            limits.spend("a", "documents", most, count)  # and has a place when it was told to come again
        else:
            assert before + count <= most
        accepted.append((clock.seconds, count))
