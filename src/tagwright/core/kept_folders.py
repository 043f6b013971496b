"""Folders in the user's cache: kept packed, and unpacked by every process for itself, as others may clear the cache."""

import atexit
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


def unpack_folder(cache: Cache, kind: str, key: bytes) -> Path | None:
    """Return a temporary folder with what was kept under this key; None if nothing was. Raises as `new_folder` does."""
    packed = cache.get(kind, [key]).get(key)
    if packed is None:
        return None
    folder = new_folder()
    with report_write_errors(folder), ZipFile(BytesIO(packed)) as archive:
        archive.extractall(folder)
    return folder


def keep(cache: Cache, kind: str, key: bytes, folder: Path) -> None:
    """Keep the files of a folder under this key, unless they are too large for the cache."""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    cache.put(kind, {key: packed.getvalue()})
