"""The file of a review: an SQLite database in WAL mode, which holds decisions, documents and the server's secret."""

import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from tagwright.core.outputs import write_output
from tagwright.errors import InputError

_FORMAT = 1
_APPLICATION = 0x54414757  # "TAGW": says that the file is ours

_TABLES = (
    "CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL, "
    "reviewer TEXT NOT NULL, action TEXT NOT NULL, label TEXT, rank INTEGER, confidence REAL, drawn_from INTEGER, "
    "model TEXT NOT NULL, note TEXT NOT NULL, time TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS documents (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
    "title TEXT NOT NULL, content TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS secrets (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL)",
)


class StorageError(InputError):
    """A write to the disk failed. cause: the message of SQLite or of the system. path: the file."""

    def __init__(self, cause: str, path: Path | str) -> None:
        super().__init__(f"could not be written ({cause})", path)
        self.cause = cause


class ReviewFile:
    """An open review file. Several threads and processes may use it at a time.

    Raises InputError for a file of another kind or version, for one without tables that are not to be made, and for one
    that SQLite cannot open or write.

    Parameters
    ----------
    path : Path or str
        The file, created if missing; ":memory:" for none.
    read_only : bool
        Write nothing, as for a file on a read-only disk.
    create : bool
        Make the tables if there are none; a file that is read only is left as it is.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False, create: bool = True) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self._database = self._connect_read_only() if read_only else self._connect(self.path)
            version = self._version()
            if version is None and (read_only or not create):
                log = f"{self.path.name}-wal"
                problem = f"holds no review; of a file that a server had open, {log} beside it is to be copied as well"
                raise InputError(problem, self.path)
            if version not in (None, _FORMAT):
                raise InputError("is a database of something else, or of another version of Tagwright", self.path)
            if not read_only:
                self._prepare()
        except sqlite3.Error as error:
            raise InputError(f"cannot be used as a store of decisions ({error})", self.path) from None

    @classmethod
    def open_existing(cls, path: Path) -> Self:
        """Open a file to read its decisions, also on a read-only disk. Raises InputError if it holds no review.

        It is opened for writing wherever possible: SQLite reads a file in WAL mode by way of an index beside it.
        """
        return cls(path, read_only=not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)), create=False)

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def copy_to(self, path: Path) -> None:
        """Write a copy of all that is stored, in one step, also while others write here.

        Raises OccupiedError for a file that is a database already, StorageError when it cannot be read or written.
        """
        with write_output(path) as temporary, self._lock:
            try:
                self._database.execute("VACUUM INTO ?", (str(temporary),))
            except sqlite3.Error as error:
                raise StorageError(str(error), path) from None

    def insert(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        """Insert rows together, all of them or none, and return their numbers. They are on disk when this returns.

        Raises StorageError.
        """
        with self._lock:
            try:
                with self._database:
                    return [int(self._database.execute(statement, row).lastrowid or 0) for row in rows]
            except sqlite3.Error as error:
                raise StorageError(str(error), self.path) from None

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a query selects. values: those of its placeholders."""
        with self._lock, closing(self._database.execute(statement, values)) as cursor:
            return cursor.fetchall()

    def secret(self) -> bytes:
        """Return random bytes, drawn once for the file: every server of this file signs sessions with them."""
        self.insert("INSERT OR IGNORE INTO secrets VALUES (1, ?)", [(secrets.token_bytes(32),)])
        ((secret,),) = self.rows("SELECT secret FROM secrets")
        return bytes(secret)

    def _connect_read_only(self) -> sqlite3.Connection:
        """Open the file without writing anything.

        In a folder where SQLite cannot write, it needs the log (-wal) and its index (-shm), or has to be told that the
        file is immutable. It would then ignore a log, so one that holds decisions is refused.
        """
        log, index = (self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-shm"))
        is_immutable = not (log.exists() and index.exists())
        if is_immutable and log.exists() and log.stat().st_size:
            problem = f"has decisions in {log.name} that cannot be read here; copy both to where they can be written"
            raise InputError(problem, self.path)
        options = "mode=ro&immutable=1" if is_immutable else "mode=ro"
        return self._connect(f"{self.path.resolve().as_uri()}?{options}", uri=True)

    def _connect(self, path: Path | str, *, uri: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(path, check_same_thread=False, timeout=30, uri=uri)
        weakref.finalize(self, connection.close)  # Python warns of a connection that nobody closed
        return connection

    def _prepare(self) -> None:
        execute = self._database.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA wal_autocheckpoint = 1")  # what copies this file alone, without its log, misses nothing
        execute("PRAGMA synchronous = FULL")  # an acknowledged decision survives a power cut, not only a kill
        with self._database:
            execute("BEGIN IMMEDIATE")  # another process may open the file as well
            for table in _TABLES:
                execute(table)
            execute(f"PRAGMA application_id = {_APPLICATION}")
            execute(f"PRAGMA user_version = {_FORMAT}")

    def _version(self) -> int | None:
        """Return the version of the file's format; None for an empty database, 0 for one of something else."""
        execute = self._database.execute
        if not execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return None
        (owner,), (version,) = execute("PRAGMA application_id").fetchone(), execute("PRAGMA user_version").fetchone()
        return int(version) if owner == _APPLICATION else 0
