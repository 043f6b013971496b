"""Entries of all kinds have one folder, one limit and one way out; the cache is never wrong and never in the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tagwright.core.cache import Cache, cache_folder, cache_limit, user_cache
from tagwright.errors import ConfigError

KB = 1 << 10


def test_what_was_put_is_found_by_its_kind_and_key(tmp_path: Path) -> None:
    Cache(tmp_path).put("a", {b"one": b"1", b"two": b"", b"three": b"\0" * 100_000})
    assert Cache(tmp_path).get("a", [b"one", b"two", b"four"]) == {b"one": b"1", b"two": b""}
    assert Cache(tmp_path).get("a", [b"three"]) == {b"three": b"\0" * 100_000}
    assert Cache(tmp_path).get("b", [b"one"]) == {}


def test_beyond_the_limit_the_entries_that_were_written_first_go(tmp_path: Path) -> None:
    """Of 4 x 100 KB, 400 KB with the database exceed 390 KB; 3/4 of that, 292 KB, are the two newest."""
    cache = Cache(tmp_path, 390 * KB)
    for key in (b"1", b"2", b"3", b"4"):
        cache.put("rows", {key: bytes(100 * KB)})
    assert cache.get("rows", [b"1", b"2", b"3", b"4"]).keys() == {b"3", b"4"}


def test_what_is_larger_than_the_limit_is_not_kept_and_removes_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 200 * KB)
    cache.put("rows", {b"small": b"1"})
    cache.put("rows", {b"large": bytes(300 * KB)})
    assert cache.get("rows", [b"small", b"large"]) == {b"small": b"1"}


def test_a_limit_of_nothing_keeps_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", 0)
    cache.put("rows", {b"one": b"1", b"two": b""})
    assert cache.get("rows", [b"one"]) == {}
    assert not (tmp_path / "cache").exists()


def test_a_damaged_database_is_said_in_one_line_with_the_remedy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(tmp_path)
    (tmp_path / "tagwright-cache.sqlite").write_bytes(b"no database, but long enough to have a header" * 100)
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {}
    assert ["remove it if it is damaged" in record.getMessage() for record in caplog.records] == [True]


def test_a_folder_that_cannot_be_made_means_no_cache_and_one_line_of_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file")
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {}
    assert len(caplog.records) == 1


def test_a_full_disk_means_no_cache_and_loses_nothing_kept_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cache(tmp_path).put("rows", {b"one": b"1"})

    class Full(sqlite3.Connection):
        def executemany(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("database or disk is full")

    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, **kwargs, factory=Full))
        Cache(tmp_path).put("rows", {b"two": b"2"})
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert Cache(tmp_path).get("rows", [b"one", b"two"]) == {b"one": b"1"}


def test_the_folder_is_the_one_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setenv("TAGWRIGHT_CACHE_LIMIT", "200k")
    assert cache_folder() == user_cache().folder == tmp_path
    assert user_cache().limit == 200 * KB
    assert user_cache() is user_cache()


@pytest.mark.parametrize("text", ["two", "-1", "nan", "2T", "inf"])
def test_a_limit_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE_LIMIT", text)
    with pytest.raises(ConfigError, match="expected bytes, such as 500M"):
        cache_limit()
