"""Save and load: atomic files and folders, arrays and manifests. Nothing that could execute code is ever read.

A saved thing is a folder: `manifest.json` says what it is and how it was configured, arrays lie beside it as `.npy`
(memory-mapped on load), texts as JSON lines. A reader of a folder that is being replaced sees the old one or the new
one; a writer that dies leaves the old one whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import ModelError, TagwrightError

FORMAT = 1
"Rises when a saved folder of an older Tagwright can no longer be read."


@contextlib.contextmanager
def replace_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on leaving, it takes the place of `path` in one step. A pipe stays.

    Raises TagwrightError when the file cannot be written; what was there before is then untouched.
    """
    path = Path(path)
    with _writing(path):
        if path.exists() and not path.is_file():  # a pipe or a device: what is written there cannot be taken back
            yield path
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            _sync(temporary)
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replace_folder(folder: Path | str) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; on leaving, it takes the place of `folder`.

    A folder cannot be exchanged in one step everywhere, so the old one is first renamed to `.NAME.previous`. If the
    machine stops between the two renames, `recover` puts it back. Raises TagwrightError as `replace_file` does, and
    when `folder` holds something that Tagwright did not save.
    """
    folder = Path(folder)
    with _writing(folder):
        check_replaceable(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            yield temporary
            for file in sorted(temporary.rglob("*")):
                _sync(file)
            temporary.chmod(0o777 & ~_umask())
            previous = _previous(folder)
            if folder.exists():
                folder.replace(previous)
            temporary.replace(folder)
            shutil.rmtree(previous, ignore_errors=True)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def check_replaceable(folder: Path, expected: str = "folder saved by Tagwright") -> None:
    """Refuse what `replace_folder` would refuse, before the work is done. Raises TagwrightError naming the expected."""
    recover(folder)
    if folder.exists() and not _ours(folder):
        raise TagwrightError(f"{folder}: exists and is not a {expected}; choose another place")


def recover(folder: Path) -> None:
    """Put back a saved folder whose replacement was cut off between its two renames; otherwise do nothing."""
    if not folder.exists() and _previous(folder).is_dir():
        _previous(folder).replace(folder)


def is_first() -> bool:
    """Whether this is the only process, or the first of those that `accelerate launch` started: the one that writes."""
    return os.environ.get("RANK", "0") == "0"


def write_manifest(folder: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write `manifest.json`: the kind of thing that is saved here and its configuration, plain JSON."""
    text = json.dumps({"tagwright": FORMAT, "kind": kind, **content}, ensure_ascii=False, indent=1)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    """Read `manifest.json` of a saved `kind`. Raises ModelError when it is missing, damaged, or of another kind."""
    recover(folder)
    path = folder / "manifest.json"
    if not path.is_file():
        raise ModelError(f"{folder}: no saved {kind} here (manifest.json is missing)")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path}: damaged ({error}); save the {kind} again") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != kind:
        got = manifest.get("kind") if isinstance(manifest, dict) else type(manifest).__name__
        raise ModelError(f"{path}: holds {got!r}, expected a saved {kind}")
    if manifest.get("tagwright") != FORMAT:
        raise ModelError(f"{path}: format {manifest.get('tagwright')}, this Tagwright reads {FORMAT}; save it again")
    return manifest


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to `NAME.npy`."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def read_array(folder: Path, name: str) -> NDArray[Any]:
    """Memory-map `NAME.npy`. Raises ModelError when it is missing or damaged."""
    path = folder / f"{name}.npy"
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelError(f"{path}: cannot be read ({error}); save the model again") from None
    return array


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.previous")


def _ours(folder: Path) -> bool:
    return folder.is_dir() and ((folder / "manifest.json").is_file() or not any(folder.iterdir()))


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TagwrightError(f"{path}: cannot be written ({error.strerror or error})") from error


def _sync(path: Path) -> None:
    """Bring a file or folder to the disk: a full disk shows here at the latest, before anything is replaced."""
    if path.is_file():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
