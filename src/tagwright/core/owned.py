"""Which files and folders are Tagwright's own, and so may be replaced or deleted; all others belong to somebody else.

Temporaries are ours by their names, a saved folder is by its manifest, as far as this lists what the folder holds.
"""

import json
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tagwright.errors import ConfigError

MANIFEST = "manifest.json"

NOT_LISTED = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"What file managers put into every folder."

TEMPORARY = re.compile(
    r"\..+\.(tmp[0-9a-f]{8}|lock)"  # of `atomic`
    r"|tagwright-scratch-[0-9a-f]{16}\.(folder|lock)|\.?tagwright-cache[-.].+"  # of `scratch` and `cache`
    r"|\.tmp\w{6}"  # of safetensors
)
"Names that only Tagwright gives, to what it may delete at any time."


class OccupiedError(ConfigError):
    """A place holds what may not be replaced or deleted."""


class ChangedError(OccupiedError):
    """A place holds something else than what was read there."""


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest of a folder that Tagwright saved, else nothing: others have files of that name too."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    ours = isinstance(manifest, dict) and type(manifest.get("tagwright")) is int  # True is no number
    return manifest if ours and isinstance(manifest.get("kind"), str) else {}


def refuse_foreign(path: Path, parts: Collection[str] = ()) -> None:
    """Raise OccupiedError, naming the first file that is not ours, if a file or folder may not be deleted.

    Ours are `TEMPORARY` ones, with what is directly in them; files that the manifest of the folder lists; and files
    with one of the names in `parts`.
    """
    for name in _foreign(path, parts):
        kind = manifest_of(path).get("kind", "temporary file")
        raise OccupiedError(
            f"{path / name}: is no part of the saved {kind}, with which it would be deleted; move it elsewhere, or "
            "choose another place"
        )


def is_whole(folder: Path) -> bool:
    """Whether a folder is empty, or one of ours that holds all files of its manifest's list and no others."""
    files = manifest_of(folder).get("files")
    listed = isinstance(files, dict) and all((folder / name).is_file() for name in files)
    return is_empty(folder) or (listed and not any(_foreign(folder, ())))


def is_empty(folder: Path) -> bool:
    """Whether this is a folder with nothing in it."""
    return folder.is_dir() and not any(folder.iterdir())


def _foreign(path: Path, parts: Collection[str]) -> Iterator[str]:
    """The files of a folder, or the file, that are not ours: names relative to the path."""
    if not os.path.lexists(path) or any(TEMPORARY.fullmatch(each.name) for each in (path, path.parent)):
        return
    content, known = manifest_of(path), {*NOT_LISTED, *parts}
    listed = {
        str(name) for key in ("files", "logs") if isinstance(content.get(key), dict | list) for name in content[key]
    }
    for file in sorted(path.rglob("*")) if path.is_dir() and not path.is_symlink() else [path]:
        name = file.relative_to(path).as_posix()
        if name in listed or file.name in known or TEMPORARY.fullmatch(file.name):
            continue
        if file.name == MANIFEST and manifest_of(file.parent):
            continue
        if file.is_symlink() or not file.is_dir():
            yield name
