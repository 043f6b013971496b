"""Cut the documents of files into numbered shards of fixed size, each a file of documents.

A shard is a fixed number of consecutive documents of the input. Documents that cannot be read are counted too, so that
repairing one later does not move the others.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tagwright.core.atomic import delete
from tagwright.core.checked import show
from tagwright.data import document_file
from tagwright.errors import InputError
from tagwright.readers.documents.records import Located
from tagwright.types import Document


class Unread(NamedTuple):
    """A document without suggestions, and why. file, line: where it is, as far as that is known."""

    reason: str
    file: str = ""
    line: int | None = None
    id: str = ""


@dataclass
class Shard:
    """One shard. path: its `DocumentFile`; digest: of what was read, errors included."""

    number: int
    path: Path
    documents: int = 0
    digest: str = ""
    unread: list[Unread] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of documents, including those that cannot be read."""
        return self.documents + len(self.unread)


def cut_into_shards(
    sources: Iterable[tuple[str, Iterator[Located]]],
    size: int,
    wanted: Callable[[int], bool],
    folder: Path,
    unread: list[InputError],
) -> Iterator[Shard]:
    """Yield the shards of all sources in order; an unwanted shard is skipped and has no file.

    folder: write the documents of wanted shards here; the caller removes them. unread: gets the errors of documents in
    the sources that cannot be read, as they come. If the rest of a file cannot be read, it counts as one unreadable
    document; so does a second document with the same id in a shard. Raises OSError if the disk is full.
    """
    rest = _read_all(sources, unread)
    number = 0
    while True:
        shard = Shard(number, folder / f"{number}.jsonl")
        documents = _fill_shard(shard, islice(rest, size))
        if wanted(number):
            document_file.write(documents, shard.path)
        else:
            for _ in documents:
                pass
        if not shard.size:
            delete(shard.path)
            return
        yield shard
        number += 1


def _fill_shard(shard: Shard, items: Iterable[tuple[str, int, Document] | Unread]) -> Iterator[Document]:
    """Yield the documents; count and hash them in the shard, and collect errors there."""
    digest, ids = hashlib.blake2b(digest_size=16), set[str]()
    for item in items:
        if isinstance(item, Unread):
            shard.unread.append(item)
            digest.update(repr(item).encode(errors="replace"))
            continue
        file, line, document = item
        if document.id in ids:
            reason = f"the id {show(document.id)} is also that of an earlier document; every document needs its own"
            shard.unread.append(Unread(reason, file, line or None, document.id))
        else:
            ids.add(document.id)
            shard.documents += 1
            yield document
        digest.update(repr(replace(document, labels=())).encode())  # gold labels change no suggestion
    shard.digest = digest.hexdigest()


def _read_all(
    sources: Iterable[tuple[str, Iterator[Located]]], unread: list[InputError]
) -> Iterator[tuple[str, int, Document] | Unread]:
    """Yield documents with file and line, and unreadable documents in their places."""
    for file, documents in sources:
        try:
            for line, document in documents:
                yield from _take(unread)
                yield file, line, document
        except InputError as error:
            unread.append(error)
        yield from _take(unread)


def _take(unread: list[InputError]) -> list[Unread]:
    """Empty the list and return each error once: formats are guessed from lines that are then read again."""
    taken = dict.fromkeys(Unread(error.problem, str(error.path or ""), error.line) for error in unread)
    unread.clear()
    return list(taken)
