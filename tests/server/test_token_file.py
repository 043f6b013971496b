"""The file of tokens is read again when it changes, while the server runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import reviewing

from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages

ANN, BEN, ALONE = "a" * 16, "b" * 16, "c" * 16


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(f"{ANN} review Ann\n{BEN} suggest requests=2 Ben\n")
    return file


def names(access: Access) -> list[str]:
    return [holder.name for holder in access.holders]


def test_tokens_come_and_go_with_the_file_and_that_of_the_command_stays(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    access = Access.of(ALONE, file)
    access.reread()
    assert caplog.text == ""
    file.write_text(f"{BEN} admin Ben\n")
    access.reread()
    assert [(each.name, each.role) for each in access.holders] == [("Ben", "admin"), ("", "admin")]
    assert "has changed; 1 tokens from now on" in caplog.text


@pytest.mark.parametrize("broken", [b"", b"#\n", b"\xff", b"short review Ann\n", b"a" * 16 + b" queen Ann\n", None])
def test_a_broken_file_keeps_the_tokens_and_is_logged_once(
    file: Path, caplog: pytest.LogCaptureFixture, broken: bytes | None
) -> None:
    access = Access.of(file=file)
    if broken is None:
        file.unlink()
    else:
        file.write_bytes(broken)
    for _ in range(3):
        access.reread()
    assert names(access) == ["Ann", "Ben"]
    (said,) = (record for record in caplog.records if record.levelname == "ERROR")
    assert "the tokens from before remain" in said.getMessage()
    assert "aaa" not in said.getMessage()
    file.write_text(f"{ANN} review Ann\n")
    access.reread()
    assert names(access) == ["Ann"]


def test_a_server_refuses_a_token_within_a_second_of_its_leaving(file: Path, tmp_path: Path) -> None:
    review = reviewing(tmp_path)
    access = Access.of(file=file)
    with TestClient(application([review.model], access=access, pages=ReviewPages(review, access))) as client:

        def ask() -> int:
            return client.get("/api/models", headers={"Authorization": f"Bearer {ANN}"}).status_code

        def wait(condition: Callable[[], bool]) -> None:
            end = time.monotonic() + 600
            while not condition():
                assert time.monotonic() < end
                time.sleep(0.01)

        client.post("/review/enter", data={"token": ANN})
        assert (ask(), client.get("/review/overview", follow_redirects=False).status_code) == (200, 200)
        file.write_text(f"{BEN} review Ben\n")
        wait(lambda: ask() == 401)
        assert client.get("/review/overview", follow_redirects=False).headers["location"] == "/review/enter"
        file.write_text(f"{ANN} review Ann\n")
        wait(lambda: names(access) == ["Ann"])
