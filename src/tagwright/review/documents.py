"""Store the documents under review, with their full texts, in the review file."""

import json
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from tagwright.data.corpus import text_key
from tagwright.errors import InputError
from tagwright.readers.documents.records import SHAPES, checked, to_document, to_record
from tagwright.readers.lines import Place
from tagwright.review.file import ReviewFile
from tagwright.types import Document

_DIGITS = 16
"The length of a digest in an id."

_VERSIONS = (
    "SELECT number, id, content FROM documents WHERE id = ? OR id BETWEEN ? AND ? AND length(id) = ? ORDER BY number"
)
"The documents that had the same id when they came: by it, by the bounds of its ids with a digest, and their length."


class Entry(NamedTuple):
    """A document in the list: number is its place in the order of arrival, from 1."""

    number: int
    id: str
    title: str


class Added(NamedTuple):
    """Outcome of `ReviewedDocuments.add`. ids: those of the documents in the review, in order.

    new: number of new ones. changed: ids that are known with another text, of new documents.
    """

    ids: list[str]
    new: int
    changed: list[str]


class ReviewedDocuments:
    """The documents of a review in order of arrival. A document is its id and its text: neither ever changes.

    If an id is known with another text, the new document gets the id with a digest of its text at the end, so that
    decisions on one text are never taken for decisions on the other. Texts that differ only in white space are equal.
    """

    def __init__(self, file: ReviewFile) -> None:
        self._file = file

    def add(self, documents: Iterable[Document]) -> Added:
        """Store the documents that are not known. Raises StorageError if they cannot be written."""
        before, rest = len(self), iter(documents)
        ids, changed = list[str](), list[str]()
        while batch := list(islice(rest, 500)):
            self._insert(batch)
            known = [self.find(each) for each in batch]
            others = {place: self._apart(batch[place]) for place, id_ in enumerate(known) if id_ is None}
            self._insert(others.values())
            ids += [id_ or others[place].id for place, id_ in enumerate(known)]
            changed += dict.fromkeys(batch[place].id for place in others)
        return Added(ids, len(self) - before, changed)

    def find(self, document: Document) -> str | None:
        """Return the id under which the text of a document is stored; None if it is unknown, or known with others."""
        id_ = document.id
        rows = self._file.rows(_VERSIONS, (id_, f"{id_}-0", f"{id_}-g", len(id_) + 1 + _DIGITS))
        key = self._key(document) if rows else ""
        return next((each for number, each, content in rows if self._key(self._read(number, content)) == key), None)

    def __len__(self) -> int:
        ((count,),) = self._file.rows("SELECT count(*) FROM documents")
        return int(count)

    def __getitem__(self, number: int) -> Document:
        """Return the document with this number. Raises KeyError."""
        rows = self._file.rows("SELECT content FROM documents WHERE number = ?", (number,))
        if not rows:
            raise KeyError(number)
        return self._read(number, rows[0][0])

    def entries(self) -> list[Entry]:
        """Return all documents in order, without their texts."""
        return [Entry(*row) for row in self._file.rows("SELECT number, id, title FROM documents ORDER BY number")]

    def _key(self, document: Document) -> str:
        """A digest of the text as it is read from the file."""
        return text_key(checked(document, Place(self._file.path))).hex()

    def _apart(self, document: Document) -> Document:
        """The document under an id of its own."""
        return replace(document, id=f"{document.id}-{self._key(document)[:_DIGITS]}")

    def _read(self, number: int, content: str) -> Document:
        try:
            record = json.loads(content)
        except ValueError:
            raise InputError(f"document {number} is damaged", self._file.path) from None
        return to_document(record, SHAPES["jsonl"], Place(self._file.path, number))

    def _insert(self, documents: Iterable[Document]) -> None:
        rows = [(each.id, each.title, json.dumps(to_record(each), ensure_ascii=False)) for each in documents]
        self._file.insert("INSERT OR IGNORE INTO documents (id, title, content) VALUES (?, ?, ?)", rows)


def digest(text: str) -> str:
    """Return a digest of a text, sixteen characters."""
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()
