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


def write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def made(cache: Cache, key: bytes, content: bytes = b"content") -> Path | None:
    """The file of this key, of this content."""
    return cache.file("files", key, lambda path: write(content, path), lambda path: path.read_bytes() == content)


def aged(cache: Cache, seconds: int) -> None:
    """Let all entries be that much older."""
    with closing(sqlite3.connect(database_of(cache))) as database, database:
        database.execute("UPDATE entries SET used = used - ?", [seconds])


def database_of(cache: Cache) -> Path:
    return cache.folder / "tagwright-cache.sqlite"


def test_what_was_put_is_found_by_its_kind_and_key(tmp_path: Path) -> None:
    Cache(tmp_path).put("a", {b"one": b"1", b"two": b"", b"three": b"\0" * 100_000})
    assert Cache(tmp_path).get("a", [b"one", b"two", b"four"]) == {b"one": b"1", b"two": b""}
    assert Cache(tmp_path).get("a", [b"three"]) == {b"three": b"\0" * 100_000}
    assert Cache(tmp_path).get("b", [b"one"]) == {}


def test_a_file_is_made_once_and_again_when_it_is_damaged(tmp_path: Path) -> None:
    cache, times = Cache(tmp_path), list[Path]()

    def make(path: Path) -> None:
        times.append(path)
        path.write_bytes(b"right")

    def found() -> Path | None:
        return cache.file("files", b"key", make, lambda path: path.read_bytes() == b"right")

    path = found()
    assert path is not None
    assert (found(), len(times)) == (path, 1)
    path.write_bytes(b"wrong")
    assert (found(), path.read_bytes(), len(times)) == (path, b"right", 2)
    assert made(cache, b"other") != path


def test_the_limit_covers_rows_and_files_and_the_least_recently_used_go_first(tmp_path: Path) -> None:
    """Of 4 x 100 KB in rows and files by turns, 400 KB with the database exceed 390 KB; 3/4 of that is 292 KB."""
    cache = Cache(tmp_path)
    for key, kind in ((b"1", "row"), (b"2", "file"), (b"3", "row"), (b"4", "file")):
        if kind == "row":
            cache.put("rows", {key: bytes(100 * KB)})
        else:
            made(cache, key, bytes(100 * KB))
        aged(cache, 10)
    assert {kind.name: kind.entries for kind in cache.contents()} == {"files": 2, "rows": 2}
    assert cache.size() > 400 * KB
    Cache(tmp_path, 390 * KB).put("rows", {b"5": b"new"})
    assert cache.size() <= 390 * KB
    assert cache.get("rows", [b"1", b"3", b"5"]).keys() == {b"3", b"5"}
    assert len(list(tmp_path.glob("*.file"))) == 1
    assert {kind.name: kind.entries for kind in cache.contents()} == {"files": 1, "rows": 2}


def test_what_is_used_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("rows", {b"old": bytes(50 * KB)})
    made(cache, b"old", bytes(50 * KB))
    cache.put("rows", {b"unused": bytes(200 * KB)})
    aged(cache, 7200)
    cache.get("rows", [b"old"])
    made(cache, b"old", bytes(50 * KB))
    Cache(tmp_path, 440 * KB).put("rows", {b"new": bytes(100 * KB)})
    assert cache.get("rows", [b"old", b"unused", b"new"]).keys() == {b"old", b"new"}
    assert [kind.entries for kind in cache.contents()] == [1, 2]


def test_entries_of_a_time_to_come_do_not_outlive_the_others(tmp_path: Path) -> None:
    """The clock was wrong when they were written; every entry since would be removed before them."""
    cache = Cache(tmp_path, 390 * KB)
    cache.put("rows", {b"future": bytes(150 * KB)})
    aged(cache, -10_000_000)
    cache.put("rows", {b"now": bytes(150 * KB)})
    cache.put("rows", {b"next": bytes(50 * KB)})
    assert cache.get("rows", [b"future", b"now", b"next"]).keys() == {b"now", b"next"}


def test_what_is_larger_than_the_limit_is_not_kept_and_removes_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 200 * KB)
    cache.put("rows", {b"small": b"1"})
    cache.put("rows", {b"large": bytes(300 * KB)})
    assert made(cache, b"large", bytes(300 * KB)) is None
    assert cache.get("rows", [b"small", b"large"]) == {b"small": b"1"}
    assert not list(tmp_path.glob("*.file"))


def test_a_limit_of_nothing_keeps_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", 0)
    cache.put("rows", {b"one": b"1", b"two": b""})
    assert cache.get("rows", [b"one"]) == {}
    assert made(cache, b"one") is None
    assert not (tmp_path / "cache").exists()


def test_files_that_lost_their_entry_are_removed_when_room_is_needed(tmp_path: Path) -> None:
    """As when a damaged database was replaced. One that is being made has no entry yet, and stays."""
    cache = Cache(tmp_path, 300 * KB)
    lost, unfinished = made(cache, b"lost", bytes(100 * KB)), tmp_path / f".tagwright-cache-{'0' * 32}.file.tmp00000000"
    assert lost is not None
    database_of(cache).write_bytes(b"damaged" * 100)
    unfinished.write_bytes(bytes(100 * KB))
    cache.put("rows", {b"new": bytes(50 * KB)})
    assert (lost.exists(), unfinished.exists()) == (False, True)


def test_clear_removes_everything_of_ours_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.clear() == 0
    cache.put("rows", {b"one": bytes(50 * KB)})
    made(cache, b"one", bytes(50 * KB))
    (tmp_path / f".tagwright-cache-{'0' * 32}.file.tmp00000000").touch()
    others = [tmp_path / name for name in ("thesis.txt", "tagwright-cache-notes.txt", "reviews.sqlite")]
    for other in others:
        other.write_text("not ours")
    size = cache.size()
    assert size > 100 * KB
    assert cache.clear() == size
    assert sorted(tmp_path.iterdir()) == sorted(others)
    assert (cache.contents(), cache.size()) == ([], 0)


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
        assert other.execute("SELECT COUNT(*) FROM entries").fetchone() == (1,)
        assert cache.clear() > 400 * KB
        assert other.execute("SELECT COUNT(*) FROM entries").fetchone() == (0,)
    assert Cache(tmp_path).get("rows", [b"one"]) == {}
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {b"one": b"1"}


def test_processes_that_write_while_it_is_cleared_go_on(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tagwright.core.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "def make(path): path.write_bytes(b'file')\n"
        "for i in range(20):\n"
        "    cache.put('rows', {b'%d' % i: b'%d' % i})\n"
        "    assert cache.get('rows', [b'%d' % i]) in ({}, {b'%d' % i: b'%d' % i})\n"
        "    cache.file('files', b'%d' % (i % 3), make, lambda path: path.read_bytes() == b'file')\n"
        "cache.put('rows', {b'last': b'last'})"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE) for _ in "ab"]
    while any(writer.poll() is None for writer in writers):
        Cache(tmp_path).clear()
        time.sleep(0.01)
    for writer in writers:
        _, said = writer.communicate()
        assert writer.returncode == 0, said.decode()
    cache = Cache(tmp_path)
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {b"one": b"1"}
    cache.clear()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_database_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache(tmp_path)
    database_of(cache).write_bytes(b"this is no database, but it is long enough to have a header" * 100)
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {b"one": b"1"}
    assert len(caplog.records) == 1


def test_a_folder_that_cannot_be_made_means_no_cache_and_one_line_of_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file")
    cache.put("rows", {b"one": b"1"})
    assert cache.get("rows", [b"one"]) == {}
    assert made(cache, b"one") is None
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


def test_a_file_that_cannot_be_made_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Path) -> None:
        raise OSError("no space left")

    assert Cache(tmp_path).file("files", b"one", fail, lambda _: True) is None
    assert ["no space left" in record.getMessage() for record in caplog.records] == [True]


def test_content_under_another_key_is_missing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("rows", {b"one": b"1", b"two": b"2"})
    with closing(sqlite3.connect(database_of(cache))) as database, database:
        database.execute("DELETE FROM entries WHERE key = ?", [b"one"])
        database.execute("UPDATE entries SET key = ?", [b"one"])
    assert cache.get("rows", [b"one", b"two"]) == {}


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
