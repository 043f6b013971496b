"""Outputs that a user names: what must work at the end of a command is tried at its start, and no input is replaced."""

import contextlib
import errno
import glob
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tagwright.core.atomic import (
    OccupiedError,
    check_writable,
    delete,
    link_target,
    manifest_of,
    replace_file,
    temporary_beside,
    writing,
)


@dataclass(frozen=True)
class Written:
    """Marks an option that names a file to write: in place of what is there or, a log, at its end."""

    log: bool = False


@contextlib.contextmanager
def write_output(path: Path | str) -> Iterator[Path]:
    """What `replace_file` does, for a file that a user names. Raises OccupiedError as `check_output` does."""
    check_output(Path(path))
    with replace_file(path) as temporary:
        yield temporary


def check_output(path: Path, others: Iterable[str | Path] = (), name: str = "", *, log: bool = False) -> None:
    """Raise TagwrightError where a file cannot be written, before the work whose result it is to hold.

    others: files, folders and globs that are read, and other outputs. name: the option that names the path. log: it is
    appended to. Raises OccupiedError for a file that is among the others, a database, such as a review file, or part
    of a saved folder.
    """
    where = f"{name} {path}".lstrip()
    with writing(path):
        for other in others:
            if not (log and Path(other).is_dir()) and _is_among(path, str(other)):
                raise OccupiedError(f"{where}: is read or written here already ({other}); choose another name")
        place = link_target(path)
        if place.exists() and not place.is_file():
            if place.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file")
            return  # a pipe or a device
        if place.is_file():
            _refuse_ours(place, where)
        if log and place.is_file():
            place.open("ab").close()
            return
        check_writable(place)
        if place.is_file():
            _refuse_mounted(place)


def _refuse_ours(path: Path, where: str) -> None:
    """Raise OccupiedError for a file that nothing else than what made it may replace."""
    with path.open("rb") as file:
        start = file.read(100)
    if re.match(rb"SQLite format 3\0|7\x7f\x06[\x82\x83]", start):  # or its write-ahead log
        raise OccupiedError(f"{where}: is a database, such as a file of reviews; choose another name")
    folder = next((parent for parent in path.absolute().parents if manifest_of(parent)), None)
    if folder is not None or (path.suffix == ".json" and re.match(rb'\{\s*"tagwright": \d', start)):
        what = f"the saved {manifest_of(folder)['kind']} in {folder}" if folder else "what Tagwright has saved there"
        raise OccupiedError(f"{where}: is part of {what}; choose another name")


def _refuse_mounted(path: Path) -> None:
    """Raise OSError for a file that is a mount point: unlike others, it cannot have a second name in its folder."""
    other = temporary_beside(path)
    try:
        other.hardlink_to(path)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise
    finally:
        delete(other)


def _is_among(path: Path, source: str) -> bool:
    """Whether a path is what a source names, a file there or one that its pattern matches."""
    with contextlib.suppress(OSError, ValueError):  # names that cannot be
        place, read = path.resolve(), Path(source)
        if read.is_dir():
            return path.exists() and place.is_relative_to(read.resolve())
        paths = [source] if read.exists() else glob.iglob(source, recursive=True)  # noqa: PTH207
        return read.resolve() == place or (path.exists() and any(path.samefile(other) for other in paths))
    return False
