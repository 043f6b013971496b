"""`tagwright.asgi:application`: mounted in another application, and made for a server without arguments."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright.asgi import application
from tagwright.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    word_tagger().save(tmp_path / "bees")
    return tmp_path / "bees"


def mounted(tags: Starlette) -> Starlette:
    """An application that has this one below /tags, and runs its lifespan."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with tags.router.lifespan_context(tags):
            yield

    return Starlette(routes=[Mount("/tags", tags)], lifespan=lifespan)


@pytest.mark.parametrize("token", ["", "a-token-of-32-characters-or-more!!"])
def test_it_answers_where_it_is_mounted(folder: Path, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with TestClient(mounted(application(folder, token=token or None))) as client:
        assert client.get("/tags/health").status_code == 200
        answer = client.post("/tags/api/suggest", json={"text": "Honey bees"}, headers=headers)
        assert answer.json()["suggestions"][0]["name"] == "Bees"
        without = client.post("/tags/api/suggest", json={"text": "Honey bees"})
        assert without.status_code == (401 if token else 200)


def test_a_server_that_calls_it_names_the_model_in_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="name it in TAGWRIGHT_MODEL"):
        application()
    monkeypatch.setenv("TAGWRIGHT_MODEL", str(folder))
    with TestClient(application()) as client:
        assert [each["id"] for each in client.get("/api/models").json()["models"]] == ["bees"]


@pytest.mark.parametrize("token", ["", "a-token-of-32-characters-or-more!!"])
def test_its_pages_work_where_it_is_mounted(folder: Path, token: str) -> None:
    """Every link, style, script and form of the pages leads to an address that answers; a login leads to the page."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with TestClient(mounted(application(folder, token=token or None))) as client:
        if token:
            entered = client.get("/tags/")
            assert entered.url.path == "/tags/enter"
            assert client.post(_form(entered.text), data={"token": token}).url.path == "/tags/"
        page = client.get("/tags/").text
        answer = client.post(_form(page), data={"text": "Honey bees"})
        assert "Suggested labels" in answer.text
        for html in (page, answer.text, client.get("/tags/api").text, client.get("/tags/v1/ui/").text):
            addresses = set(re.findall(r'(?:href|src|action)="(/[^"]*)"', html))
            assert len(addresses) >= 8
            answers = {address: client.get(address, headers=headers).status_code for address in addresses}
            assert set(answers.values()) == {200}, answers
            assert re.search(r'href="/tags/[^"]*" aria-current="page"', html)


def _form(page: str) -> str:
    """Where the form of a page is sent."""
    (address,) = re.findall(r'<form[^>]* action="([^"]*)"', page)
    return str(address)
