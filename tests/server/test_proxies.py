"""The user that a proxy names is believed from the named proxies, and from nobody else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.audit_log import entries
from tests.server.conftest import word_tagger

from tagwright.errors import ConfigError
from tagwright.review.decisions import Decisions
from tagwright.review.file import ReviewFile
from tagwright.server.access import OPEN, Access, networks_of, user_of
from tagwright.server.application import application
from tagwright.server.audit import Audit
from tagwright.server.options import ServerOptions
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.types import Document

HEADER = "X-Forwarded-User"
PROXIES = "10.0.0.1, ::1,192.168.0.0/24"


def user(peer: str | None, given: Sequence[tuple[str, bytes]], header: str = HEADER, proxies: str = PROXIES) -> str:
    headers = [(name.lower().encode(), value) for name, value in given]
    scope = {"type": "http", "client": peer and (peer, 1), "headers": headers}
    return user_of(scope, header, networks_of(proxies, header))


@pytest.mark.parametrize(
    "peer", ["10.0.0.1", "::1", "0:0:0:0:0:0:0:1", "::ffff:10.0.0.1", "192.168.0.77", "::ffff:192.168.0.1"]
)
def test_a_named_proxy_is_believed(peer: str) -> None:
    assert user(peer, [(HEADER, b" ann@x.org ")]) == "ann@x.org"
    assert user(peer, [(HEADER, "J\u00fcrgen  \u0141".encode())]) == "J\u00fcrgen \u0141"
    assert user(peer, [(HEADER, b"J\xfcrgen")]) == "J\u00fcrgen"
    assert user(peer, [(HEADER, b"x" * 100)]) == "x" * 60
    assert user(peer, []) == ""


@pytest.mark.parametrize(
    "peer",
    [None, "", "10.0.0.10", "110.0.0.1", "10.0.0.2", "::", "::2", "::10.0.0.1", "64:ff9b::10.0.0.1", "::ffff:10.0.0.2",
     "192.168.1.1", "127.0.0.1", "localhost", "10.0.0.1,::1", "10.0.0.1 "],
)  # fmt: skip
def test_nobody_else_is(peer: str | None) -> None:
    for more in ([], [("X-Forwarded-For", b"10.0.0.1")], [("X-Forwarded-For", b"::1, 10.0.0.1")],
                 [("Forwarded", b"for=10.0.0.1")], [("X-Real-IP", b"10.0.0.1")]):  # fmt: skip
        assert user(peer, [(HEADER, b"ann"), *more]) == ""


def test_a_header_of_the_client_beside_that_of_the_proxy_is_believed_no_more_than_the_client() -> None:
    assert user("10.0.0.1", [(HEADER, b"admin"), (HEADER, b"ann")]) == ""
    assert user("10.0.0.1", [("X_Forwarded_User", b"admin"), (HEADER, b"ann")]) == "ann"


def test_it_is_off_unless_a_header_and_proxies_are_named() -> None:
    assert user("127.0.0.1", [(HEADER, b"ann")], "", "") == ""
    assert user("10.0.0.1", [(HEADER, b"ann")], "", "10.0.0.1") == ""
    with pytest.raises(ConfigError, match="who may send X-Forwarded-User"):
        ServerOptions(user_header=HEADER)
    for addresses in ("*", "10.0.0.1,*", "proxy.example.org", "10.0.0.1/8", "10.0.0.1,"):
        with pytest.raises(ConfigError, match=r"--proxies: .*expected such as"):
            ServerOptions(user_header=HEADER, proxies=addresses)
    assert ServerOptions(proxies="*").proxies == "*"


@contextmanager
def from_address(folder: Path, peer: str, access: Access = OPEN) -> Iterator[TestClient]:
    """A client whose connection comes from this address."""
    file = ReviewFile(folder / "reviews.sqlite")
    review = Review(ServedModel("bees", word_tagger(), "Bees", learns=True), file)
    review.documents.add([Document("d1", "Honey bees")])
    audit = Audit(folder / "audit.jsonl")
    pages = ReviewPages(review, access)
    app = application([review.model], access=access, pages=pages, audit=audit, proxies=PROXIES, user_header=HEADER)
    with TestClient(app, client=(peer, 5000)) as client:
        yield client
    audit.close()
    file.close()


def csrf(page: str) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', page)
    assert found
    return found[1]


def reviewers(folder: Path) -> set[tuple[str, str]]:
    file = ReviewFile(folder / "reviews.sqlite")
    found: set[tuple[str, str]] = {(event.reviewer, event.action) for event in Decisions(file).current()}
    file.close()
    return found


def test_decisions_and_audit_carry_the_user(tmp_path: Path) -> None:
    forwarded = {HEADER: "ann@x.org", "X-Forwarded-For": "203.0.113.9"}
    with from_address(tmp_path, "10.0.0.1") as client:
        page = client.get("/review/documents/1", headers=forwarded)
        assert "ann@x.org" in page.text
        form = {"csrf": csrf(page.text), "action": "accept", "label": "http://x.org/bee"}
        client.post("/review/documents/1", data=form, headers=forwarded)
        assert client.post("/review/documents/1", data=form, headers={HEADER: "ben@x.org"}).status_code == 403
        client.post("/api/suggest", json={"text": "bees"}, headers={HEADER: "ben@x.org"})
    assert ("ann@x.org", "accept") in reviewers(tmp_path)
    found = [entry["who"] for entry in entries(tmp_path / "audit.jsonl")]
    assert found == ["ann@x.org", "ann@x.org", "ben@x.org"]  # the page, the page after the decision, the request


def test_with_tokens_a_user_still_needs_one_and_no_name(tmp_path: Path) -> None:
    forwarded = {HEADER: "ann@x.org"}
    with from_address(tmp_path, "::1", Access.of("a long enough token")) as client:
        entrance = client.get("/review", headers=forwarded)
        assert 'id="token"' in entrance.text
        assert 'id="name"' not in entrance.text
        form = {"token": "a long enough token", "name": "Somebody Else"}
        page = client.post("/review/enter", data=form, headers=forwarded)
        assert "ann@x.org" in page.text
        assert "Somebody Else" not in page.text
        without = client.get("/review/overview", follow_redirects=False)
        assert without.headers["location"] == "/review/enter"  # past the proxy, the cookie names nobody
        header = {"Authorization": "Bearer a long enough token"}
        client.post("/api/suggest", json={"text": "bees"}, headers={**forwarded, **header})
        assert client.post("/api/suggest", json={"text": "bees"}, headers=forwarded).status_code == 401
    assert {entry["who"] for entry in entries(tmp_path / "audit.jsonl")} == {"ann@x.org"}


@pytest.mark.parametrize("peer", ["203.0.113.9", "::2", "127.0.0.1", "10.0.0.2"])
def test_elsewhere_the_header_changes_nothing(tmp_path: Path, peer: str) -> None:
    spoofed = {HEADER: "ann@x.org", "X-Forwarded-For": "10.0.0.1, ::1", "X-Forwarded-Proto": "https"}
    with from_address(tmp_path, peer) as client:
        assert str(client.get("/review", headers=spoofed).url).endswith("/review/enter")
        client.post("/api/suggest", json={"text": "bees"}, headers=spoofed)
        client.post("/review/enter", data={"name": "Mallory"}, headers=spoofed)
        page = client.get("/review/documents/1", headers=spoofed).text
        assert "ann@x.org" not in page
    assert [entry["who"] for entry in entries(tmp_path / "audit.jsonl")] == ["", "Mallory", "Mallory"]


@pytest.mark.parametrize(("peer", "proxies", "client"), [
    ("10.0.0.1", PROXIES, "203.0.113.9"), ("10.0.0.2", PROXIES, "10.0.0.2"), ("127.0.0.1", "", "127.0.0.1"),
])  # fmt: skip
def test_who_forwards_is_believed_only_where_it_was_named(
    monkeypatch: pytest.MonkeyPatch, peer: str, proxies: str, client: str
) -> None:
    """Slots and memory are shared by address: a forged one gets no more of them."""
    seen = list[str]()

    def network(address: str) -> str:
        seen.append(address)
        return address

    monkeypatch.setattr("tagwright.server.application.network", network)
    app = application([ServedModel("b", word_tagger(), "B")], proxies=proxies)
    with TestClient(app, client=(peer, 5000)) as asking:
        asking.get("/api/models", headers={"X-Forwarded-For": "198.51.100.1, 203.0.113.9"})
    assert seen == [client]


def test_what_a_client_teaches_carries_the_user(tmp_path: Path) -> None:
    taught = list[str]()

    async def learn(_: ServedModel, __: object, client: str) -> None:
        taught.append(client)

    model = ServedModel("bees", word_tagger(), "Bees", learns=True)
    app = application([model], learn=learn, proxies=PROXIES, user_header=HEADER)
    for peer in ("10.0.0.1", "10.0.0.2"):
        with TestClient(app, client=(peer, 5000)) as client:
            client.post("/v1/projects/bees/learn", content=json.dumps([{"text": "Bees"}]), headers={HEADER: "ann"})
    assert taught == ["ann", "client"]
