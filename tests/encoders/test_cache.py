from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.readers.reading import same_folder

from tagwright.encoders.cache import EmbeddingCache, cache_folder, cache_limit, clear, contents, keep_to
from tagwright.errors import ConfigError
from tagwright.types import Floats

ONE, TWO = np.array([[1, 0.5]], np.float32), np.array([[0.25, 2]], np.float32)


def test_what_was_put_is_found_by_another_object_and_nothing_else_is(tmp_path: Path) -> None:
    EmbeddingCache("f", 2, tmp_path).put(["bee", "wasp"], np.concatenate([ONE, TWO]))
    vectors, known = EmbeddingCache("f", 2, tmp_path).get(["wasp", "ant", "bee"])
    assert known.tolist() == [True, False, True]
    assert vectors.tolist() == [[0.25, 2], [0, 0], [1, 0.5]]


def test_encoders_do_not_share_vectors(tmp_path: Path) -> None:
    EmbeddingCache("one", 2, tmp_path).put(["bee"], ONE)
    assert not EmbeddingCache("other", 2, tmp_path).get(["bee"])[1].any()


@given(texts=st.lists(st.text(), unique=True, max_size=8))
@settings(same_folder, max_examples=20)
def test_any_text_can_be_a_key(tmp_path: Path, texts: list[str]) -> None:
    vectors = np.arange(2 * len(texts), dtype=np.float32).reshape(-1, 2)
    cache = EmbeddingCache("f", 2, tmp_path)
    cache.put(texts, vectors)
    assert cache.get(texts)[0].tolist() == vectors.tolist()


def test_more_texts_than_fit_one_query(tmp_path: Path) -> None:
    texts = [str(i) for i in range(25_000)]
    cache = EmbeddingCache("f", 1, tmp_path)
    cache.put(texts, np.arange(25_000, dtype=np.float32)[:, None] % 2048)  # whole numbers that float16 holds exactly
    vectors, known = cache.get(texts)
    assert known.all()
    assert vectors[[0, 9_999, 10_000, 24_999], 0].tolist() == [0, 9_999 % 2048, 10_000 % 2048, 24_999 % 2048]


def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = EmbeddingCache("f", 2, tmp_path)
    cache.path.parent.mkdir(parents=True)
    cache.path.write_bytes(b"this is no database, but it is long enough to have a header" * 100)
    assert not cache.get(["bee"])[1].any()
    assert len(caplog.records) == 1
    cache.put(["bee"], ONE)
    assert EmbeddingCache("f", 2, tmp_path).get(["bee"])[0].tolist() == ONE.tolist()
    assert cache.path.with_suffix(".damaged").exists()


def test_a_vector_of_another_length_counts_as_missing(tmp_path: Path) -> None:
    EmbeddingCache("f", 2, tmp_path).put(["bee"], ONE)
    assert not EmbeddingCache("f", 3, tmp_path).get(["bee"])[1].any()


def test_a_folder_that_cannot_be_made_means_no_cache_and_one_line_of_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = EmbeddingCache("f", 2, tmp_path / "file")
    cache.put(["bee"], ONE)
    assert not cache.get(["bee"])[1].any()
    assert len(caplog.records) == 1


def test_a_full_disk_means_no_cache_and_loses_nothing_kept_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    EmbeddingCache("f", 2, tmp_path).put(["bee"], ONE)

    class Full(sqlite3.Connection):
        def executemany(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("database or disk is full")

    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, **kwargs, factory=Full))
        EmbeddingCache("f", 2, tmp_path).put(["wasp"], TWO)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert EmbeddingCache("f", 2, tmp_path).get(["bee", "wasp"])[1].tolist() == [True, False]


def test_a_writer_killed_at_any_moment_leaves_a_readable_file(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np; from pathlib import Path; from tagwright.encoders.cache import EmbeddingCache\n"
        "cache = EmbeddingCache('f', 2, Path(sys.argv[1]))\n"
        "cache.put(['first'], np.ones((1, 2), np.float32)); print('ready', flush=True)\n"
        "for i in range(10**9): cache.put([str(i)], np.ones((1, 2), np.float32))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        writer.kill()
    assert EmbeddingCache("f", 2, tmp_path).get(["first"])[0].tolist() == [[1, 1]]


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np; from pathlib import Path; from tagwright.encoders.cache import EmbeddingCache\n"
        "cache = EmbeddingCache('f', 2, Path(sys.argv[1]))\n"
        "for i in range(50): cache.put([f'{sys.argv[2]} {i}'], np.ones((1, 2), np.float32))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    vectors: Floats = EmbeddingCache("f", 2, tmp_path).get([f"{name} {i}" for name in "ab" for i in range(50)])[0]
    assert (vectors == 1).all()


def test_the_folder_is_the_one_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


def test_a_row_with_any_changed_bit_is_missing_and_computed_again(tmp_path: Path) -> None:
    cache = EmbeddingCache("f", 2, tmp_path)
    cache.put(["bee", "wasp"], np.concatenate([ONE, TWO]))
    good = cache.path.read_bytes()
    with closing(sqlite3.connect(cache.path)) as database:
        [(_, vector, checksum, _)] = database.execute("SELECT * FROM vectors LIMIT 1").fetchall()
    for part in (vector, checksum):
        for bit in range(8 * len(part)):
            place, damaged = good.index(part) + bit // 8, bytearray(good)
            damaged[place] ^= 1 << bit % 8
            for journal in tmp_path.rglob("*.sqlite-*"):
                journal.unlink()
            cache.path.write_bytes(damaged)
            vectors, known = EmbeddingCache("f", 2, tmp_path).get(["bee", "wasp"])
            assert known.sum() == 1
            assert vectors.tolist() in ([[1, 0.5], [0, 0]], [[0, 0], [0.25, 2]])
    EmbeddingCache("f", 2, tmp_path).put(["bee", "wasp"], np.concatenate([ONE, TWO]))
    assert EmbeddingCache("f", 2, tmp_path).get(["bee", "wasp"])[0].tolist() == [[1, 0.5], [0.25, 2]]


def test_single_bits_anywhere_in_the_file_give_no_traceback_and_no_wrong_vector(tmp_path: Path) -> None:
    texts = [str(i) for i in range(50)]
    right = np.arange(100, dtype=np.float32).reshape(50, 2)
    cache = EmbeddingCache("f", 2, tmp_path)
    cache.put(texts, right)
    good, rng = cache.path.read_bytes(), np.random.default_rng(0)
    for place in rng.integers(0, len(good), 300).tolist():
        damaged = bytearray(good)
        damaged[place] ^= 1 << int(rng.integers(8))
        for file in cache.path.parent.iterdir():
            file.unlink()
        cache.path.write_bytes(damaged)
        vectors, known = EmbeddingCache("f", 2, tmp_path).get(texts)
        assert (vectors[known] == right[known]).all()
        EmbeddingCache("f", 2, tmp_path).put(texts, right)


def test_a_vector_under_another_texts_key_is_missing(tmp_path: Path) -> None:
    cache = EmbeddingCache("f", 2, tmp_path)
    cache.put(["bee", "wasp"], np.concatenate([ONE, TWO]))
    with sqlite3.connect(cache.path) as database:
        [first, second] = [key for (key,) in database.execute("SELECT text FROM vectors ORDER BY rowid")]
        database.execute("DELETE FROM vectors WHERE text = ?", [first])
        database.execute("UPDATE vectors SET text = ? WHERE text = ?", [first, second])
    database.close()
    assert not EmbeddingCache("f", 2, tmp_path).get(["bee", "wasp"])[1].any()


def test_the_encoder_used_longest_ago_goes_first_then_the_oldest_texts(tmp_path: Path) -> None:
    old, new = (EmbeddingCache(name, 64, tmp_path) for name in ("old", "new"))
    for hour, cache in enumerate((old, new)):
        cache.put([str(i) for i in range(1000)], np.ones((1000, 64), np.float32))
        os.utime(cache.path, (3600 * hour, 3600 * hour))
    size = sum(entry.size for entry in contents(tmp_path))
    keep_to(size - 1, old.path.parent)
    assert [entry.fingerprint for entry in contents(tmp_path)] == ["new"]
    with sqlite3.connect(new.path) as database:
        database.execute("UPDATE vectors SET used = used + 1 WHERE rowid > 500")
    database.close()
    limit = contents(tmp_path)[0].size * 2 // 3
    keep_to(limit, new.path.parent)
    assert contents(tmp_path)[0].size <= limit
    known = EmbeddingCache("new", 64, tmp_path).get([str(i) for i in range(1000)])[1]
    assert known[500:].any()
    assert not known[:500].any() or known[500:].all()


def test_what_is_written_keeps_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE_LIMIT", "200k")
    cache = EmbeddingCache("f", 384, tmp_path)
    for start in range(0, 1000, 100):
        cache.put([str(start + i) for i in range(100)], np.ones((100, 384), np.float32))
    assert sum(file.stat().st_size for file in cache.path.parent.iterdir()) <= 200 << 10
    assert cache.get(["999"])[1].all()


@pytest.mark.parametrize("text", ["two", "-1", "nan", "2T", "inf"])
def test_a_limit_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE_LIMIT", text)
    with pytest.raises(ConfigError, match="expected bytes, such as 500M"):
        cache_limit()


def test_contents_and_clear(tmp_path: Path) -> None:
    assert contents(tmp_path) == []
    assert clear(tmp_path) == 0
    EmbeddingCache("f", 2, tmp_path).put(["bee", "wasp"], np.concatenate([ONE, TWO]))
    [entry] = contents(tmp_path)
    assert (entry.fingerprint, entry.vectors) == ("f", 2)
    assert clear(tmp_path) >= entry.size > 0
    assert contents(tmp_path) == []
