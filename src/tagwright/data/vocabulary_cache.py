"""Parsed vocabularies in the cache, by the hash of their file: the second reading takes a second, not twenty."""

import json
from collections.abc import Callable, Iterable
from dataclasses import astuple
from hashlib import blake2b
from pathlib import Path

from tagwright.core.cache import user_cache
from tagwright.readers.lines import open_bytes
from tagwright.types import Label

KIND = "vocabularies"

PARSER = 1
"Increased whenever the same file gives different labels than before."


def kept(path: Path, options: Iterable[object], parse: Callable[[], Iterable[Label]]) -> list[Label]:
    """The labels that `parse` reads from this file with these options, from the cache if it has them.

    A warning of `parse` is not repeated on a cache hit. Raises InputError when the file cannot be read, and what
    `parse` raises.
    """
    cache, key = user_cache(), _key(path, options)
    if content := cache.get(KIND, [key]).get(key):
        rows = map(json.loads, content.splitlines())
        return [Label(id_, tuple(names), description, tuple(broader)) for id_, names, description, broader in rows]
    labels = list(parse())
    cache.put(KIND, {key: b"".join(json.dumps(astuple(label)).encode() + b"\n" for label in labels)})
    return labels


def _key(path: Path, options: Iterable[object]) -> bytes:
    key = blake2b(repr((PARSER, *options)).encode(), digest_size=20)
    with open_bytes(path) as file:
        while chunk := file.read(1 << 20):
            key.update(chunk)
    return key.digest()
