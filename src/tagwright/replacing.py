"""A file or folder takes the place of another in one step, whoever else reads, writes or dies meanwhile.

A writer of NAME holds `.NAME.lock` and writes to `.NAME.tmpXXXXXXXX`; both lie beside NAME, as on the same disk they
can be renamed. Who gets the lock removes what a killed writer has left. Folders cannot be exchanged in one step on
every system: the old one is first renamed to `.NAME.previous`, and put back when nobody finished. A symbolic link
stays; what it points to is replaced. On Windows, files are synced only when opened for writing, nothing can be renamed
to a name that is taken by a folder, and what somebody has open may not be renamed for a moment.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tagwright.errors import ModelError, TagwrightError

PATIENCE = 600.0
"Seconds that a writer waits for another one."

READERS_PATIENCE = 5.0
"Seconds that a reader waits for a writer, of the two renames it is between."

TRIES = 20
"How often a step is repeated that another process can be in the way of."

WINDOWS = os.name == "nt"

T = TypeVar("T")

_replace = os.replace


@contextlib.contextmanager
def replace_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on leaving, it takes the place of `path` in one step. A pipe stays.

    Raises TagwrightError when the file cannot be written; what was there before is then untouched.
    """
    path = Path(path)
    with writing(path):
        if path.exists() and not path.is_file():  # a pipe or a device: what is written there cannot be taken back
            yield path
            return
        path = _followed(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            temporary = _temporary(path)
            temporary.touch(exist_ok=False)
            try:
                yield temporary
                _sync(temporary)
                _rename(temporary, path)
                _sync_names(path.parent)
            finally:
                temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replace_folder(folder: Path | str) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; on leaving, it takes the place of `folder`.

    Raises TagwrightError as `replace_file` does, when `folder` holds something that Tagwright did not save, and when
    another process has been writing there for ten minutes.
    """
    folder = Path(folder)
    with writing(folder):
        place = _followed(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place):
            _refuse_others(place, "folder saved by Tagwright")
            temporary = _temporary(place)
            temporary.mkdir()
            try:
                yield temporary
                for file in sorted(temporary.rglob("*")):
                    _sync(file)
                _exchange(temporary, place)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)


def check_replaceable(folder: Path, expected: str = "folder saved by Tagwright") -> None:
    """Refuse what `replace_folder` would refuse, before the work is done; remove what a killed save has left.

    Raises TagwrightError naming the expected, and when nothing can be written there.
    """
    with writing(folder):
        place = _followed(folder)
        if place.parent.is_dir():
            with _locked(place):
                _refuse_others(place, expected)


def recover(folder: Path) -> None:
    """Put back a saved folder whose replacement was cut off between its two renames; otherwise leave it as it is."""
    with contextlib.suppress(OSError):
        folder = _followed(folder)
        if _previous(folder).is_dir():
            with contextlib.suppress(TagwrightError), _locked(folder, READERS_PATIENCE):
                pass  # who has the lock has tidied up


def put_back(folder: Path, file: Path) -> bool:
    """Whether a file is in a saved folder, once the folder is back from a replacement that goes on or was cut off."""
    for _ in range(TRIES):
        recover(folder)
        if file.is_file() or not _is_on_its_way(folder):
            break
        time.sleep(0.01)
    return file.is_file()


def read_whole(folder: Path, read: Callable[[], T]) -> T:
    """What `read` makes of a saved folder; read again where it was replaced meanwhile, so never half old, half new."""
    for _ in range(TRIES):
        before = _version(folder)
        try:
            found = read()
        except (TagwrightError, OSError):
            if _version(folder) == before and not _is_on_its_way(folder):
                raise
        else:
            if _version(folder) == before:
                return found
        time.sleep(0.01)
    raise ModelError(f"{folder}: is replaced again and again while it is read; try later")


def remove_leftovers(path: Path) -> None:
    """Remove what killed writers of this file or folder have left, and nobody else is writing."""
    with contextlib.suppress(OSError, TagwrightError):
        place = _followed(path)
        if place.parent.is_dir():
            with _locked(place, 0):
                pass


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one line that `path` cannot be written, whichever library found out: TagwrightError."""
    try:
        yield
    except Exception as error:
        why = None if isinstance(error, TagwrightError) else _refusal(error)
        if why is None:
            raise
        raise TagwrightError(f"{path}: cannot be written ({why})") from error


def _refusal(error: Exception) -> str | None:
    """What the system said, if an error comes from it. Libraries in Rust and C++ have errors of their own."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    said = re.search(r"([^:(\n]+) \(os error \d+\)", str(error)) or re.search(
        r"(No space left on device|Disk quota exceeded|There is not enough space on the disk)", str(error)
    )
    return said[1].strip() if said else None


@contextlib.contextmanager
def _locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Be the only one who writes to `path`, and remove what those have left who died."""
    from filelock import FileLock, Timeout

    file = path.with_name(f".{path.name}.lock")
    lock = FileLock(file, timeout=patience, poll_interval=0.02, thread_local=False)
    file.touch()  # where nothing can be created this fails at once; the lock would try until its time is up
    try:
        lock.acquire()
    except Timeout:
        raise TagwrightError(f"{path}: another process is writing there; try again when it is done") from None
    try:
        _tidy(path)
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows does it when the lock is released
            file.unlink()
        lock.release()


def _tidy(path: Path) -> None:
    """Remove the temporaries of the dead, and their old folder; put that back where there is no new one."""
    previous = _previous(path)
    if previous.is_dir() and not path.exists() and _ours(previous):
        _rename(previous, path)
    elif previous.is_dir() and _ours(path):
        _discard(previous, path)
    temporary = re.compile(re.escape(f".{path.name}.tmp") + "[0-9a-f]{8}")
    for other in [other for other in path.parent.iterdir() if temporary.fullmatch(other.name)]:
        shutil.rmtree(other, ignore_errors=True) if other.is_dir() else other.unlink(missing_ok=True)


def _exchange(new: Path, folder: Path) -> None:
    """Give `new` the name `folder`; what was there is removed only when that is done."""
    previous = _previous(folder)
    if not folder.exists():
        _rename(new, folder)
    else:
        _rename(folder, previous)
        try:
            _rename(new, folder)
        except BaseException:
            if not folder.exists():
                _rename(previous, folder)
            raise
        _discard(previous, folder)
    _sync_names(folder.parent)


def _discard(previous: Path, folder: Path) -> None:
    """Remove an old folder. It loses its name first: cut off in the middle, nobody may take it for the only one."""
    doomed = _temporary(folder)
    with contextlib.suppress(OSError):
        _rename(previous, doomed)
    for path in (previous, doomed):
        shutil.rmtree(path, ignore_errors=True)


def _rename(source: Path, target: Path) -> None:
    """Rename, again and again for a second: virus scanners and readers hold files on Windows for a moment."""
    for left in reversed(range(TRIES)):
        try:
            _replace(source, target)
        except PermissionError:  # noqa: PERF203
            if not left or not WINDOWS:
                raise
            time.sleep(0.05)
        else:
            return


def _sync(path: Path) -> None:
    """Bring a file to the disk: a full disk shows here at the latest, before anything is replaced."""
    if path.is_file():
        with path.open("r+b") as file:  # Windows syncs only what can be written to
            os.fsync(file.fileno())


def _sync_names(folder: Path) -> None:
    """Bring the names in a folder to the disk, where a system can."""
    with contextlib.suppress(OSError):  # Windows opens no folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _refuse_others(folder: Path, expected: str) -> None:
    if folder.exists() and not _ours(folder):
        raise TagwrightError(f"{folder}: exists and is not a {expected}; choose another place")


def _ours(folder: Path) -> bool:
    return folder.is_dir() and ((folder / "manifest.json").is_file() or not any(folder.iterdir()))


def _followed(path: Path) -> Path:
    """The target of a symbolic link, which need not exist yet. Raises OSError for a cycle of links."""
    if not path.is_symlink():
        return path
    with contextlib.suppress(RuntimeError):  # of Python up to 3.12
        if not (found := path.resolve()).is_symlink():
            return found
    raise OSError(f"the symbolic links form a cycle: {path.readlink()}")


def _previous(folder: Path) -> Path:
    whole = folder.absolute()  # "." has no name
    return whole.parent / f".{whole.name}.previous"


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp{secrets.token_hex(4)}")


def _is_on_its_way(folder: Path) -> bool:
    """Whether a writer is between its two renames, or died there."""
    with contextlib.suppress(OSError):
        place = _followed(folder)
        return not place.exists() and _previous(place).is_dir()
    return False


def _version(folder: Path) -> tuple[int, ...] | None:
    """What differs between a saved folder and the one that takes its place."""
    with contextlib.suppress(OSError):
        found = (folder / "manifest.json").stat()
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
    return None
