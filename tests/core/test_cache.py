"""Entries of all kinds have one folder, one limit and one way out; the cache is never wrong and never in the way."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tagwright.core.cache import Cache, cache_folder, cache_limit, user_cache
from tagwright.errors import ConfigError, TagwrightError

KB = 1 << 10


def database_of(cache: Cache) -> Path:
    return cache.folder / "tagwright-cache.sqlite"


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
    for number in range(20):
        cache.put("rows", {b"%d" % number: bytes(100 * KB)})
    assert sum(size for *_, size in cache.contents()) <= 390 * KB


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


def test_clear_removes_everything_of_ours_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.clear() == 0
    cache.put("rows", {b"one": bytes(500 * KB)})
    others = [tmp_path / name for name in ("thesis.txt", "tagwright-cache-notes.txt", "reviews.sqlite")]
    for other in others:
        other.write_text("not ours")
    assert cache.clear() > 400 * KB
    assert all(other.read_text() == "not ours" for other in others)
    assert (cache.contents(), cache.size() < 100 * KB) == ([], True)


def test_a_folder_of_others_is_not_cleared(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("not ours")
    with pytest.raises(TagwrightError, match="is no cache of Tagwright; correct TAGWRIGHT_CACHE"):
        Cache(tmp_path).clear()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert Cache(tmp_path / "none").clear() == 0


def test_a_database_that_another_process_has_open_is_emptied(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("rows", {b"one": bytes(500 * KB)})
    with closing(sqlite3.connect(database_of(cache))) as other:
        assert other.execute("SELECT COUNT(*) FROM kept").fetchone() == (1,)
        assert cache.clear() > 400 * KB
        assert other.execute("SELECT COUNT(*) FROM kept").fetchone() == (0,)
    assert Cache(tmp_path).get("rows", [b"one"]) == {}
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {b"one": b"1"}


def test_processes_that_write_while_it_is_cleared_go_on(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tagwright.core.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "for i in range(20):\n"
        "    cache.put('rows', {b'%d' % i: b'%d' % i})\n"
        "    assert cache.get('rows', [b'%d' % i]) in ({}, {b'%d' % i: b'%d' % i})\n"
        "cache.put('last', {b'last': b'last'})"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE) for _ in "ab"]
    for _ in range(5):
        Cache(tmp_path).clear()
        time.sleep(0.01)
    for writer in writers:
        _, said = writer.communicate()
        assert (writer.returncode, said) == (0, b"")
    assert Cache(tmp_path).get("last", [b"last"]) == {b"last": b"last"}


def test_a_damaged_database_is_said_in_one_line_and_mended_by_clear(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(tmp_path)
    database_of(cache).write_bytes(b"this is no database, but it is long enough to have a header" * 100)
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {}
    assert ["tagwright cache --clear mends it" in record.getMessage() for record in caplog.records] == [True]
    Cache(tmp_path).clear()
    Cache(tmp_path).put("rows", {b"one": b"1"})
    assert Cache(tmp_path).get("rows", [b"one"]) == {b"one": b"1"}


def test_a_folder_that_cannot_be_made_means_no_cache_and_one_line_of_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file")
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {}
    assert (cache.contents(), cache.size()) == ([], 0)
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
