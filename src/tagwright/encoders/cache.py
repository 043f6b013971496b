"""Texts in, the vectors computed for them before out: one SQLite file per encoder, shared by all processes.

The cache saves work and nothing else depends on it: when its file cannot be read or written, one line of log says so
and everything is computed anew.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from tagwright.caching import cache_folder as cache_folder
from tagwright.types import Floats, Mask

T = TypeVar("T")

log = logging.getLogger(__name__)

_TABLE = "CREATE TABLE IF NOT EXISTS embeddings (text BLOB PRIMARY KEY, vector BLOB NOT NULL)"
_ASKED = 10_000  # keys per query; SQLite takes at most 32,766


class EmbeddingCache:
    """The vectors of one encoder, `dim` numbers each, kept as float16. fingerprint: what tells encoders apart."""

    def __init__(self, fingerprint: str, dim: int, folder: Path | None = None) -> None:
        self.path = (folder or cache_folder()) / "embeddings" / f"{fingerprint}.sqlite"
        self.dim = dim
        self._usable = True

    def get(self, texts: Sequence[str]) -> tuple[Floats, Mask]:
        """(texts, dim) vectors and (texts,) which of them are known; the others are zero."""
        vectors, known = np.zeros((len(texts), self.dim), np.float32), np.zeros(len(texts), np.bool_)
        row = {_key(text): i for i, text in enumerate(texts)}
        for key, vector in self._run(self._select, list(row)):
            if len(vector) == 2 * self.dim:
                vectors[row[key]], known[row[key]] = np.frombuffer(vector, np.float16), True
        return vectors, known

    def put(self, texts: Sequence[str], vectors: Floats) -> None:
        """Remember vectors (texts, dim)."""
        halves = np.asarray(vectors, np.float16)
        self._run(self._insert, [(_key(text), half.tobytes()) for text, half in zip(texts, halves, strict=True)])

    def _select(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        for start in range(0, len(keys), _ASKED):
            asked = keys[start : start + _ASKED]
            places = ",".join("?" * len(asked))
            found += database.execute(f"SELECT text, vector FROM embeddings WHERE text IN ({places})", asked)  # noqa: S608
        return found

    def _insert(self, database: sqlite3.Connection, rows: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        database.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", rows)
        return []

    def _run(
        self, action: Callable[[sqlite3.Connection, Sequence[T]], list[tuple[bytes, bytes]]], values: Sequence[T]
    ) -> list[tuple[bytes, bytes]]:
        """Do it in one transaction; nothing found where the file does not let itself be used."""
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
            log.warning("%s: embeddings are not kept (%s)", self.path, error)
        except sqlite3.DatabaseError as error:
            log.warning("%s: damaged (%s), set aside; its embeddings are computed anew", self.path, error)
            self._set_aside()
        return []

    def _set_aside(self) -> None:
        """Make way for a new file. The journals go: they would be replayed into the new one."""
        try:
            for journal in ("-wal", "-shm"):
                self.path.with_name(self.path.name + journal).unlink(missing_ok=True)
            self.path.replace(self.path.with_suffix(".damaged"))
        except OSError:
            self._usable = False


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
