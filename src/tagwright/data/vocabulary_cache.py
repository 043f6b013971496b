"""Parsed vocabularies, cached by the hash of their file: the second reading takes a second, not twenty.

The cache saves work and nothing else depends on it: an entry that is unreadable, damaged or of another version is
parsed again, and one that cannot be written is not kept. `tagwright.core.cache` gives its folder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import astuple
from hashlib import blake2b
from pathlib import Path

from tagwright.core import saved
from tagwright.core.cache import cache_folder
from tagwright.errors import TagwrightError
from tagwright.readers.lines import open_bytes
from tagwright.types import Label

PARSER = 1
"Increased whenever the same file gives different labels than before."
MOST = 20
"The most vocabularies that are kept; the least recently used goes first."

_log = logging.getLogger(__name__)


def kept(path: Path, options: Iterable[object], parse: Callable[[], Iterable[Label]]) -> list[Label]:
    """The labels that `parse` reads from this file with these options, from the cache if it has them.

    A warning of `parse` is not repeated on a cache hit. Raises InputError when the file cannot be read, and what
    `parse` raises.
    """
    file = cache_folder() / "vocabularies" / f"{_key(path, options)}.jsonl"
    labels = _read(file)
    if labels is None:
        labels = list(parse())
        _write(file, labels)
    return labels


def _key(path: Path, options: Iterable[object]) -> str:
    key = blake2b(repr((PARSER, *options)).encode(), digest_size=20)
    with open_bytes(path) as file:
        while chunk := file.read(1 << 20):
            key.update(chunk)
    return key.hexdigest()


def _read(file: Path) -> list[Label] | None:
    """The cached labels, checked against their first line; None when there are none or they are damaged."""
    try:
        digest, _, content = file.read_bytes().partition(b"\n")
        if digest != _digest(content):
            return None
        file.touch()  # used just now
    except OSError:
        return None
    rows = map(json.loads, content.splitlines())
    return [Label(id_, tuple(names), description, tuple(broader)) for id_, names, description, broader in rows]


def _write(file: Path, labels: list[Label]) -> None:
    content = b"".join(json.dumps(astuple(label)).encode() + b"\n" for label in labels)
    try:
        with saved.replace_file(file) as temporary:
            temporary.write_bytes(_digest(content) + b"\n" + content)
        oldest_first = sorted(file.parent.glob("*.jsonl"), key=lambda each: each.stat().st_mtime)
        for old in oldest_first[:-MOST]:
            old.unlink(missing_ok=True)
    except (TagwrightError, OSError) as error:
        _log.info("the parsed vocabulary is not kept (%s)", error)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=20).hexdigest().encode()
