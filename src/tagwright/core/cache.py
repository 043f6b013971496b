"""The user's cache: vectors, parsed vocabularies, indexes and other results that take long, in one folder.

It saves time and nothing else depends on it. Entries are rows of one SQLite database, shared by all processes; the
content of a row is in it or, where a library needs a file, in a file beside it. All together they respect a limit: the
least recently used entries are removed, whatever they are. Where nothing can be read or written, one line is logged and
everything is computed again. Every row has a checksum: a damaged one counts as missing, and a damaged database is
replaced.
"""

import functools
import hashlib
import logging
import os
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from tagwright.core.atomic import delete, replace_file, report_write_errors
from tagwright.errors import ConfigError, TagwrightError

LIMIT = 2 << 30
"The default limit of the cache, in bytes."

T = TypeVar("T")

_log = logging.getLogger(__name__)

_NAME = "tagwright-cache"
_FILE = rf"{_NAME}-[0-9a-f]{{32}}\.file"
_SPARED = 0.75  # share of the limit to which the cache is reduced, so that not every write has to check
_HOUR = 3600  # the time of last use is written at most once in an hour


class Kind(NamedTuple):
    """The entries of one kind. size: bytes. used: when one was last used, in seconds since 1970, within an hour."""

    name: str
    entries: int
    size: int
    used: int


class Cache:
    """The entries of a folder, at most `limit` bytes; with a limit of 0, nothing is kept."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder, self.limit = folder, limit
        self._path = folder / f"{_NAME}.sqlite"
        self._usable = True

    def get(self, kind: str, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return contents by key, without missing or damaged ones."""
        if not self.limit or not keys:
            return {}

        def read(database: sqlite3.Connection) -> list[tuple[bytes, bytes, bytes, int]]:
            rows, asked = [], iter(keys)
            while some := list(islice(asked, 10_000)):  # SQLite takes at most 32,766
                query = f"SELECT key, content, checksum, used FROM entries WHERE key IN ({','.join('?' * len(some))})"  # noqa: S608
                rows += database.execute(f"{query} AND kind = ?", [*some, kind]).fetchall()
            return rows

        sound = [row for row in self._run(read) or [] if row[2] == _checksum(kind, row[0], row[1])]
        now = int(time.time())
        if stale := [(now, key, kind) for key, _, _, used in sound if abs(now - used) > _HOUR]:
            self._run(lambda database: database.executemany("UPDATE entries SET used=? WHERE key=? AND kind=?", stale))
        return {key: content for key, content, _, _ in sound}

    def put(self, kind: str, contents: Mapping[bytes, bytes]) -> None:
        """Store contents by key, all or none; contents above the size limit are left out."""
        rows = [(key, kind, content, len(content)) for key, content in contents.items()]
        most = min(_SPARED * self.limit, 1 << 29)  # SQLite takes 1 GB
        self._write([row for row in rows if row[-1] <= most])

    def file(
        self, kind: str, key: bytes, make: Callable[[Path], None], is_sound: Callable[[Path], bool]
    ) -> Path | None:
        """The file that `make` wrote for this key, now or earlier; None where it cannot be kept.

        is_sound: False for a damaged one, which is then replaced. Another process may remove the file at any time: open
        it without creating it.
        """
        digest = hashlib.blake2b(key, digest_size=16, person=kind.encode()[:16])
        path = self.folder / f"{_NAME}-{digest.hexdigest()}.file"
        if not self.limit or not self._usable:
            return None
        try:
            if path.is_file() and is_sound(path):
                self._write([(path.name.encode(), kind, None, path.stat().st_size)])
                return path
            with replace_file(path) as temporary:
                make(temporary)
                size = temporary.stat().st_size
                if size > _SPARED * self.limit:
                    raise TagwrightError(f"it has {size:,} bytes, the limit of the cache is {self.limit:,}")
                self._write([(path.name.encode(), kind, None, size)])  # before it is in place: no file lacks a row
        except (TagwrightError, OSError, sqlite3.Error) as error:
            _log.warning("%s: %s is not kept (%s)", self.folder, kind, error)
            return None
        return path

    def contents(self) -> list[Kind]:
        """The entries, by the name of their kind."""
        if not self._path.exists():
            return []
        listed = "SELECT kind, COUNT(*), SUM(size), MAX(used) FROM entries GROUP BY kind ORDER BY kind"
        return [Kind(*row) for row in self._run(lambda database: database.execute(listed).fetchall()) or []]

    def size(self) -> int:
        """Bytes on the disk."""
        return sum(map(_size, self._ours()))

    def clear(self) -> int:
        """Remove everything that is kept, and no file of others; returns how many bytes that frees.

        Other processes may go on: a database that one of them has open is emptied. Raises TagwrightError for a folder
        that holds only files of others, and where a file cannot be removed.
        """
        before = self.size()
        if not self._ours() and self.folder.is_dir() and any(self.folder.iterdir()):
            raise TagwrightError(f"{self.folder}: is no cache of Tagwright; correct TAGWRIGHT_CACHE")
        with report_write_errors(self.folder):
            if self._path.exists():
                self._run(_empty_database)
            in_use = self._path.with_name(f"{self._path.name}-shm").exists()  # the last to close it removes this file
            for path in self._ours():
                if not (in_use and path.name.startswith(self._path.name)):
                    delete(path)
        return before - self.size()

    def _write(self, rows: Collection[tuple[bytes, str, bytes | None, int]]) -> None:
        now = int(time.time())
        whole = [
            (key, kind, content, _checksum(kind, key, content or b""), size + 200, now)  # with its other columns
            for key, kind, content, size in rows
        ]

        def write(database: sqlite3.Connection) -> None:
            database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?)", whole)
            database.commit()
            self._keep_to_limit(database)

        if whole and self.limit:
            self._run(write)

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """The result of a transaction; None where the database cannot be used.

        What fails is tried once more: the database may have been damaged, or another process has just removed it.
        """
        for last in (False, True):
            try:
                return self._once(action) if self._usable else None
            except (OSError, sqlite3.OperationalError) as error:
                self._usable = not last
                if last:
                    _log.warning("%s: nothing is kept or found there (%s)", self.folder, error)
            except (sqlite3.Error, ValueError, OverflowError) as error:  # an invalid index or text is damage too
                _log.warning("%s: damaged (%s), replaced; what it held is computed again", self._path, error)
                self._remove_database()
        return None

    def _once(self, action: Callable[[sqlite3.Connection], T]) -> T:
        self.folder.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
            database.execute("PRAGMA page_size=16384")  # several vectors fill one with little left over
            with suppress(sqlite3.OperationalError):  # another process is just doing the same
                database.execute("PRAGMA journal_mode=WAL")  # readers and a writer do not wait for each other
            database.execute("PRAGMA synchronous=OFF")  # what a power failure damages is computed again
            database.execute(
                "CREATE TABLE IF NOT EXISTS entries (key BLOB NOT NULL, kind TEXT NOT NULL, content BLOB, "
                "checksum BLOB NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (key, kind))"
            )
            # holds all that a listing or a removal asks for
            database.execute("CREATE INDEX IF NOT EXISTS by_use ON entries (used, kind, size)")
            return action(database)

    def _keep_to_limit(self, database: sqlite3.Connection) -> None:
        """Remove the least recently used entries if the limit is exceeded, and files without an entry."""
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        excess = (pages - free) * size + sum(map(_size, self._files())) - self.limit
        if excess <= 0:
            return
        database.execute("UPDATE entries SET used = 0 WHERE used > ?", [time.time() + _HOUR])  # the clock went back
        excess += int((1 - _SPARED) * self.limit)
        sums = "SELECT rowid AS id, size, SUM(size) OVER (ORDER BY used ROWS UNBOUNDED PRECEDING) AS sum FROM entries"
        oldest = f"SELECT id FROM ({sums}) WHERE sum - size < ?"  # noqa: S608  # our own
        database.execute(f"DELETE FROM entries WHERE rowid IN ({oldest})", [excess])  # noqa: S608
        database.commit()
        for path in self._files():
            kept = database.execute("SELECT 1 FROM entries WHERE key = ?", [path.name.encode()]).fetchone()
            if not kept and path.suffix == ".file":  # others are just being made
                with suppress(OSError):  # Windows removes nothing that another process has open
                    delete(path)
        with suppress(sqlite3.OperationalError):  # what is free is used by the next rows
            _compact_database(database)

    def _remove_database(self) -> None:
        """Remove a damaged database; its journals first, which would be replayed into a new one."""
        try:
            for journal in ("-wal", "-shm", ""):
                delete(self._path.with_name(self._path.name + journal))
        except OSError:
            self._usable = False

    def _ours(self) -> list[Path]:
        names = rf"{_NAME}\.sqlite(-wal|-shm|-journal)?|{_FILE}|\.{_FILE}\.(lock|tmp[0-9a-f]{{8}})"
        try:
            return [path for path in self.folder.iterdir() if re.fullmatch(names, path.name)]
        except OSError:
            return []

    def _files(self) -> list[Path]:
        return [path for path in self._ours() if not path.name.startswith(self._path.name)]


_shared = functools.cache(Cache)
"One cache per folder in a process, so that a problem with it is reported once."


def user_cache() -> Cache:
    """The cache in `cache_folder` with `cache_limit`. Raises ConfigError as that does."""
    return _shared(cache_folder(), cache_limit())


def cache_folder() -> Path:
    """$TAGWRIGHT_CACHE, or the platform's folder for caches."""
    if folder := os.environ.get("TAGWRIGHT_CACHE"):
        return Path(folder)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tagwright"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tagwright" / "cache"
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
    number = text.upper().removesuffix("B")
    unit = number[-1:] if number[-1:] in ("K", "M", "G") else ""
    try:
        size = float(number.removesuffix(unit)) * 1024 ** " KMG".index(unit or " ")
        if not 0 <= size < 1 << 60:
            raise ValueError
    except ValueError:
        raise ConfigError(f"TAGWRIGHT_CACHE_LIMIT is {text!r}, expected bytes, such as 500M or 4G") from None
    return int(size)


def _empty_database(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM entries")
    database.commit()
    _compact_database(database)


def _compact_database(database: sqlite3.Connection) -> None:
    """Give what removed rows took back to the disk."""
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _checksum(kind: str, key: bytes, content: object) -> bytes | None:
    """A checksum that includes the key, so that a damaged index cannot return another entry; None for no bytes."""
    if not isinstance(content, bytes):
        return None
    return hashlib.blake2b(key + content, digest_size=8, person=kind.encode()[:16]).digest()


def _size(path: Path) -> int:
    with suppress(OSError):  # another process has just removed it
        return path.stat().st_size
    return 0


def file_key(file: IO[bytes], options: Iterable[object]) -> bytes:
    """Return the key of what is made from the rest of a file with these options."""
    key = hashlib.blake2b(repr(tuple(options)).encode(), digest_size=20)
    while chunk := file.read(1 << 20):
        key.update(chunk)
    return key.digest()
