"""Logs of tagged documents: JSON lines that several processes may append to, and the monitors that follow one."""

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tagwright.core.atomic import append_at_once, report_write_errors
from tagwright.errors import InputError
from tagwright.monitoring.monitor import Look, Monitor, Signal
from tagwright.monitoring.record import Record
from tagwright.types import Document

_log = logging.getLogger(__name__)


class First(NamedTuple):
    """The first entry of a version of a tagger. languages: how many documents of its training are in each, if known."""

    version: str
    languages: Mapping[str, int] | None

    def to_json(self) -> dict[str, Any]:
        """The entry as plain JSON."""
        return {"version": self.version, "profile": {"languages": self.languages} if self.languages else None}


def first_entry(version: str, training: Mapping[str, Any]) -> First:
    """The first entry of a version. training: the record of its training."""
    profile = training.get("profile")
    return First(version, {str(k): int(n) for k, n in profile["languages"].items()} if profile else None)


def begin(path: Path, version: str, training: Mapping[str, Any]) -> None:
    """Append the first entry of a version. Raises InputError for a file of another kind, TagwrightError as `append`."""
    if path.exists():
        next(read(path), None)
    append(path, [first_entry(version, training)])


def append(path: Path, entries: Iterable[First | Record]) -> None:
    """Append entries to a log, created if missing. Raises TagwrightError where it cannot be written."""
    lines = "".join(json.dumps(entry.to_json(), ensure_ascii=False) + "\n" for entry in entries)
    with report_write_errors(path), path.open("a+b", buffering=0) as file:
        if file.tell():
            file.seek(-1, 2)
            lines = lines if file.read(1) == b"\n" else f"\n{lines}"  # a killed process left half a line
        append_at_once(file, lines.encode(errors="replace"))


def read(path: Path) -> Iterator[First | Record]:
    """The entries of a log in order; lines of killed processes are left out, with a warning. Raises InputError."""
    good = bad = 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in filter(str.strip, file):
                try:
                    content = json.loads(line)
                    is_first = "profile" in content
                    entry = first_entry(str(content["version"]), content) if is_first else Record.from_json(content)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    bad += 1
                    continue
                good += 1
                yield entry
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path) from None
    if bad and not good:
        raise InputError("holds no tagged documents; expected a log written with --monitor", path)
    if bad:
        _log.warning("%s: %d lines cannot be read, and are left out", path, bad)


class Watch:
    """The monitors of all versions of taggers in a log, which it appends to.

    must_exist: whether a missing log is an error. most: versions that are followed, the newest. Raises InputError for
    a missing log, and for a file of another kind.
    """

    def __init__(self, path: Path, *, must_exist: bool = False, most: int | None = None) -> None:
        self.path, self._most = path, most
        self.monitors: dict[str, Monitor] = {}
        self._lock = threading.Lock()
        for entry in read(path) if must_exist or path.exists() else ():
            self._take(entry)

    def add(
        self,
        version: str,
        training: Mapping[str, Any],
        tagged: Iterable[tuple[Document, Iterable[tuple[str, float | None]]]],
    ) -> None:
        """Record documents with their labels and confidences. Raises TagwrightError where the log cannot be written."""
        entries: list[First | Record] = [Record.of(document, version, suggested) for document, suggested in tagged]
        with self._lock:
            if version not in self.monitors:
                entries.insert(0, first_entry(version, training))
            append(self.path, entries)  # first: where it fails, the next documents begin the version again
            for entry in entries:
                self._take(entry)

    def looks(self, version: str, accepted: Sequence[float] = ()) -> dict[Signal, list[Look]]:
        """The looks at each signal of a version; none of one that has tagged nothing."""
        with self._lock:
            return self.monitors[version].looks(accepted) if version in self.monitors else {}

    def _take(self, entry: First | Record) -> None:
        if entry.version not in self.monitors:
            self.monitors[entry.version] = Monitor(entry.languages if isinstance(entry, First) else None)
            while self._most and len(self.monitors) > self._most:
                del self.monitors[next(iter(self.monitors))]
        if isinstance(entry, Record):
            self.monitors[entry.version].add(entry)
