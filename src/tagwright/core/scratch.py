"""Temporary folders that do not outlive their process for long: the next one removes those of processes that died."""

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tagwright.core.atomic import delete
from tagwright.errors import TagwrightError

_PREFIX, _SUFFIX = "tagwright-scratch-", ".folder"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty temporary folder, for this process; removed on leaving.

    Raises TagwrightError where it, or what is done meanwhile, finds the disk full.
    """
    from filelock import FileLock

    remove_abandoned()
    folder = Path(tempfile.gettempdir()) / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    lock = folder.with_suffix(".lock")
    with full_disk_explained(), FileLock(lock):  # locked before it exists: nobody takes it for abandoned
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                delete(folder, lock)


def remove_abandoned() -> None:
    """Remove the folders of processes that died."""
    from filelock import FileLock, Timeout

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_SUFFIX}"):
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
