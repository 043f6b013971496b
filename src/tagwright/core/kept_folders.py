"""Folders in the user's cache: kept packed, and unpacked by every process for itself, as others may clear the cache."""

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from tagwright.core.atomic import report_write_errors, scratch_folder
from tagwright.core.cache import Cache

_folders = ExitStack()  # of this process, removed when it ends
atexit.register(_folders.close)


def new_folder() -> Path:
    """Return an empty temporary folder of this process. Raises TagwrightError if none can be written."""
    return _folders.enter_context(scratch_folder())


def kept_folder(cache: Cache, kind: str, key: bytes, make: Callable[[Path], object]) -> Path:
    """Return a temporary folder with what was kept under this key, or else with what `make` writes into it.

    That is then kept, unless it is too large for the cache. Raises as `new_folder` does.
    """
    packed, folder = cache.get(kind, [key]).get(key), new_folder()
    with report_write_errors(folder):
        if packed is not None:
            ZipFile(BytesIO(packed)).extractall(folder)
            return folder
        make(folder)
    content = BytesIO()
    with ZipFile(content, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    cache.put(kind, {key: content.getvalue()})
    return folder
