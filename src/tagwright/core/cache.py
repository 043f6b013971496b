"""The user's cache: vectors, parsed vocabularies, indexes and other results that take long, in one SQLite database.

It saves time and nothing else depends on it: where it cannot be read or written, one line is logged and everything is
computed again. Beyond its limit, the entries that were written first are removed, whatever they are.
"""

import functools
import hashlib
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import IO, TypeVar

from tagwright.errors import ConfigError

LIMIT = 2 << 30
"The default limit of the cache, in bytes."

KEPT = 0.75
"The share of the limit to which the cache is reduced, so that not every write has to reduce it."

LARGEST = 1 << 29
"Bytes of an entry at most: SQLite takes 1 GB."

NAME = "tagwright-cache.sqlite"

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Cache:
    """The entries of a folder, at most `limit` bytes; with a limit of 0, nothing is kept."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder, self.limit = folder, limit
        self._usable = limit > 0

    def get(self, kind: str, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return contents by key, without missing ones."""

        def read(database: sqlite3.Connection) -> dict[bytes, bytes]:
            found, asked = dict[bytes, bytes](), iter(keys)
            while some := list(islice(asked, 10_000)):  # SQLite takes at most 32,766
                query = f"SELECT key, content FROM kept WHERE kind = ? AND key IN ({','.join('?' * len(some))})"  # noqa: S608
                found |= database.execute(query, [kind, *some])
            return found

        return (self._run(read) if keys else None) or {}

    def put(self, kind: str, contents: Mapping[bytes, bytes]) -> None:
        """Store contents by key, all or none; contents above the size limit are left out."""
        most = min(KEPT * self.limit, LARGEST)
        rows = [(kind, key, content) for key, content in contents.items() if len(content) <= most]

        def write(database: sqlite3.Connection) -> None:
            database.executemany("INSERT OR REPLACE INTO kept (kind, key, content) VALUES (?, ?, ?)", rows)
            self._keep_to_limit(database)

        if rows:
            self._run(write)

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """The result of a transaction; None where the database cannot be used, which is said once."""
        if not self._usable:
            return None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.folder / NAME, timeout=30)) as database, database:
                database.execute("PRAGMA page_size=16384")  # several vectors fill one with little left over
                with suppress(sqlite3.OperationalError):  # another process is just doing the same
                    database.execute("PRAGMA journal_mode=WAL")  # readers and a writer do not wait for each other
                database.execute("PRAGMA synchronous=NORMAL")
                database.execute(
                    "CREATE TABLE IF NOT EXISTS kept (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, "
                    "key BLOB NOT NULL, content BLOB NOT NULL, UNIQUE (kind, key))"
                )
                return action(database)
        except (OSError, sqlite3.Error) as error:
            self._usable = False
            _log.warning("%s: nothing is kept or found there (%s); remove it if it is damaged", self.folder, error)
            return None

    def _keep_to_limit(self, database: sqlite3.Connection) -> None:
        """Remove the entries that were written first if the limit is exceeded; new ones take their place."""
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        if (pages - free) * size <= self.limit:
            return
        newest = "SELECT number, SUM(LENGTH(content)) OVER (ORDER BY number DESC) AS sum FROM kept"
        database.execute(
            f"DELETE FROM kept WHERE number IN (SELECT number FROM ({newest}) WHERE sum > ?)",  # noqa: S608  # our own
            [KEPT * self.limit],
        )


_shared = functools.cache(Cache)
"One cache per folder in a process, so that a problem with it is reported once."


def user_cache() -> Cache:
    """The cache in `cache_folder` with `cache_limit`. Raises ConfigError as that does."""
    return _shared(cache_folder(), cache_limit())


def cache_folder() -> Path:
    """$TAGWRIGHT_CACHE, or the user's folder for caches."""
    if folder := os.environ.get("TAGWRIGHT_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tagwright"


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
    if not (given := re.fullmatch(r"(\d{1,12}(?:\.\d+)?)([KMG]?)B?", text.upper())):
        raise ConfigError(f"TAGWRIGHT_CACHE_LIMIT is {text!r}, expected bytes, such as 500M or 4G")
    return int(float(given[1]) * 1024 ** " KMG".index(given[2] or " "))


def file_key(file: IO[bytes], options: Iterable[object]) -> bytes:
    """Return the key of what is made from the rest of a file with these options."""
    key = hashlib.blake2b(repr(tuple(options)).encode(), digest_size=20)
    while chunk := file.read(1 << 20):
        key.update(chunk)
    return key.digest()
