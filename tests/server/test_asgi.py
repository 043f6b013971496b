"""`tagwright.asgi:application`: mounted in another application, and made for a server without arguments."""

from __future__ import annotations

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


@pytest.mark.parametrize("token", ["", "a-token-of-32-characters-or-more!!"])
def test_it_answers_where_it_is_mounted(folder: Path, token: str) -> None:
    tags = application(folder, token=token or None)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with tags.router.lifespan_context(tags):
            yield

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with TestClient(Starlette(routes=[Mount("/tags", tags)], lifespan=lifespan)) as client:
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
