"""The audit log: a line of JSON for each answered document, written before the reply is sent.

The system has the line before the client has the reply: after a kill, every reply that was received has an entry. Lines
are not synced to the disk: a power cut may lose those of the last seconds.
"""

import json
import logging
import mmap
import os
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any

from tagwright.core.atomic import append_at_once, is_in_place
from tagwright.errors import ConfigError
from tagwright.review.file import StorageError
from tagwright.tagger import Suggestion
from tagwright.types import Document

_log = logging.getLogger(__name__)

_START = b'{"time": "'
"How each line begins."


class Audit:
    """Appends entries to a file, as only one server at a time may. count: number of entries written so far.

    A last line without its end is removed at the start: its reply was not sent. A file that log rotation has renamed or
    removed is made again. Raises ConfigError for a file that another server uses, that cannot be written, or that
    holds anything else.
    """

    def __init__(self, path: Path) -> None:
        from filelock import FileLock, Timeout

        self.path, self.count, self._writing = path, 0, threading.Lock()
        self._owner = FileLock(path.with_name(f".{path.name}.lock"), timeout=0, thread_local=False)
        try:
            self._owner.acquire()
            self._file = self._open()
        except Timeout:
            raise ConfigError(f"{path}: another server writes there; give each server an --audit of its own") from None
        except OSError as error:
            self._owner.release()
            raise ConfigError(f"{path}: cannot be written ({error.strerror}); give another --audit FILE") from None
        try:
            self._repair()
        except OSError as error:
            self.close()
            raise ConfigError(f"{path}: cannot be read back ({error.strerror}); give a file as --audit FILE") from None
        except BaseException:
            self.close()
            raise

    def add(
        self, head: Mapping[str, str], documents: Sequence[Document], suggestions: Sequence[Sequence[Suggestion]]
    ) -> None:
        """Write an entry for each document with its suggestions. head: fields of all entries. Raises StorageError."""
        start = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **head}
        answers = (_answer(*each) for each in zip(documents, suggestions, strict=True))
        lines = "".join(json.dumps({**start, **answer}) + "\n" for answer in answers).encode()
        with self._writing:
            try:
                self._write(lines)
            except OSError as error:
                raise StorageError(error.strerror or "disk error", self.path) from None
            self.count += len(documents)

    def close(self) -> None:
        """Let another server write to the file."""
        self._file.close()
        self._owner.release()

    def _write(self, lines: bytes) -> None:
        """Write all lines, or none."""
        if self._file.closed or not is_in_place(self.path, os.fstat(self._file.fileno())):
            self._file.close()
            self._file = self._open()
        size = os.fstat(self._file.fileno()).st_size
        try:
            append_at_once(self._file, lines)
        except OSError:
            self._file.truncate(size)
            raise

    def _open(self) -> FileIO:
        return FileIO(self.path, "a+", opener=lambda path, flags: os.open(path, flags, 0o600))

    def _repair(self) -> None:
        """Remove a last line without its end. Raises ConfigError for a file of something else."""
        self._file.seek(0)
        start = self._file.read(len(_START))
        if not _START.startswith(start):
            raise ConfigError(f"{self.path}: is no audit log; give another --audit FILE")
        size = end = self._file.seek(0, os.SEEK_END)
        if size:  # an empty file cannot be mapped
            with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                end = content.rfind(b"\n") + 1
        if end < size:
            self._file.truncate(end)
            _log.warning("%s: the last line was not written to its end, and is removed", self.path)


def _answer(document: Document, suggestions: Sequence[Suggestion]) -> dict[str, Any]:
    """The part of an entry about one document: the digest of its text, and its suggestions as in a run file."""
    rows = [{"label": each.id, "score": each.score, "confidence": each.confidence} for each in suggestions]
    return {"sha256": sha256(document.text.encode()).hexdigest(), "suggestions": rows}
