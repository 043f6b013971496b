"""Outputs that a user names: what must work at the end of a command is tried at its start, and no input is replaced."""

import contextlib
import errno
import glob
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tagwright.core import atomic


@dataclass(frozen=True)
class Written:
    """Marks an option that names a file to write: in place of an earlier output or, a log, at its end.

    own: a pattern of how an earlier output begins; "" for none that may be replaced. like: the option or argument that
    names the file of which the output is a copy, so of the same kind.
    """

    log: bool = False
    own: str = ""
    like: str = ""


REPORT = r'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
"How every HTML page of a report begins."


@contextlib.contextmanager
def write_output(path: Path | str, own: str = "") -> Iterator[Path]:
    """Replace a file that a user names, as `replace_file` does. Raises OccupiedError as `check_output` does.

    own: a pattern of how a file must begin to be replaced.
    """
    check_output(Path(path))
    if own:
        check_kind(Path(path), own)
    with atomic.replace_file(path) as temporary:
        yield temporary


def check_output(path: Path, others: Iterable[str | Path] = (), name: str = "", *, log: bool = False) -> None:
    """Raise TagwrightError where a file cannot be written, before the work whose result it is to hold.

    others: files, folders and globs that are read, and other outputs. name: the option that names the path. log: it is
    appended to. Raises OccupiedError for a file that is among the others, a database, such as a review file, or part
    of a saved folder.
    """
    where = f"{name} {path}".lstrip()
    with atomic.report_write_errors(path):
        for other in others:
            if not (log and Path(other).is_dir()) and _is_among(path, str(other)):
                raise atomic.OccupiedError(f"{where}: is read or written here already ({other}); choose another name")
        place = atomic.link_target(path)
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file")
        if not place.exists():
            atomic.check_writable(place)
        elif place.is_file():  # else a pipe or a device
            _refuse_ours(place, where)
            if log:
                place.open("ab").close()
                return
            atomic.check_writable(place)


def check_kind(path: Path, own: str = "", name: str = "", like: Path | None = None) -> None:
    """Raise OccupiedError for a file that is no earlier output of the same kind, which would be lost.

    own: a pattern of how such a file begins, "" for none. like: a file of the same kind, instead. An empty file may be
    replaced, and so may what is no file. name: the option that names the path.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    if not (_kind_of(path) == _kind_of(like) if like else own and re.match(own.encode(), _start_of(path))):
        raise atomic.OccupiedError(
            f"{f'{name} {path}'.lstrip()}: is a file of another kind, not replaced; choose another name"
        )


def _kind_of(path: Path) -> str:
    """How a file begins, as far as that tells its kind, or else the ending of its name."""
    start = re.match(rb"\d{5}|(?:\xef\xbb\xbf)?\s*<|PK\x03\x04|\x1f\x8b", _start_of(path))
    if start is None:
        return path.suffix.lower()
    return "MARC" if start[0].isdigit() else start[0].decode("latin-1").strip("\ufeff\xef\xbb\xbf \t\r\n")


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)


def _refuse_ours(path: Path, where: str) -> None:
    """Raise OccupiedError for a file that nothing else than what made it may replace."""
    start = _start_of(path)
    if re.match(rb"SQLite format 3\0|7\x7f\x06[\x82\x83]", start):  # or its write-ahead log
        raise atomic.OccupiedError(f"{where}: is a database, such as a file of reviews; choose another name")
    for folder in path.absolute().parents:
        if kind := atomic.manifest_of(folder).get("kind"):
            raise atomic.OccupiedError(f"{where}: is part of the saved {kind} in {folder}; choose another name")


def _is_among(path: Path, source: str) -> bool:
    """Whether a path is what a source names, a file there or one that its pattern matches."""
    with contextlib.suppress(OSError, ValueError):  # names that cannot be
        place, read = path.resolve(), Path(source)
        if read.is_dir():
            return path.exists() and place.is_relative_to(read.resolve())
        paths = [source] if read.exists() else glob.iglob(source, recursive=True)  # noqa: PTH207
        return read.resolve() == place or (path.exists() and any(path.samefile(other) for other in paths))
    return False
