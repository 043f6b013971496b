"""Save and load: atomic files and folders, arrays and manifests. Nothing that could execute code is ever read.

A saved object is a folder: `manifest.json` holds its kind and configuration, arrays are beside it as `.npy`
(memory-mapped on load), texts in arrays too. A reader sees either the old or the new folder during a replacement, and a
killed writer leaves the old one intact: see `core.atomic`.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagwright.core.atomic import exists
from tagwright.core.checked import build, show
from tagwright.core.kept_folders import new_folder
from tagwright.errors import ConfigError, ModelError

FORMAT = 1
"Version of the saved format; increase it when older folders can no longer be read."

VOCABULARY = "vocabulary"
"The folder of the labels inside the folder of a tagger."

MOST = 1 << 31
"The limit of whole numbers in a saved configuration: larger ones make libraries abort the process."

BLOCK = 1 << 24
"Numbers checked, or bytes hashed, at a time."

CHECKED = 1 << 26
"""Bytes to check on loading, in a tenth of a second: the smallest files, up to this many bytes in all, and the numbers
of arrays up to this size. Of all other files only the size is checked, unless a full check is asked for."""

T = TypeVar("T")


def is_first() -> bool:
    """Whether this is the only process, or the first process of `accelerate launch`: only the first one writes."""
    return os.environ.get("RANK", "0") == "0"


def is_folder_name(name: object) -> bool:
    """Whether this is a valid name of a folder inside another one, on every system.

    >>> [is_folder_name(name) for name in ("dense", "../dense", "C:dense", "..", "", "con", "manifest.json")]
    [True, False, False, False, False, False, False]
    """
    return (
        isinstance(name, str)
        and re.fullmatch(r'[^\x00-\x1f\x7f<>:"/\\|?*]{1,100}', name) is not None
        and not name.endswith((".", " "))
        and not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name)  # reserved by Windows
        and name not in ("manifest.json", VOCABULARY, "steps", "combiner")
    )


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


def read_options(folder: Path, kind: type[T], values: object, **before: object) -> T:
    """Read the options of a saved stage, a dataclass. Raises ModelError for an unknown option or a wrong value.

    before: options that earlier releases did not write, with what they did.
    """
    try:
        if not isinstance(values, dict):
            raise ConfigError(f"{type(values).__name__} in place of options")
        for name, value in values.items():
            if isinstance(value, int) and abs(value) >= MOST:
                raise ConfigError(f"{name[:100]} is {show(value)}, expected a smaller number")
        return build(kind, {**before, **values})
    except ConfigError as error:
        raise ModelError(f"{folder}: manifest cannot be read (wrong options: {error}); save the model again") from None


def read_number(folder: Path, manifest: Mapping[str, Any], name: str, most: int = MOST - 1) -> int:
    """Read a whole number from 1 to `most` of a manifest. Raises ModelError for anything else."""
    value = manifest.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ModelError(
            f"{folder}: manifest cannot be read ({name} is {show(value, 100)}, expected a number from 1 to {most}); "
            "save the model again"
        )
    return value


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to `NAME.npy`."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def read_array(
    folder: Path,
    name: str,
    dtype: DTypeLike | None = None,
    shape: tuple[int | None, ...] | None = None,
    *,
    finite: bool = True,
) -> NDArray[Any]:
    """Memory-map `NAME.npy`.

    dtype, shape: the expected ones, where a length of None means any. finite: check that numbers are finite. The
    numbers of very large arrays are not checked, see CHECKED. The array is writable, as some libraries require, but
    writing changes neither the file nor what other processes see. Raises ModelError when it is missing or damaged.
    """
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except Exception as error:  # numpy parses the header as Python, which fails in many ways
        raise ModelError(f"{path}: cannot be read ({error}); save the model again") from None
    if not isinstance(array, np.ndarray):
        raise ModelError(f"{path}: cannot be read (not one array); save the model again")
    right = shape is None or (
        len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    )
    if not right or (dtype is not None and array.dtype != np.dtype(dtype)):
        raise ModelError(
            f"{path}: cannot be read (holds {array.shape} {array.dtype}, expected {shape or 'an array'} "
            f"{np.dtype(dtype or array.dtype)}); save the model again"
        )
    array = array.view(np.ndarray)  # memmap's own operations are slow, and copies would be memmaps too
    if finite and array.nbytes <= CHECKED and not _is_finite(array):
        raise ModelError(f"{path}: cannot be read (holds numbers that are not finite); save the model again")
    return array


def digests(folder: Path) -> dict[str, list[Any]]:
    """Return sizes and checksums of the files below the folder, to detect damage; without manifests.

    A gigabyte takes about a second.
    """
    return {name: [file.stat().st_size, digest(file)] for name, file in sorted(_files(folder).items())}


def check_files(folder: Path, expected: object, *, whole: bool = False) -> None:
    """Raise ModelError when a file is missing, or differs in its size or checksum. Other files are ignored.

    expected: the result of `digests`. whole: check the contents of all files, however large, see CHECKED.
    """
    known = _known_files(folder, expected)
    files = _files(folder)
    for name, (size, _) in known.items():
        if name not in files:
            raise ModelError(f"{folder / name}: is missing; save the model again")
        if files[name].stat().st_size != size:
            raise ModelError(f"{files[name]}: damaged (its size differs); save the model again")
    total = 0
    for name, (size, checksum) in sorted(known.items(), key=lambda item: item[1][0]):
        total += size
        if not whole and total > CHECKED:
            return
        if digest(files[name]) != checksum:
            raise ModelError(f"{files[name]}: damaged (its checksum differs); save the model again")


def _known_files(folder: Path, expected: object) -> dict[str, tuple[int, object]]:
    """Name -> size and checksum."""
    known: dict[str, tuple[int, object]] = {}
    for name, value in expected.items() if isinstance(expected, dict) else [("", None)]:
        if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], int):
            raise ModelError(f"{folder}: the list of files is damaged; save the model again")
        known[name] = value[0], value[1]
    return known


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
    """Return a checksum of a file, hexadecimal. Raises ModelError when it cannot be read."""
    checksum = hashlib.blake2b(digest_size=16)
    try:
        with file.open("rb") as opened:
            while part := opened.read(BLOCK):
                checksum.update(part)
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror}); save the model again") from None
    return checksum.hexdigest()


def _is_finite(array: NDArray[Any]) -> bool:
    """Whether all numbers are finite. Checks each: 0.03 s for 30,000 vectors."""
    flat = array.reshape(-1)
    blocks = range(0, len(flat), BLOCK) if array.dtype.kind == "f" else ()
    return all(np.isfinite(flat[start : start + BLOCK]).all() for start in blocks)
