"""Store the documents under review, with their full texts, in the review file."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from tagwright.errors import InputError
from tagwright.readers.documents.records import SHAPES, to_document, to_record
from tagwright.readers.lines import Place
from tagwright.review.file import ReviewFile
from tagwright.types import Document

_AT_ONCE = 500


class Entry(NamedTuple):
    """A document in the list: number is its place in the order of arrival, from 1."""

    number: int
    id: str
    title: str


class ReviewedDocuments:
    """The documents of a review in order of arrival. Adding a known id again changes nothing."""

    def __init__(self, file: ReviewFile) -> None:
        self._file = file

    def add(self, documents: Iterable[Document]) -> int:
        """Store documents, and return the number of new ones. Raises StorageError if they cannot be written."""
        before, rest = len(self), iter(documents)
        while batch := list(islice(rest, _AT_ONCE)):
            self._insert(batch)
        return len(self) - before

    def add_apart(self, documents: Sequence[Document]) -> list[str]:
        """Store documents, and return the id of each.

        If an id is known with another text, the digest of the text is appended, so that decisions on one text are never
        taken for decisions on the other.
        """
        self.add(documents)
        known = self._texts({each.id for each in documents})
        ids = [each.id if known[each.id] == each.text else f"{each.id}-{digest(each.text)}" for each in documents]
        self.add(replace(each, id=id_) for each, id_ in zip(documents, ids, strict=True) if each.id != id_)
        return ids

    def __len__(self) -> int:
        ((count,),) = self._file.rows("SELECT count(*) FROM documents")
        return int(count)

    def __getitem__(self, number: int) -> Document:
        """Return the document with this number. Raises KeyError."""
        found = self._file.rows("SELECT content FROM documents WHERE number = ?", (number,))
        if not found:
            raise KeyError(number)
        return self._read(number, found[0][0])

    def entries(self) -> list[Entry]:
        """Return all documents in order, without their texts."""
        return [Entry(*row) for row in self._file.rows("SELECT number, id, title FROM documents ORDER BY number")]

    def _read(self, number: int, content: str) -> Document:
        try:
            record = json.loads(content)
        except ValueError:
            raise InputError(f"document {number} is damaged", self._file.path) from None
        return to_document(record, SHAPES["jsonl"], Place(self._file.path, number))

    def _texts(self, ids: Iterable[str]) -> dict[str, str]:
        """Return id -> text of these documents."""
        statement = "SELECT number, content FROM documents WHERE id = ?"
        rows = ((id_, row) for id_ in ids for row in self._file.rows(statement, (id_,)))
        return {id_: self._read(*row).text for id_, row in rows}

    def _insert(self, documents: Sequence[Document]) -> None:
        rows = [(each.id, each.title, json.dumps(to_record(each), ensure_ascii=False)) for each in documents]
        self._file.insert("INSERT OR IGNORE INTO documents (id, title, content) VALUES (?, ?, ?)", rows)


def digest(text: str) -> str:
    """Return a digest of a text, sixteen characters."""
    return blake2b(text.encode(), digest_size=8).hexdigest()
