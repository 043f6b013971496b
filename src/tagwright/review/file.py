"""The file of a review: an SQLite database in WAL mode, which holds decisions, documents and the server's secret."""

import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from tagwright.core.atomic import is_in_place
from tagwright.core.outputs import check_kind, write_output
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


class DisplacedError(StorageError):
    """The file was replaced or removed while it was open: what is written would be in no file."""

    def __init__(self, path: Path | str) -> None:
        super().__init__("the file was replaced or removed while it was open; start the server again", path)


class ReviewFile:
    """An open review file. Several threads and processes may use it at a time.

    Raises InputError for a file of another kind or version, for one without tables that is read only, and for one that
    SQLite cannot open or write.

    Parameters
    ----------
    path : Path or str
        The file, created if missing; ":memory:" for none.
    read_only : bool
        Write nothing, as for a file on a read-only disk.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._lock, self._is_immutable = threading.RLock(), False
        try:
            self._database = self._connect_read_only() if read_only else self._connect(self.path)
            version = self._version()
            if version is None and read_only:
                log = f"{self.path.name}-wal"
                problem = f"holds no review; of a file that a server had open, {log} beside it is to be copied as well"
                raise InputError(problem, self.path)
            if version not in (None, _FORMAT):
                raise InputError("is a database of something else, or of another version of Tagwright", self.path)
            if not read_only:
                self._prepare()
            self._opened = [] if read_only or path == ":memory:" else [(each, each.stat()) for each in self._places()]
            self._first_version = self._schema_version() if self._opened else 0
        except sqlite3.Error as error:
            raise InputError(f"cannot be used as a store of decisions ({error})", self.path) from None

    @classmethod
    def open_existing(cls, path: Path) -> Self:
        """Open a file to read its decisions, also on a read-only or full disk. Raises InputError if it has none."""
        if not path.is_file():
            raise InputError("no such file; give a file of reviews that a server has written", path)
        return cls(path, read_only=True)

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    def copy_to(self, path: Path) -> None:
        """Write a copy of all that is stored, in one step, also while others write here.

        The copy can be told from this file by its header, see `check_in_place`. Raises OccupiedError for a file that is
        there already, StorageError when it cannot be read or written.
        """
        check_kind(path)
        with write_output(path) as temporary, self._lock:
            try:
                self._database.execute("VACUUM INTO ?", (str(temporary),))
                with closing(self._connect(temporary)) as copy:
                    copy.execute(f"PRAGMA schema_version = {secrets.randbelow(1 << 31)}")
            except sqlite3.Error as error:
                raise StorageError(str(error), path) from None

    def insert(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        """Insert rows together, all of them or none, and return their numbers. They are on disk when this returns.

        Raises StorageError, DisplacedError as `check_in_place` does.
        """
        with self._lock:
            self.check_in_place()
            try:
                with self._database:
                    return [int(self._database.execute(statement, row).lastrowid or 0) for row in rows]
            except sqlite3.Error as error:
                raise StorageError(str(error), self.path) from None

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a query selects. values: those of its placeholders. Raises InputError."""
        with self._lock:
            if self._is_immutable and self._has_log():  # a server has opened it since
                self._database = self._connect_read_only()
            try:
                with closing(self._database.execute(statement, values)) as cursor:
                    return cursor.fetchall()
            except sqlite3.Error as error:
                raise InputError(f"cannot be read ({error})", self.path) from None

    def check_in_place(self) -> None:
        """Raise DisplacedError where another file, or none, is in the place of the one that is open for writing."""
        if not all(is_in_place(path, opened) for path, opened in self._opened):
            raise DisplacedError(self.path)
        if self._opened and (version := self._schema_version()) != self._first_version:  # a copy was written over it
            ((known,),) = self.rows("PRAGMA schema_version")
            if version != known:  # nor was it changed by way of SQLite
                raise DisplacedError(self.path)

    def _schema_version(self) -> int:
        """The number in the header of the file on disk that each copy has of its own."""
        with self.path.open("rb") as file:
            return int.from_bytes(file.read(44)[40:])

    def secret(self) -> bytes:
        """Return random bytes, drawn once for the file: every server of this file signs sessions with them."""
        self.insert("INSERT OR IGNORE INTO secrets VALUES (1, ?)", [(secrets.token_bytes(32),)])
        ((secret,),) = self.rows("SELECT secret FROM secrets")
        return bytes(secret)

    def _connect_read_only(self) -> sqlite3.Connection:
        """Open the file without writing to it, and without a log (-wal) without making any other file.

        SQLite is told then that the file is immutable. It would ignore a log; to read that it needs an index (-shm),
        which it makes. A log is refused where that cannot be.
        """
        self._is_immutable, log = not self._has_log(), self._places()[1]
        options = "mode=ro&immutable=1" if self._is_immutable else "mode=ro"
        connection = self._connect(f"{self.path.resolve().as_uri()}?{options}", uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            if self._is_immutable:
                raise
            problem = f"has decisions in {log.name} that cannot be read here; copy both to where they can be written"
            raise InputError(problem, self.path) from None
        return connection

    def _places(self) -> list[Path]:
        """The file and its log."""
        return [self.path, self.path.with_name(f"{self.path.name}-wal")]

    def _has_log(self) -> bool:
        _, log = self._places()
        return log.exists() and log.stat().st_size > 0

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
