"""The file of a review: an SQLite database in WAL mode, which holds decisions, documents and the server's secret."""

import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from tagwright.core.atomic import is_in_place
from tagwright.core.outputs import check_kind, write_output
from tagwright.errors import InputError, TagwrightError

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


class StorageError(TagwrightError):
    """A file cannot be read or written. cause: the message of SQLite or of the system. path: the file.

    displaced: whether it was replaced or removed while it was open, so that what is written would be in no file.
    """

    def __init__(self, cause: str, path: Path | str, *, displaced: bool = False) -> None:
        super().__init__(f"{path}: cannot be used as a store of decisions ({cause})")
        self.cause, self.displaced = cause, displaced


class ReviewFile:
    """An open review file. Several threads and processes may use it at a time.

    path: the file, created if missing; ":memory:" for none. Raises InputError for a database of another kind or
    version, and, as all methods do, StorageError where SQLite cannot read or write.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        with self._in_turn():
            self._database = sqlite3.connect(path, check_same_thread=False, timeout=30)
            weakref.finalize(self, self._database.close)  # Python warns of a connection that nobody closed
            if (version := self._version()) not in (None, _FORMAT):
                raise InputError("is a database of something else, or of another version of Tagwright", self.path)
            self._prepare(is_new=version is None)
            places = [] if path == ":memory:" else [self.path, self.path.with_name(f"{self.path.name}-wal")]
            self._opened = [(each, each.stat()) for each in places if each.exists()]

    @classmethod
    def open_existing(cls, path: Path) -> Self:
        """Open a file that holds a review. Raises InputError."""
        if not path.is_file() or not path.stat().st_size:
            raise InputError("no such file; give a file of reviews that a server has written", path)
        return cls(path)

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def copy_to(self, path: Path) -> None:
        """Write a copy of all that is stored, in one step, also while others write here.

        Raises OccupiedError for a file that is there already.
        """
        check_kind(path)
        with write_output(path) as temporary, self._in_turn():
            self._database.execute("VACUUM INTO ?", (str(temporary),))

    def insert(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        """Insert rows together, all of them or none, and return their numbers. They are on disk when this returns.

        Raises StorageError as `check_in_place` does.
        """
        with self._in_turn():
            self.check_in_place()
            with self._database:
                return [int(self._database.execute(statement, row).lastrowid or 0) for row in rows]

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a query selects. values: those of its placeholders."""
        with self._in_turn(), closing(self._database.execute(statement, values)) as cursor:
            return cursor.fetchall()

    def check_in_place(self) -> None:
        """Raise StorageError where another file, or none, is in the place of the one that is open for writing."""
        if not all(is_in_place(path, opened) for path, opened in self._opened):
            problem = "the file was replaced or removed while it was open; start the server again"
            raise StorageError(problem, self.path, displaced=True)

    def secret(self) -> bytes:
        """Return random bytes, drawn once for the file: every server of this file signs sessions with them."""
        self.insert("INSERT OR IGNORE INTO secrets VALUES (1, ?)", [(secrets.token_bytes(32),)])
        ((secret,),) = self.rows("SELECT secret FROM secrets")
        return bytes(secret)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Inside this block, no other thread uses the database, and what SQLite refuses is a StorageError."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StorageError(str(error), self.path) from None

    def _prepare(self, *, is_new: bool) -> None:
        execute = self._database.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA wal_autocheckpoint = 1")  # what copies this file alone, without its log, misses nothing
        execute("PRAGMA synchronous = FULL")  # an acknowledged decision survives a power cut, not only a kill
        if is_new:
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
