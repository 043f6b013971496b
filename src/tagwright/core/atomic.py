"""Replace and delete files and folders atomically, with concurrent readers and writers, even if processes are killed.

A writer of NAME holds `.NAME.lock` and writes to `.NAME.tmpXXXXXXXX`; both are beside NAME, on the same disk, so that
they can be renamed. The next owner of the lock removes the files of a killed writer. Not every system can exchange
folders atomically: the old one is first renamed to `.NAME.previous`, and restored if the replacement was not finished.
A symbolic link is kept; its target is replaced. On Windows, files can be synced only when opened for writing, nothing
can be renamed to the name of a folder, and open files may not be renamed for a moment.

`replace` alone renames in this package, and `_remove` alone deletes: only what is `owned`.
"""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from io import FileIO
from pathlib import Path
from typing import TypeVar

from tagwright.core.checked import shown
from tagwright.core.owned import MANIFEST, ChangedError, OccupiedError, is_empty, is_whole, manifest_of, refuse_foreign
from tagwright.errors import ModelError, TagwrightError, option

PATIENCE = 600.0
"Seconds that a writer waits for another one."

READERS_PATIENCE = 5.0
"Seconds that a reader waits for a writer between its two renames."

TRIES = 100
"How often a step is retried when another process may be in the way."

WINDOWS = os.name == "nt"

T = TypeVar("T")

_LEFT = re.compile(r"\.(.+)\.(tmp[0-9a-f]{8}|lock|previous)")


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
        path = link_target(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path), replace_locked(path) as temporary:
            yield temporary


@contextlib.contextmanager
def replace_locked(path: Path) -> Iterator[Path]:
    """What `replace_file` does, for who holds the lock of the file."""
    temporary = temporary_beside(path)
    temporary.touch(0o600 if path.exists() else 0o666, exist_ok=False)
    try:
        yield temporary
        _sync(temporary)
        _keep_mode(path, temporary)
        replace(temporary, path)
        _sync_names(path.parent)
    finally:
        _remove(temporary)


@contextlib.contextmanager
def replace_folder(folder: Path | str, kind: str, *, overwrite: bool = True, read: str | None = None) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; on leaving, it replaces `folder`, with its permissions.

    kind: what its manifest says is saved here. overwrite: whether a folder of that kind may be replaced. read: the
    `saved_version` that was read there, if another one must not be replaced. Raises TagwrightError as `replace_file`
    does, and when another process has been writing there for ten minutes; OccupiedError when `folder` holds anything
    else, files that its manifest does not list, or what needs overwrite; ChangedError for another than was read.
    """
    folder = Path(folder)
    with writing(folder):
        place = link_target(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place):
            _refuse_others(place, kind, overwrite=overwrite, read=read)
            temporary = temporary_beside(place)
            temporary.mkdir(0o700 if place.exists() else 0o777)
            try:
                yield temporary
                _keep_mode(place, temporary)
                for file in sorted(temporary.rglob("*")):
                    _sync(file)
                # once more, as no lock keeps others from putting their files there
                _refuse_others(place, kind, overwrite=overwrite, read=read)
                _exchange(temporary, place)
            finally:
                _remove(temporary)


def check_replaceable(folder: Path, kind: str, *, overwrite: bool = True, parts: Collection[str] = ()) -> str:
    """Refuse before any work what `replace_folder` would refuse after it; remove the files of a killed save.

    A file is made and renamed beside the folder, and the folder itself renamed and put back, as mount points cannot be.
    parts: names of files in it besides those that its manifest lists. Returns the `saved_version` of the folder.
    """
    with writing(folder):
        place = link_target(folder)
        if not place.parent.is_dir():
            check_writable(place)
            return ""
        with locked(place):
            _refuse_others(place, kind, parts, overwrite=overwrite, read=None)
            _try_to_write(place)
            if place.exists():
                replace(place, _previous(place))
                replace(_previous(place), place)
            return saved_version(place)


def check_writable(path: Path) -> None:
    """Raise OSError unless a file can be made, filled and renamed in the folder of a path, or where that would be."""
    place = path.absolute()
    place = next(each for each in (place, *place.parents) if each.parent.exists())
    with locked(place):  # so that who is killed leaves nothing that the next one does not remove
        _try_to_write(place)


def _try_to_write(place: Path) -> None:
    one, other = temporary_beside(place), temporary_beside(place)
    try:
        one.write_bytes(bytes(1 << 12))
        _sync(one)
        replace(one, other)
    finally:
        for file in (one, other):
            _remove(file)


def saved_version(folder: Path) -> str:
    """A digest of the manifest of a saved folder, which lists digests of its files; "" where there is none."""
    with contextlib.suppress(OSError):
        if exists(folder, folder / MANIFEST):
            return hashlib.blake2b((folder / MANIFEST).read_bytes(), digest_size=16).hexdigest()
    return ""


def exists(folder: Path, file: Path) -> bool:
    """Whether a file is in a saved folder. A folder that is being replaced is waited for, or put back after a kill."""
    with contextlib.suppress(OSError, TagwrightError):
        place = link_target(folder)
        if not file.is_file() and _previous(place).is_dir():
            with locked(place, READERS_PATIENCE):  # its owner has cleaned up
                return file.is_file()
    return file.is_file()


def read_whole(folder: Path, read: Callable[[], T]) -> T:
    """The result of `read` on a saved folder, repeated if it was replaced meanwhile, so never half old and half new."""
    for _ in range(TRIES):
        before = _state(folder)
        try:
            found = read()
        except (TagwrightError, OSError):
            if _state(folder) == before:
                raise
        else:
            if _state(folder) == before:
                return found
        time.sleep(0.01)
    raise ModelError(f"{folder}: is replaced repeatedly while it is read; try later")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers have left in a folder, unless others are writing there."""
    for name in {found[1] for each in folder.glob(".*") if (found := _LEFT.fullmatch(each.name))}:
        with contextlib.suppress(OSError, TagwrightError), locked(folder / name, 0):
            pass


def delete(*paths: Path, parts: Collection[str] = ()) -> None:
    """Delete files and folders that are ours, if they are there; of a saved folder, a kill leaves all or nothing.

    Ours are `TEMPORARY` ones and what is in scratch folders; folders with no other files than those that a manifest
    lists, or none; and files with the names in `parts`, wherever they are in a folder. Raises OccupiedError before
    anything is deleted, naming a file that is not ours; OSError.
    """
    places = [link_target(path) if (path / MANIFEST).is_file() else path for path in paths]
    for place in places:
        refuse_foreign(place, parts)
    for place in places:
        if not (place / MANIFEST).is_file():
            _remove(place)
            continue
        with locked(place):
            refuse_foreign(place, parts)
            _discard(place, place)


def delete_empty(*folders: Path) -> None:
    """Delete folders as far as nobody has put anything there."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


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
        mounted = error.errno in (errno.EBUSY, errno.EXDEV)
        return (error.strerror or str(error)) + ", perhaps a mount point: choose a place in or beside it" * mounted
    said = re.search(r"([^:(\n]+) \(os error \d+\)", str(error)) or re.search(
        r"(No space left on device|Disk quota exceeded|There is not enough space on the disk)", str(error)
    )
    return said[1].strip() if said else None


@contextlib.contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock for writing `path`, and remove the files of killed writers. It is held once in a process."""
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
            _remove(file)
        lock.release()


def _tidy(path: Path) -> None:
    """Remove temporaries of killed writers and their old folder, which is restored if there is no new one."""
    previous = _previous(path)
    if previous.is_dir() and not path.exists() and (manifest_of(previous) or is_empty(previous)):
        replace(previous, path)
    elif previous.is_dir() and path.is_dir() and is_whole(previous):
        with contextlib.suppress(OSError):
            _discard(previous, path)
    temporary = re.compile(re.escape(f".{path.name}.tmp") + "[0-9a-f]{8}")
    for other in [other for other in path.parent.iterdir() if temporary.fullmatch(other.name)]:
        _remove(other)


def _exchange(new: Path, folder: Path) -> None:
    """Rename `new` to `folder`; the old folder is removed only after that."""
    previous = _previous(folder)
    if not folder.exists():
        replace(new, folder)
    else:
        replace(folder, previous)
        try:
            replace(new, folder)
        except BaseException:
            if not folder.exists():
                replace(previous, folder)
            raise
        with contextlib.suppress(OSError):  # Windows, where a file of it is open: the next writer removes it
            _discard(previous, folder)
    _sync_names(folder.parent)


def _discard(old: Path, folder: Path) -> None:
    """Remove an old folder. It is renamed first: half removed, it must not be read or restored."""
    doomed = temporary_beside(folder)
    replace(old, doomed)
    _remove(doomed)


def _remove(path: Path) -> None:
    """Delete a file, or a folder as far as possible. Whoever calls has made sure that it is ours."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def replace(source: Path, target: Path) -> None:
    """Rename, retrying for a second: on Windows, virus scanners and readers hold files for a moment."""
    for left in reversed(range(TRIES)):
        try:
            source.replace(target)
        except PermissionError:
            if not left or not WINDOWS:
                raise
            time.sleep(0.05)
        else:
            return


def _keep_mode(path: Path, new: Path) -> None:
    """Give what replaces a file or folder the same permissions."""
    with contextlib.suppress(OSError):  # there is none, or the disk has no permissions
        shutil.copymode(path, new)


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


def _refuse_others(folder: Path, kind: str, parts: Collection[str] = (), *, overwrite: bool, read: str | None) -> None:
    """Raise OccupiedError unless a saved folder may be put in this place, ChangedError for another than was read."""
    if not folder.exists() or is_empty(folder):
        return
    found = manifest_of(folder).get("kind")
    if found is None:
        raise OccupiedError(f"{folder}: exists and is not a saved {kind}; choose another place")
    if found != kind:
        raise OccupiedError(f"{folder}: holds {shown(found, 100)}, expected a saved {kind}; choose another place")
    if read is not None and saved_version(folder) != read:
        raise ChangedError(f"{folder}: another process has saved a {kind} there meanwhile, which is not replaced")
    if not overwrite:
        replaced = option("overwrite", python="overwrite=True")
        raise OccupiedError(f"{folder}: holds a saved {kind}; replace it with {replaced}, or choose another place")
    refuse_foreign(folder, parts)
    if _previous(folder).exists():  # and not that of a killed writer, or it would be gone
        raise OccupiedError(f"{_previous(folder)}: is in the way, and not from Tagwright; move it elsewhere")


def lies_in(path: Path | str, folder: Path) -> bool:
    """Whether a path is a folder or below it, wherever symbolic links lead; neither needs to exist."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def link_target(path: Path) -> Path:
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


def temporary_beside(path: Path) -> Path:
    """A new name beside a path that tells a temporary file or folder of ours."""
    return path.with_name(f".{path.name}.tmp{secrets.token_hex(4)}")


def _state(folder: Path) -> tuple[int, ...] | None:
    """A value that differs before and after a saved folder is replaced, or renamed and put back."""
    with contextlib.suppress(OSError):
        found = (folder / MANIFEST).stat()
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, folder.stat().st_ctime_ns
    return None
