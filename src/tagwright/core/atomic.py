"""Replace and delete files and folders atomically, with concurrent readers and writers, even if processes are killed.

A writer of NAME holds `.NAME.lock` and writes to `.NAME.tmpXXXXXXXX`; both are beside NAME, on the same disk, so that
they can be renamed. The next owner of the lock removes the files of a killed writer. Not every system can exchange
folders atomically: the old one is first renamed to `.NAME.previous`, and restored if the replacement was not finished.
A symbolic link is kept; its target is replaced.

`rename` alone renames in this package, and `_remove` alone deletes. Only what is Tagwright's own may be replaced or
deleted: temporaries by their names, a saved folder by its manifest, as far as this lists what the folder holds.
"""

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from tagwright.errors import ConfigError, ModelError, TagwrightError, option

MANIFEST = "manifest.json"

PATIENCE = 5.0
"Seconds to wait for another writer: one that saves is done by then, one that goes on for longer is an error."

T = TypeVar("T")

_TEMPORARY = re.compile(
    r"\..+\.(tmp[0-9a-f]{8}|lock)"
    r"|tagwright-scratch-[0-9a-f]{16}\.(folder|lock)|\.?tagwright-cache[-.].+"
    r"|\.tmp\w{6}"  # of safetensors
)
"Names that only Tagwright gives, to what it may delete at any time."


class OccupiedError(ConfigError):
    """A place holds what may not be replaced or deleted."""


@contextlib.contextmanager
def replace_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on leaving, it replaces `path` atomically, with its permissions.

    A pipe is kept.
    Raises TagwrightError when the file cannot be written; the old file is then unchanged.
    """
    path = Path(path)
    with report_write_errors(path):
        if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
            yield path
            return
        path = link_target(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(path), replace_locked(path) as temporary:
            yield temporary


@contextlib.contextmanager
def replace_locked(path: Path) -> Iterator[Path]:
    """Replace a file as `replace_file` does, while holding its lock."""
    temporary = temporary_beside(path)
    temporary.touch(0o600 if path.exists() else 0o666, exist_ok=False)
    try:
        yield temporary
        _sync(temporary)
        _keep_mode(path, temporary)
        rename(temporary, path)
        _sync_names(path.parent)
    finally:
        _remove(temporary)


@contextlib.contextmanager
def replace_folder(folder: Path | str, kind: str, *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; on leaving, it replaces `folder`, with its permissions.

    kind: what its manifest says is saved here. overwrite: whether a folder of that kind may be replaced. Raises
    TagwrightError as `replace_file` does, and when another process is writing there for long; OccupiedError when
    `folder` holds anything else, files that its manifest does not list, or what needs overwrite.
    """
    folder = Path(folder)
    with report_write_errors(folder):
        place = link_target(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(place):
            _refuse_others(place, kind, overwrite=overwrite)
            temporary = temporary_beside(place)
            temporary.mkdir(0o700 if place.exists() else 0o777)
            try:
                yield temporary
                _keep_mode(place, temporary)
                for file in sorted(temporary.rglob("*")):
                    _sync(file)
                # once more, as no lock keeps others from putting their files there
                _refuse_others(place, kind, overwrite=overwrite)
                _exchange(temporary, place)
            finally:
                _remove(temporary)


def check_replaceable(folder: Path, kind: str, *, overwrite: bool = True, parts: Collection[str] = ()) -> None:
    """Refuse before any work what `replace_folder` would refuse after it; remove the files of a killed save.

    A file is made beside the folder, and the folder itself renamed and put back, as mount points cannot be. parts:
    names of files in it besides those that its manifest lists.
    """
    with report_write_errors(folder):
        place = link_target(folder)
        if not place.parent.is_dir():
            check_writable(place)
            return
        with hold_lock(place):
            _refuse_others(place, kind, parts, overwrite=overwrite)
            _try_to_write(place)
            if place.exists():
                rename(place, _previous_folder(place))
                rename(_previous_folder(place), place)


def check_writable(path: Path) -> None:
    """Raise OSError unless a file can be made and filled in the folder of a path, or where that would be."""
    place = path.absolute()
    place = next(parent for parent in (place, *place.parents) if parent.parent.exists())
    with hold_lock(place):  # so that who is killed leaves nothing that the next one does not remove
        _try_to_write(place)


def exists(folder: Path, file: Path) -> bool:
    """Whether a file is in a saved folder. A folder that is being replaced is waited for, or put back after a kill."""
    with contextlib.suppress(OSError, TagwrightError):
        place = link_target(folder)
        if not file.is_file() and _previous_folder(place).is_dir():
            with hold_lock(place):  # its owner has cleaned up
                return file.is_file()
    return file.is_file()


def read_whole(folder: Path, read: Callable[[], T]) -> T:
    """The result of `read` on a saved folder, repeated if it was replaced meanwhile, so never half old and half new."""
    for _ in range(100):
        before = _state(folder)
        try:
            content = read()
        except (TagwrightError, OSError):
            if _state(folder) == before:
                raise
        else:
            if _state(folder) == before:
                return content
        time.sleep(0.01)
    raise ModelError(f"{folder}: is replaced repeatedly while it is read; try later")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers have left in a folder, unless others are writing there."""
    left = re.compile(r"\.(.+)\.(tmp[0-9a-f]{8}|lock|previous)")
    for name in {match[1] for path in folder.glob(".*") if (match := left.fullmatch(path.name))}:
        with contextlib.suppress(OSError, TagwrightError), hold_lock(folder / name, 0):
            pass


def delete(*paths: Path, parts: Collection[str] = ()) -> None:
    """Delete files and folders that are ours, if they are there; of a saved folder, a kill leaves all or nothing.

    Ours are temporary ones and what is in scratch folders; folders with no other files than those that a manifest
    lists, or none; and files with the names in `parts`, wherever they are in a folder. Raises OccupiedError before
    anything is deleted, naming a file that is not ours; OSError.
    """
    places = [link_target(path) if (path / MANIFEST).is_file() else path for path in paths]
    for place in places:
        _refuse_foreign(place, parts)
    for place in places:
        if not (place / MANIFEST).is_file():
            _remove(place)
            continue
        with hold_lock(place):
            _refuse_foreign(place, parts)
            _discard(place, place)


def append_at_once(file: FileIO, data: bytes) -> None:
    """Append to an unbuffered file in one call, so that what other processes append is not in between.

    Raises OSError, also where only a part fits on the disk.
    """
    if file.write(data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def is_in_place(path: Path, opened: os.stat_result) -> bool:
    """Whether a path still names the file that is open, and not another one, or none: ask before writing to it."""
    try:
        return os.path.samestat(path.stat(), opened)
    except OSError:
        return False


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty temporary folder, for this process; removed on leaving, or by the next process if this one dies.

    Raises TagwrightError where it, or what is done meanwhile, finds the disk full.
    """
    from filelock import FileLock

    remove_abandoned()
    folder = Path(tempfile.gettempdir()) / f"tagwright-scratch-{secrets.token_hex(8)}.folder"
    lock = folder.with_suffix(".lock")
    with full_disk_explained(), FileLock(lock):  # locked before it exists: nobody takes it for abandoned
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                delete(folder, lock)


def remove_abandoned() -> None:
    """Remove the scratch folders of processes that died."""
    from filelock import FileLock, Timeout

    for folder in Path(tempfile.gettempdir()).glob("tagwright-scratch-*.folder"):
        lock = folder.with_suffix(".lock")
        with contextlib.suppress(Timeout, OSError), FileLock(lock, timeout=0):
            delete(folder, lock)


@contextlib.contextmanager
def full_disk_explained() -> Iterator[None]:
    """Raise TagwrightError, which says how to get room, for any error of the disk of temporary files."""
    try:
        yield
    except OSError as error:
        place = tempfile.gettempdir()
        problem = f"{place}: cannot be written ({error.strerror or error}); set TMPDIR to a folder with room"
        raise TagwrightError(problem) from error


@contextlib.contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Raise TagwrightError, in one line, for any library's error that `path` cannot be written."""
    try:
        yield
    except Exception as error:
        why = None if isinstance(error, TagwrightError) else _refusal(error)
        if why is None:
            raise
        raise TagwrightError(f"{path}: cannot be written ({why})") from error


@contextlib.contextmanager
def hold_lock(path: Path, patience: float | None = None, *, place: Path | None = None) -> Iterator[None]:
    """Hold the lock for writing `path`, and remove the files of killed writers. It is held once in a process.

    patience: seconds to wait for another writer; None: PATIENCE. place: what the error calls the path. Raises
    TagwrightError if it does not end.
    """
    from filelock import FileLock, Timeout

    if not path.name:
        raise OSError(f"{path.absolute()} cannot be replaced; name a folder in it")
    file = path.with_name(f".{path.name}.lock")
    lock = FileLock(file, timeout=PATIENCE if patience is None else patience, poll_interval=0.02, thread_local=False)
    file.touch()  # fails at once if nothing can be created; the lock would retry until its timeout
    try:
        lock.acquire()
    except Timeout:
        raise TagwrightError(
            f"{place or path}: another process is writing there; try again when it is done, or choose another place"
        ) from None
    try:
        _tidy(path)
        yield
    finally:
        _remove(file)
        lock.release()


def rename(source: Path, target: Path) -> None:
    """Rename, in place of a file of that name if there is one."""
    source.replace(target)


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest of a folder that Tagwright saved, else nothing: others have files of that name too."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    ours = isinstance(manifest, dict) and isinstance(manifest.get("tagwright"), int)
    return manifest if ours and isinstance(manifest.get("kind"), str) else {}


def lies_in(path: Path | str, folder: Path) -> bool:
    """Whether a path is a folder or below it, wherever symbolic links lead; neither needs to exist."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def link_target(path: Path) -> Path:
    """The target of a symbolic link, which need not exist yet."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def temporary_beside(path: Path) -> Path:
    """A new name beside a path that tells a temporary file or folder of ours."""
    return path.with_name(f".{path.name}.tmp{secrets.token_hex(4)}")


def _try_to_write(place: Path) -> None:
    file = temporary_beside(place)
    try:
        file.write_bytes(bytes(1 << 12))
        _sync(file)
    finally:
        _remove(file)


def _refusal(error: Exception) -> str | None:
    """The message of the system, if an error comes from it. Libraries in Rust and C++ wrap it in their own errors."""
    if isinstance(error, OSError) and error.strerror:
        mounted = error.errno in (errno.EBUSY, errno.EXDEV)
        return error.strerror + ", perhaps a mount point: choose a place in or beside it" * mounted
    known = r"\[Errno \d+\] ([^:'\"]+)|([^:(\n]+) \(os error \d+\)|(No space left on device|Disk quota exceeded)"
    said = re.search(known, str(error))
    return next(filter(None, said.groups())).strip() if said else str(error) if isinstance(error, OSError) else None


def _tidy(path: Path) -> None:
    """Remove temporaries of killed writers and their old folder, which is restored if there is no new one."""
    previous = _previous_folder(path)
    if previous.is_dir() and not path.exists() and (manifest_of(previous) or _is_empty(previous)):
        rename(previous, path)
    elif previous.is_dir() and path.is_dir() and manifest_of(previous) and not any(_find_foreign(previous)):
        _discard(previous, path)
    temporary = re.compile(re.escape(f".{path.name}.tmp") + "[0-9a-f]{8}")
    for other in [other for other in path.parent.iterdir() if temporary.fullmatch(other.name)]:
        _remove(other)


def _exchange(new: Path, folder: Path) -> None:
    """Rename `new` to `folder`; the old folder is removed only after that."""
    previous = _previous_folder(folder)
    if not folder.exists():
        rename(new, folder)
    else:
        rename(folder, previous)
        rename(new, folder)  # where this fails, the next reader or writer puts the old one back
        _discard(previous, folder)
    _sync_names(folder.parent)


def _discard(old: Path, folder: Path) -> None:
    """Remove an old folder. It is renamed first: half removed, it must not be read or restored."""
    doomed = temporary_beside(folder)
    rename(old, doomed)
    _remove(doomed)


def _remove(path: Path) -> None:
    """Delete a file, or a folder as far as possible. Whoever calls has made sure that it is ours."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _keep_mode(path: Path, new: Path) -> None:
    """Give what replaces a file or folder the same permissions."""
    with contextlib.suppress(OSError):  # there is none, or the disk has no permissions
        shutil.copymode(path, new)


def _sync(path: Path) -> None:
    """Sync a file to the disk: a full disk is detected here at the latest, before anything is replaced."""
    if path.is_file():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _sync_names(folder: Path) -> None:
    """Sync the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_others(folder: Path, kind: str, parts: Collection[str] = (), *, overwrite: bool) -> None:
    """Raise OccupiedError unless a saved folder may be put in this place."""
    if not folder.exists() or _is_empty(folder):
        return
    saved = manifest_of(folder).get("kind", "something else")
    if saved != kind:
        raise OccupiedError(f"{folder}: exists and is not a saved {kind} ({saved[:100]}); choose another place")
    if not overwrite:
        replaced = option("overwrite", python="overwrite=True")
        raise OccupiedError(f"{folder}: holds a saved {kind}; replace it with {replaced}, or choose another place")
    _refuse_foreign(folder, parts)
    if _previous_folder(folder).exists():  # and not that of a killed writer, or it would be gone
        raise OccupiedError(f"{_previous_folder(folder)}: is in the way, and not from Tagwright; move it elsewhere")


def _refuse_foreign(path: Path, parts: Collection[str]) -> None:
    """Raise OccupiedError, naming the first file that is not ours, if a file or folder may not be deleted."""
    for name in _find_foreign(path, parts):
        kind = manifest_of(path).get("kind", "temporary file")
        raise OccupiedError(
            f"{path / name}: is no part of the saved {kind}, with which it would be deleted; move it elsewhere, or "
            "choose another place"
        )


def _find_foreign(path: Path, parts: Collection[str] = ()) -> Iterator[str]:
    """The files of a folder, or the file, that are not ours: names relative to the path."""
    if not os.path.lexists(path) or any(_TEMPORARY.fullmatch(part.name) for part in (path, path.parent)):
        return
    known = {*parts, ".DS_Store"}  # what a file manager puts into every folder
    manifest = manifest_of(path)
    lists = [manifest[key] for key in ("files", "logs") if isinstance(manifest.get(key), dict | list)]
    listed = {str(name) for names in lists for name in names}
    for file in sorted(path.rglob("*")) if path.is_dir() and not path.is_symlink() else [path]:
        name = file.relative_to(path).as_posix()
        if name in listed or file.name in known or _TEMPORARY.fullmatch(file.name):
            continue
        if file.name == MANIFEST and manifest_of(file.parent):
            continue
        if file.is_symlink() or not file.is_dir():
            yield name


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _previous_folder(folder: Path) -> Path:
    whole = folder.absolute()  # "." has no name
    return whole.parent / f".{whole.name}.previous"


def _state(folder: Path) -> tuple[int, ...] | None:
    """A value that differs before and after a saved folder is replaced, or renamed and put back."""
    with contextlib.suppress(OSError):
        manifest = (folder / MANIFEST).stat()
        return manifest.st_dev, manifest.st_ino, manifest.st_mtime_ns, manifest.st_size, folder.stat().st_ctime_ns
    return None
