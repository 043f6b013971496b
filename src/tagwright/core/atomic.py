"""Replace a file or folder atomically, with concurrent readers and writers, even if processes are killed.

A writer of NAME holds `.NAME.lock` and writes to `.NAME.tmpXXXXXXXX`; both are beside NAME, on the same disk, so that
they can be renamed. The next owner of the lock removes the files of a killed writer. Not every system can exchange
folders atomically: the old one is first renamed to `.NAME.previous`, and restored if the replacement was not finished.
A symbolic link is kept; its target is replaced. On Windows, files can be synced only when opened for writing, nothing
can be renamed to the name of a folder, and open files may not be renamed for a moment.
"""

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from tagwright.core.checked import shown
from tagwright.errors import ConfigError, ModelError, TagwrightError, option

PATIENCE = 600.0
"Seconds that a writer waits for another one."

READERS_PATIENCE = 5.0
"Seconds that a reader waits for a writer between its two renames."

TRIES = 100
"How often a step is retried when another process may be in the way."

WINDOWS = os.name == "nt"

NOT_LISTED = ("manifest.json", ".DS_Store", "Thumbs.db", "desktop.ini")
"Files of a saved folder that its manifest does not list, and what file managers put into every folder."

T = TypeVar("T")

_replace = os.replace


@contextlib.contextmanager
def replace_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on leaving, it replaces `path` atomically, with its permissions.

    A pipe is kept.
    Raises TagwrightError when the file cannot be written; the old file is then unchanged.
    """
    path = Path(path)
    with writing(path):
        if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
            yield path
            return
        path = _followed(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            temporary, mode = _temporary(path), _mode(path)
            temporary.touch(0o666 if mode is None else 0o600, exist_ok=False)
            try:
                yield temporary
                _sync(temporary)
                _set_mode(temporary, mode)
                _rename(temporary, path)
                _sync_names(path.parent)
            finally:
                temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replace_folder(folder: Path | str, kind: str, *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; on leaving, it replaces `folder`, with its permissions.

    kind: what its manifest says is saved here. overwrite: whether a folder of that kind may be replaced. Raises
    TagwrightError as `replace_file` does, when `folder` holds anything else or files that its manifest does not list,
    and when another process has been writing there for ten minutes; ConfigError when overwrite is needed.
    """
    folder = Path(folder)
    with writing(folder):
        place = _followed(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place):
            _refuse_others(place, kind, overwrite=overwrite)
            temporary, mode = _temporary(place), _mode(place)
            temporary.mkdir(0o777 if mode is None else 0o700)
            try:
                yield temporary
                _set_mode(temporary, mode)
                for file in sorted(temporary.rglob("*")):
                    _sync(file)
                _exchange(temporary, place)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)


def check_replaceable(folder: Path, kind: str, *, overwrite: bool = True) -> None:
    """Refuse what `replace_folder` would refuse, before any work; remove the files of a killed save."""
    with writing(folder):
        place = _followed(folder)
        if place.parent.is_dir():
            with _locked(place):
                _refuse_others(place, kind, overwrite=overwrite)


def exists(folder: Path, file: Path) -> bool:
    """Whether a file is in a saved folder. A folder that is being replaced is waited for, or put back after a kill."""
    with contextlib.suppress(OSError, TagwrightError):
        place = _followed(folder)
        if not file.is_file() and _previous(place).is_dir():
            with _locked(place, READERS_PATIENCE):  # its owner has cleaned up
                return file.is_file()
    return file.is_file()


def read_whole(folder: Path, read: Callable[[], T]) -> T:
    """The result of `read` on a saved folder, repeated if it was replaced meanwhile, so never half old and half new."""
    for _ in range(TRIES):
        before = _version(folder)
        try:
            found = read()
        except (TagwrightError, OSError):
            if _version(folder) == before:
                raise
        else:
            if _version(folder) == before:
                return found
        time.sleep(0.01)
    raise ModelError(f"{folder}: is replaced repeatedly while it is read; try later")


def remove_leftovers(path: Path) -> None:
    """Remove the files of killed writers of this file or folder, unless another process is writing."""
    with contextlib.suppress(OSError, TagwrightError):
        place = _followed(path)
        if place.parent.is_dir():
            with _locked(place, 0):
                pass


def remove_folder(folder: Path) -> None:
    """Remove a saved folder, if that is possible. A process that is killed meanwhile leaves all of it or nothing."""
    with contextlib.suppress(OSError, TagwrightError):
        place = _followed(folder)
        with _locked(place):
            _discard(place, place)


def append_at_once(file: FileIO, data: bytes) -> None:
    """Append to an unbuffered file in one call, so that what other processes append is not in between.

    Raises OSError, also where only a part fits on the disk.
    """
    if file.write(data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise TagwrightError, in one line, for any library's error that `path` cannot be written."""
    try:
        yield
    except Exception as error:
        why = None if isinstance(error, TagwrightError) else _refusal(error)
        if why is None:
            raise
        raise TagwrightError(f"{path}: cannot be written ({why})") from error


def _refusal(error: Exception) -> str | None:
    """The message of the system, if an error comes from it. Libraries in Rust and C++ wrap it in their own errors."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    said = re.search(r"([^:(\n]+) \(os error \d+\)", str(error)) or re.search(
        r"(No space left on device|Disk quota exceeded|There is not enough space on the disk)", str(error)
    )
    return said[1].strip() if said else None


@contextlib.contextmanager
def _locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock for writing `path`, and remove the files of killed writers."""
    from filelock import FileLock, Timeout

    file = path.with_name(f".{path.name}.lock")
    lock = FileLock(file, timeout=patience, poll_interval=0.02, thread_local=False)
    file.touch()  # fails at once if nothing can be created; the lock would retry until its timeout
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
    """Remove temporaries of killed writers and their old folder, which is restored if there is no new one."""
    previous = _previous(path)
    if previous.is_dir() and not path.exists() and _ours(previous):
        _rename(previous, path)
    elif previous.is_dir() and _ours(path):
        _discard(previous, path)
    temporary = re.compile(re.escape(f".{path.name}.tmp") + "[0-9a-f]{8}")
    for other in [other for other in path.parent.iterdir() if temporary.fullmatch(other.name)]:
        shutil.rmtree(other, ignore_errors=True) if other.is_dir() else other.unlink(missing_ok=True)


def _exchange(new: Path, folder: Path) -> None:
    """Rename `new` to `folder`; the old folder is removed only after that."""
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
    """Remove an old folder. It is renamed first: half removed, it must not be restored."""
    doomed = _temporary(folder)
    with contextlib.suppress(OSError):
        _rename(previous, doomed)
    for path in (previous, doomed):
        shutil.rmtree(path, ignore_errors=True)


def _rename(source: Path, target: Path) -> None:
    """Rename, retrying for a second: on Windows, virus scanners and readers hold files for a moment."""
    for left in reversed(range(TRIES)):
        try:
            _replace(source, target)
        except PermissionError:
            if not left or not WINDOWS:
                raise
            time.sleep(0.05)
        else:
            return


def _mode(path: Path) -> int | None:
    """The permissions of a file or folder that is there."""
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else None


def _set_mode(path: Path, mode: int | None) -> None:
    if mode is not None:
        with contextlib.suppress(OSError):  # some disks have no permissions
            path.chmod(mode)


def _sync(path: Path) -> None:
    """Sync a file to the disk: a full disk is detected here at the latest, before anything is replaced."""
    if path.is_file():
        with path.open("r+b") as file:  # Windows syncs only writable files
            os.fsync(file.fileno())


def _sync_names(folder: Path) -> None:
    """Sync the names in a folder to the disk, if the system can."""
    with contextlib.suppress(OSError):  # Windows cannot open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _refuse_others(folder: Path, kind: str, *, overwrite: bool) -> None:
    if not folder.exists() or _is_empty(folder):
        return
    manifest = _manifest(folder)
    found = manifest.get("kind")
    if found is None:
        raise TagwrightError(f"{folder}: exists and is not a saved {kind}; choose another place")
    if found != kind:
        raise TagwrightError(f"{folder}: holds {shown(found, 100)}, expected a saved {kind}; choose another place")
    if not overwrite:
        replace = option("overwrite", python="overwrite=True")
        raise ConfigError(f"{folder}: holds a saved {kind}; replace it with {replace}, or choose another place")
    for name in _unlisted(folder, manifest):
        raise TagwrightError(
            f"{folder / name}: is no part of the saved {kind}, with which it would be deleted; move it elsewhere, or "
            "choose another place"
        )


def _unlisted(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """The files below a saved folder that its manifest does not list; none where it lists no files."""
    listed, logs = manifest.get("files"), manifest.get("logs")
    if not isinstance(listed, dict):
        return
    known = {*listed, *map(str, logs if isinstance(logs, list) else ())}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in known and path.name not in NOT_LISTED and (path.is_symlink() or not path.is_dir()):
            yield name


def lies_in(path: Path | str, folder: Path) -> bool:
    """Whether a path is a folder or below it, wherever symbolic links lead; neither needs to exist."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _ours(folder: Path) -> bool:
    return _is_empty(folder) or bool(_manifest(folder))


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder that Tagwright saved, else nothing: others have files of that name too."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    ours = isinstance(manifest, dict) and isinstance(manifest.get("tagwright"), int)
    return manifest if ours and isinstance(manifest.get("kind"), str) else {}


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


def _version(folder: Path) -> tuple[int, ...] | None:
    """A value that differs between a saved folder and its replacement."""
    with contextlib.suppress(OSError):
        found = (folder / "manifest.json").stat()
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
    return None
