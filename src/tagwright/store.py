"""Save and load: atomic files and folders, arrays and manifests. Nothing that could execute code is ever read.

A saved thing is a folder: `manifest.json` says what it is and how it was configured, arrays lie beside it as `.npy`
(memory-mapped on load), texts as JSON lines. A reader of a folder that is being replaced sees the old one or the new
one; a writer that dies leaves the old one whole. How that is done, on every system, is in `replacing`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagwright.errors import ConfigError, ModelError
from tagwright.fields import fits, in_words
from tagwright.replacing import (
    check_replaceable,
    put_back,
    read_whole,
    recover,
    remove_leftovers,
    replace_file,
    replace_folder,
    writing,
)

__all__ = [
    "check_files",
    "check_replaceable",
    "digests",
    "is_first",
    "is_folder_name",
    "read_array",
    "read_manifest",
    "read_options",
    "read_whole",
    "recover",
    "remove_leftovers",
    "replace_file",
    "replace_folder",
    "write_arrays",
    "write_manifest",
    "writing",
]

FORMAT = 1
"Rises when a saved folder of an older Tagwright can no longer be read."

MOST = 1 << 31
"A whole number in a saved configuration is smaller: libraries that are given larger ones end the process."

BLOCK = 1 << 24
"Numbers that are looked at together."

T = TypeVar("T")

_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def is_first() -> bool:
    """Whether this is the only process, or the first of those that `accelerate launch` started: the one that writes."""
    return os.environ.get("RANK", "0") == "0"


def is_folder_name(name: object) -> bool:
    """Whether a folder can be called so inside another one, on every system, and is then inside it.

    >>> [is_folder_name(name) for name in ("dense", "../dense", "C:dense", "..", "", "con", "manifest.json")]
    [True, False, False, False, False, False, False]
    """
    return (
        isinstance(name, str)
        and re.fullmatch(r'[^\x00-\x1f\x7f<>:"/\\|?*]{1,100}', name) is not None
        and not name.endswith((".", " "))
        and not _RESERVED.fullmatch(name)
        and name not in ("manifest.json", "labels.jsonl")
    )


def write_manifest(folder: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write `manifest.json`: the kind of thing that is saved here and its configuration, plain JSON."""
    text = json.dumps({"tagwright": FORMAT, "kind": kind, **content}, ensure_ascii=False, indent=1)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    """Read `manifest.json` of a saved `kind`. Raises ModelError when it is missing, damaged, or of another kind."""
    path = folder / "manifest.json"
    if not put_back(folder, path):
        raise ModelError(f"{folder}: no saved {kind} here (manifest.json is missing)")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: damaged ({error}); save the {kind} again") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != kind:
        got = manifest.get("kind") if isinstance(manifest, dict) else type(manifest).__name__
        raise ModelError(f"{path}: holds {str(got)[:100]!r}, expected a saved {kind}")
    if manifest.get("tagwright") != FORMAT:
        raise ModelError(
            f"{path}: format {str(manifest.get('tagwright'))[:100]}, this Tagwright reads {FORMAT}; save it again"
        )
    return manifest


def read_options(folder: Path, kind: type[T], values: object) -> T:
    """The options of a saved stage, a dataclass. Raises ModelError when one is unknown or cannot have its value."""
    try:
        if not isinstance(values, dict):
            raise ConfigError(f"{type(values).__name__} in place of options")
        types = get_type_hints(kind)
        known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        for name, value in values.items():
            if name not in known:
                raise ConfigError(f"there is no option {name[:100]}")
            if not fits(value, types[name]) or (isinstance(value, int) and abs(value) >= MOST):
                raise ConfigError(f"{name} is {str(value)[:100]}, expected {in_words(types[name])}")
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
    except ConfigError as error:
        raise ModelError(f"{folder}: the options are damaged ({error}); save the model again") from None


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to `NAME.npy`."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def read_array(
    folder: Path,
    name: str,
    dtype: DTypeLike | None = None,
    shape: tuple[int | None, ...] | None = None,
    between: tuple[float, float] | None = None,
) -> NDArray[Any]:
    """Memory-map `NAME.npy`. dtype, shape (None: any length), between: what it must be; numbers must be finite.

    Raises ModelError when it is missing or damaged.
    """
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy reads the header as a piece of Python, which fails in many ways
        raise ModelError(f"{path}: cannot be read ({error}); save the model again") from None
    if not isinstance(array, np.ndarray):
        raise ModelError(f"{path}: cannot be read (not one array); save the model again")
    right = shape is None or (
        len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    )
    if not right or (dtype is not None and array.dtype != np.dtype(dtype)):
        raise ModelError(
            f"{path}: holds {array.shape} {array.dtype}, expected {shape or 'an array'} "
            f"{np.dtype(dtype or array.dtype)}; save the model again"
        )
    if not _is_within(array, between):
        raise ModelError(f"{path}: holds numbers that cannot be; it is damaged, save the model again")
    return array


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """What tells whether these files of a folder are damaged: for those that other libraries trust blindly."""
    return {name: hashlib.blake2b((folder / name).read_bytes(), digest_size=16).hexdigest() for name in names}


def check_files(folder: Path, expected: object) -> None:
    """Raise ModelError when the files are not those that `digests` saw."""
    try:
        if not isinstance(expected, dict) or not all(map(is_folder_name, expected)):
            raise ModelError(f"{folder}: the manifest is damaged; save the model again")
        for name, digest in expected.items():
            if digests(folder, [name])[name] != digest:
                raise ModelError(f"{folder / name}: damaged (its checksum differs); save the model again")
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read ({error}); save the model again") from None


def _is_within(array: NDArray[Any], between: tuple[float, float] | None) -> bool:
    """Whether all numbers are finite and in these bounds. Looks at every one of them: 0.02 s for 30,000 vectors."""
    if array.dtype.kind not in "iuf":
        return array.dtype.kind == "b"
    flat = array.reshape(-1)
    for start in range(0, len(flat), BLOCK):
        part = flat[start : start + BLOCK]
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            return False
        if between and not between[0] <= part.min() <= part.max() <= between[1]:
            return False
    return True
