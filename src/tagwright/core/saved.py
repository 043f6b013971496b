"""Save and load states: plain values in `manifest.json`, arrays beside it. Nothing that could execute code is read.

A state is a mapping of names to plain values, arrays, objects with `save(folder)` such as encoders, dataclasses, and
objects with a `state()` of their own, in mappings and lists as deep as you like. `write_state` writes each array to the
`.npy` file, and each object to the folder, that its names lead to; `read_state` gives the same mapping back, in which
arrays are memory-mapped when they are asked for, and objects are the folders to read them from. Sizes and checksums of
all files are in the manifest, and one of the manifest itself. A reader sees either the old or the new folder during a
replacement, and a killed writer leaves the old one intact: see `core.atomic`.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagwright.core.atomic import exists
from tagwright.core.checked import show
from tagwright.core.kept_folders import new_folder
from tagwright.errors import ConfigError, ModelError, one_line_of

FORMAT = 1
"Version of the saved format; increase it when older folders can no longer be read."

VOCABULARY = "vocabulary"
"The folder of the labels inside the folder of a tagger."

MOST = 1 << 31
"The limit of whole numbers in a saved configuration: larger ones make libraries abort the process."

CHECKED = 1 << 26
"""Bytes to check on loading, in a tenth of a second: the smallest files, up to this many bytes in all, and the numbers
of arrays up to this size. Of all other files only the size is checked, unless a full check is asked for."""

ARRAY, FOLDER = {"file": "array"}, {"file": "folder"}
"What a manifest has in place of an array, and of an object with `save(folder)`."

ABOUT = ("tagwright", "kind", "logs", "checksum")
"What a manifest has besides a state and the sizes and checksums of its files."

CHECKED_WHOLE = (".faiss", ".cbor")
"Files whose libraries trust whatever they read: indices and label trees."

T = TypeVar("T")


def is_first() -> bool:
    """Whether this is the only process, or the first process of `accelerate launch`: only the first one writes."""
    return os.environ.get("RANK", "0") == "0"


def is_folder_name(name: object) -> bool:
    """Whether this is a valid name of a folder inside another one, on every system.

    >>> [is_folder_name(name) for name in ("dense", "../dense", "C:dense", "..", "", "con")]
    [True, False, False, False, False, False]
    """
    return (
        isinstance(name, str)
        and re.fullmatch(r'[^\x00-\x1f\x7f<>:"/\\|?*]{1,100}', name) is not None
        and not name.endswith((".", " "))
        and not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name)  # reserved by Windows
    )


def write_state(folder: Path, kind: str, state: Mapping[str, Any]) -> None:
    """Write a state into an existing folder, which the caller puts in place atomically.

    Files that are there already are logs: they may change or be removed.
    """
    logs = digests(folder)
    content = _write(state, folder)
    content["files"] = {name: known for name, known in digests(folder).items() if name not in logs}
    write_manifest(folder, kind, {**content, "logs": list(logs), "checksum": checksum(content)})


def read_state(folder: Path, kind: str, *, whole: bool = False) -> "SavedState":
    """Read what `write_state` wrote; whole: check the contents of all files, however large, see CHECKED.

    Raises ModelError when it is missing or damaged.
    """
    manifest = read_manifest(folder, kind)
    content = {name: value for name, value in manifest.items() if name not in ABOUT}
    if manifest.get("checksum") != checksum(content):
        raise damaged(folder, "its manifest was changed, or comes from another version of Tagwright")
    check_files(folder, content.pop("files", {}), whole=whole)
    return SavedState(folder, content)


class SavedState(Mapping[str, Any]):
    """A state in a saved folder. What the names of an object lead to is a folder, to be read by its class."""

    def __init__(self, folder: Path, values: Mapping[str, Any]) -> None:
        self.folder, self._values = folder, values

    def __getitem__(self, name: str) -> Any:
        return _read(self._values[name], self.folder, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def saved_folder(state: Mapping[str, Any], name: str) -> Path:
    """The folder of an object in a state. Raises ConfigError for anything else, such as a path to another place."""
    if not isinstance(folder := state[name], Path):
        raise ConfigError(f"{name} is {show(folder)}, expected a folder of its own")
    return folder


def damaged(folder: Path, what: object) -> ModelError:
    """The error of a saved folder that cannot be used."""
    return ModelError(f"{folder}: is damaged ({what}); save the tagger again")


def _write(value: Any, place: Path) -> Any:
    """Write the arrays and objects of a value, and return it as JSON has it."""
    if isinstance(value, np.ndarray):
        place.parent.mkdir(parents=True, exist_ok=True)
        np.save(place.with_name(f"{place.name}.npy"), value, allow_pickle=False)
        return ARRAY
    if hasattr(value, "state"):
        return _write(value.state(), place)
    if hasattr(value, "save"):
        place.mkdir(parents=True)
        value.save(place)
        return FOLDER
    if is_dataclass(value):
        return {field.name: _write(getattr(value, field.name), place / field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _write(part, place / str(name)) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_write(part, place / str(number)) for number, part in enumerate(value)]
    return value


def _read(value: Any, folder: Path, name: str) -> Any:
    """A value of a manifest. folder, name: where its file or folder is, if it is one."""
    if _is_plain(value):
        return value
    if not is_folder_name(name):
        raise damaged(folder, f"{show(name)} is no name of a file")
    if value == ARRAY:
        return _map_array(folder / f"{name}.npy")
    if value == FOLDER:
        return folder / name
    if isinstance(value, dict):
        return SavedState(folder / name, value)
    return [_read(part, folder / name, str(number)) for number, part in enumerate(value)]


def _is_plain(value: Any) -> bool:
    """Whether there is no file in a value. Raises ConfigError for a number that makes libraries abort."""
    if isinstance(value, int) and abs(value) >= MOST:
        raise ConfigError(f"a number is {show(value)}, expected a smaller one")
    if isinstance(value, dict):
        return value not in (ARRAY, FOLDER) and all(map(_is_plain, value.values()))
    return not isinstance(value, list) or all(map(_is_plain, value))


def _map_array(file: Path) -> NDArray[Any]:
    """Memory-map an array, writable, as some libraries require; writing changes neither the file nor other processes.

    Raises ModelError when it is missing or damaged.
    """
    try:
        array: NDArray[Any] = np.load(file, mmap_mode="c", allow_pickle=False).view(np.ndarray)
        return array  # memmap's own operations are slow, and copies would be memmaps too
    except Exception as error:  # numpy parses the header as Python, which fails in many ways
        raise damaged(file, one_line_of(error)) from None


def checksum(content: Mapping[str, Any]) -> str:
    """A checksum of what a manifest says, but for ABOUT."""
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()


def write_manifest(folder: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write `manifest.json`: the kind of thing that is saved here and its configuration, plain JSON."""
    write_manifest_file(folder / "manifest.json", kind, content)


def write_manifest_file(path: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write a manifest to a file that the caller puts in place."""
    text = json.dumps({"tagwright": FORMAT, "kind": kind, **content}, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    """Read `manifest.json` of a saved `kind`. Raises ModelError when it is missing, damaged, or of another kind."""
    path = folder / "manifest.json"
    if not exists(folder, path):
        raise ModelError(f"{folder}: no saved {kind} here (manifest.json is missing)")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: damaged ({error}); save the {kind} again") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != kind:
        got = manifest.get("kind") if isinstance(manifest, dict) else None
        holds = show(got, 100) if isinstance(got, str) else "something else"
        raise ModelError(f"{path}: holds {holds}, expected a saved {kind}")
    if type(manifest.get("tagwright")) is not int or manifest["tagwright"] != FORMAT:
        raise ModelError(
            f"{path}: format {show(manifest.get('tagwright'), 100)}, this Tagwright reads {FORMAT}; train or save it "
            "again"
        )
    return manifest


def digests(folder: Path) -> dict[str, list[Any]]:
    """Return sizes and checksums of the files below the folder, to detect damage; without manifests.

    A gigabyte takes about a second.
    """
    return {name: [file.stat().st_size, digest(file)] for name, file in sorted(_files(folder).items())}


def check_files(folder: Path, expected: object, *, whole: bool = False) -> None:
    """Raise ModelError when a file is missing, or differs in its size or checksum. Other files are ignored.

    expected: the result of `digests`. whole: check the contents of all files, however large, see CHECKED.
    """
    files, total = _files(folder), 0
    try:
        known = sorted((size, name, checksum) for name, (size, checksum) in dict(expected).items())  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise damaged(folder, "its manifest lists no files") from None
    for size, name, checksum in known:
        if name not in files:
            raise damaged(folder, f"{name} is missing")
        if files[name].stat().st_size != size:
            raise damaged(folder, f"the size of {name} differs")
        total += size
        read = whole or total <= CHECKED or name.endswith(CHECKED_WHOLE)
        if read and digest(files[name]) != checksum:
            raise damaged(folder, f"the checksum of {name} differs")


def pack(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder by its relative path, for pickles of saved objects."""
    files = filter(Path.is_file, folder.rglob("*"))
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def unpack(files: Mapping[str, bytes]) -> Path:
    """Write the files of `pack` to a temporary folder and return it; the same files are written only once.

    The folder stays until the process ends: encoders are read when they are first needed.
    """
    key = hashlib.blake2b(digest_size=16)
    for name, content in sorted(files.items()):
        key.update(f"{name} {len(content)} ".encode() + content)
    if key.digest() not in _UNPACKED:
        kept = new_folder()
        for name, content in files.items():
            file = kept / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        _UNPACKED[key.digest()] = kept
    return _UNPACKED[key.digest()]


_UNPACKED: dict[bytes, Path] = {}


def _files(folder: Path) -> dict[str, Path]:
    files = (file for file in folder.rglob("*") if file.name != "manifest.json" and file.is_file())
    return {file.relative_to(folder).as_posix(): file for file in files}


def digest(file: Path) -> str:
    """Return a checksum of a file, hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, partial(hashlib.blake2b, digest_size=16)).hexdigest()
