"""Cache embeddings: one SQLite file for each encoder, shared by all processes.

The cache saves work and nothing else depends on it: when its file cannot be read or written, one line is logged and
everything is computed again. Every row has a checksum: a damaged one counts as missing and is rewritten.

All files together respect a limit, $TAGWRIGHT_CACHE_LIMIT: the least recently used encoders and texts are removed.
$TAGWRIGHT_CACHE_DOCUMENTS=no excludes vectors of documents. They are included by default, because every evaluation and
training reads the same documents again; those read only once are removed before the labels, which every run uses.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from tagwright.core.cache import cache_folder as cache_folder
from tagwright.errors import ConfigError
from tagwright.types import Floats, Mask

T = TypeVar("T")

_log = logging.getLogger(__name__)

LIMIT = 2 << 30
"The default limit of all files together, in bytes."

_TABLE = """CREATE TABLE IF NOT EXISTS vectors
(text BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum BLOB NOT NULL, used INTEGER NOT NULL)"""
_ASKED = 10_000  # keys per query; SQLite takes at most 32,766
_SPARED = 0.75  # share of the limit to which the cache is reduced, so that not every write has to check
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_Row = tuple[bytes, bytes, bytes, int]


class Entry(NamedTuple):
    """The cache of one encoder. vectors: None if the file cannot be read."""

    fingerprint: str
    vectors: int | None
    size: int
    used: float


def cache_limit() -> int:
    """Bytes: $TAGWRIGHT_CACHE_LIMIT, such as 500M or 4G, or 2 GB. Raises ConfigError for anything else.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, TAGWRIGHT_CACHE_LIMIT="1.5k"):
    ...     cache_limit()
    1536
    """
    text = os.environ.get("TAGWRIGHT_CACHE_LIMIT", "").strip()
    if not text:
        return LIMIT
    number = text.upper().removesuffix("B")
    unit = number[-1:] if number[-1:] in {"K", "M", "G"} else ""
    try:
        size = float(number.removesuffix(unit)) * _UNITS[unit]
        if not 0 <= size < 1 << 60:
            raise ValueError
    except ValueError:
        raise ConfigError(f"TAGWRIGHT_CACHE_LIMIT is {text!r}, expected bytes, such as 500M or 4G") from None
    return int(size)


def keeps_documents() -> bool:
    """Whether vectors of documents are cached too: unless $TAGWRIGHT_CACHE_DOCUMENTS is no."""
    return os.environ.get("TAGWRIGHT_CACHE_DOCUMENTS", "yes").strip().lower() not in {"no", "0", "false"}


def contents(folder: Path | None = None) -> list[Entry]:
    """The contents of the cache, the most recently used encoder first."""
    found = []
    for path in _folder(folder).glob("*.sqlite"):
        with suppress(OSError):  # another process has just removed it
            found.append(Entry(path.stem, _count(path), _size(path), _used(path)))
    return sorted(found, key=lambda entry: -entry.used)


def clear(folder: Path | None = None) -> int:
    """Remove all vectors, damaged files too; returns how many bytes that frees. Raises OSError when it cannot."""
    size = 0
    for path in _folder(folder).iterdir() if _folder(folder).is_dir() else ():
        if any(mark in path.name for mark in (".sqlite", ".damaged")):
            size += path.stat().st_size
            path.unlink(missing_ok=True)
    return size


class EmbeddingCache:
    """The vectors of one encoder, `dim` numbers each, kept as float16. fingerprint: identifies the encoder."""

    def __init__(self, fingerprint: str, dim: int, folder: Path | None = None) -> None:
        self.path = _folder(folder) / f"{fingerprint}.sqlite"
        self.dim, self.limit = dim, cache_limit()
        self._usable = self.limit > 0

    def get(self, texts: Sequence[str], prompt: str = "") -> tuple[Floats, Mask]:
        """(texts, dim) vectors and (texts,) whether each is cached; the others are zero.

        prompt: the one they were encoded with.
        """
        vectors, known = np.zeros((len(texts), self.dim), np.float32), np.zeros(len(texts), np.bool_)
        row = {_key(text, prompt): i for i, text in enumerate(texts)}
        stale = []
        for key, vector, checksum, used in self._run(self._select, list(row)):
            if key not in row or not _sound(key, vector, checksum, 2 * self.dim):
                continue
            vectors[row[key]], known[row[key]] = np.frombuffer(vector, np.float16), True
            if used != _now():
                stale.append(key)
        self._run(self._touch, stale)
        return vectors, known

    def put(self, texts: Sequence[str], vectors: Floats, prompt: str = "") -> None:
        """Store vectors (texts, dim) of texts with this prompt."""
        halves = np.asarray(vectors, np.float16)
        pairs = [(_key(text, prompt), half.tobytes()) for text, half in zip(texts, halves, strict=True)]
        self._run(self._insert, [(key, vector, _checksum(key, vector), _now()) for key, vector in pairs])
        if self._usable:
            try:
                keep_to(self.limit, self.path.parent)
            except (OSError, sqlite3.Error) as error:
                _log.warning("%s: cannot be made smaller (%s)", self.path.parent, error)

    def _select(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> list[_Row]:
        found: list[_Row] = []
        for start in range(0, len(keys), _ASKED):
            asked = keys[start : start + _ASKED]
            places = ",".join("?" * len(asked))
            found += database.execute(f"SELECT * FROM vectors WHERE text IN ({places})", asked)  # noqa: S608
        return found

    def _insert(self, database: sqlite3.Connection, rows: Sequence[_Row]) -> list[_Row]:
        database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
        return []

    def _touch(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> list[_Row]:
        database.executemany("UPDATE vectors SET used = ? WHERE text = ?", [(_now(), key) for key in keys])
        return []

    def _run(self, action: Callable[[sqlite3.Connection, Sequence[T]], list[_Row]], values: Sequence[T]) -> list[_Row]:
        """Run in one transaction; returns the empty result when the file cannot be used."""
        if not self._usable or not values:
            return []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=30)) as database, database:
                with suppress(sqlite3.OperationalError):  # another process is just doing the same
                    database.execute("PRAGMA journal_mode=WAL")  # readers and a writer do not wait for each other
                database.execute(_TABLE)
                return action(database, values)
        except (OSError, sqlite3.OperationalError) as error:
            self._usable = False
            _log.warning("%s: embeddings are not kept (%s)", self.path, error)
        except (sqlite3.Error, ValueError, OverflowError) as error:  # an invalid index or text is damage too
            _log.warning("%s: damaged (%s), set aside; its embeddings are computed again", self.path, error)
            self._set_aside()
        return []

    def _set_aside(self) -> None:
        """Set the file aside. The journals are removed: they would be replayed into a new file."""
        try:
            for journal in ("-wal", "-shm"):
                self.path.with_name(self.path.name + journal).unlink(missing_ok=True)
            self.path.replace(self.path.with_suffix(".damaged"))
        except OSError:
            self._usable = False


def keep_to(limit: int, folder: Path) -> None:
    """If the files exceed this many bytes, remove the least recently used: damaged files, encoders, texts."""
    sizes = {path: _size(path) for path in folder.glob("*.sqlite")}
    damaged = {path: path.stat().st_size for path in folder.glob("*.damaged")}
    excess = sum(sizes.values()) + sum(damaged.values()) - limit
    if excess <= 0:
        return
    for path, size in damaged.items():
        path.unlink(missing_ok=True)
        excess -= size
    excess += int((1 - _SPARED) * limit) if excess > 0 else 0
    oldest = sorted(sizes, key=_used)
    for path in oldest[:-1]:
        if excess > 0:
            _remove(path)
            excess -= sizes[path]
    if excess > 0 and oldest:
        _shrink(oldest[-1], min(1.0, excess / max(1, sizes[oldest[-1]])))


def _shrink(path: Path, share: float) -> None:
    """Remove this share of the rows, the least recently used, and free their space."""
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as database:
        (count,) = database.execute("SELECT COUNT(*) FROM vectors").fetchone()
        oldest = "SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?"
        database.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", [int(np.ceil(count * share))])  # noqa: S608
        with suppress(sqlite3.OperationalError):  # another process reads: the next write tries again
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _remove(path: Path) -> None:
    for file in reversed(_files(path)):  # a journal must not outlive its file: it would be replayed into a new one
        with suppress(OSError):  # Windows removes nothing that another process has open
            file.unlink(missing_ok=True)


def _files(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + journal) for journal in ("-wal", "-shm"))]


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in _files(path) if file.exists())


def _used(path: Path) -> float:
    """When it was last written. Readers leave a journal without content."""
    written = [file.stat() for file in _files(path)[:2] if file.exists()]
    return max((each.st_mtime for each in written if each.st_size), default=0.0)


def _count(path: Path) -> int | None:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)) as database:
            return int(database.execute("SELECT COUNT(*) FROM vectors").fetchone()[0])
    except sqlite3.Error:
        return None


def _folder(folder: Path | None) -> Path:
    return (folder or cache_folder()) / "embeddings"


def _now() -> int:
    """Hours: a row's time of last use is written at most once in an hour."""
    return int(time.time()) // 3600


def _sound(key: bytes, vector: object, checksum: object, length: int) -> bool:
    return isinstance(vector, bytes) and len(vector) == length and checksum == _checksum(key, vector)


def _checksum(key: bytes, vector: bytes) -> bytes:
    """A checksum that includes the key, so that a damaged index cannot return another text's vector."""
    return hashlib.blake2b(key + vector, digest_size=8).digest()


def _key(text: str, prompt: str = "") -> bytes:
    """A text with a prompt is keyed by it (blake2b's key), so that no text and prompt can pass for another text."""
    secret = hashlib.blake2b(prompt.encode("utf-8", "surrogatepass")).digest() if prompt else b""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=secret).digest()
