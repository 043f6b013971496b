"""Store the documents under review, with their full texts, in the review file."""

import json
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from tagwright.data.corpus import folded_key, text_key
from tagwright.data.records import to_record
from tagwright.errors import InputError
from tagwright.readers.documents.records import SHAPES, check_document, to_document
from tagwright.readers.lines import Place
from tagwright.review.file import ReviewFile
from tagwright.types import Document

_DIGITS = 16
"Hexadecimal digits of a digest in an id."


class Entry(NamedTuple):
    """A document without its text. number: its place in the order of arrival, from 1."""

    number: int
    id: str
    title: str


class ReviewedDocuments:
    """The documents of a review in order of arrival. A document is its id and its text: neither ever changes.

    A document whose id is taken by another text is stored under an id of its own, "<id>-<digest of the text>", so that
    decisions on one text are never taken for decisions on the other. Texts that differ only in white space are equal.
    """

    def __init__(self, file: ReviewFile) -> None:
        self._file = file

    def add(self, documents: Iterable[Document]) -> tuple[list[str], int, list[str]]:
        """Store the documents that are not known.

        Returns the id under which the review has each document, in order; the number of documents that it did not have;
        the ids of those of them that it had already, with another text.
        """
        before, rest = len(self), iter(documents)
        ids, changed = list[str](), list[str]()
        while batch := list(islice(rest, 500)):
            self._insert(batch)
            stored_ids = [self.find(document) for document in batch]
            unknown = {row: batch[row] for row, id_ in enumerate(stored_ids) if id_ is None}
            renamed = {row: replace(each, id=f"{each.id}-{self._key(each)[:_DIGITS]}") for row, each in unknown.items()}
            self._insert(renamed.values())
            ids += [id_ or renamed[row].id for row, id_ in enumerate(stored_ids)]
            changed += dict.fromkeys(batch[row].id for row in renamed)
        return ids, len(self) - before, changed

    def find(self, document: Document) -> str | None:
        """Return the id under which a document is stored with this text; None if it is unknown or has only others."""
        key, rows = self._key(document), self._versions(document.id)
        return next((stored for number, stored, content in rows if self._key(self._read(number, content)) == key), None)

    def ids_of(self, id_: str) -> list[str]:
        """Return the ids under which the texts are stored that came with an id, the first one first."""
        return [stored for _, stored, _ in self._versions(id_)]

    def first_id(self, document: Document) -> str:
        """Return the id that a document came with, also of one that has an id of its own for its text."""
        return document.id.removesuffix(f"-{self._key(document)[:_DIGITS]}")

    def _versions(self, id_: str) -> list[tuple[int, str, str]]:
        # Ids with a digest lie between the bounds, as "g" follows the hexadecimal digits; so may longer ids of others.
        return self._file.rows(
            "SELECT number, id, content FROM documents WHERE id = ? OR id BETWEEN ? AND ? AND length(id) = ? "
            "ORDER BY number",
            (id_, f"{id_}-0", f"{id_}-g", len(id_) + 1 + _DIGITS),
        )

    def __len__(self) -> int:
        ((count,),) = self._file.rows("SELECT count(*) FROM documents")
        return int(count)

    def __getitem__(self, number: int) -> Document:
        """Return the document with this number, see `Entry`. Raises KeyError if there is none."""
        rows = self._file.rows("SELECT content FROM documents WHERE number = ?", (number,))
        if not rows:
            raise KeyError(number)
        return self._read(number, rows[0][0])

    def entries(self) -> list[Entry]:
        """Return the entries of all documents in order."""
        return [Entry(*row) for row in self._file.rows("SELECT number, id, title FROM documents ORDER BY number")]

    def count_texts(self, ids: Iterable[str]) -> int:
        """Return the number of different texts of documents, as `text_groups` compares them."""
        numbers = {entry.id: entry.number for entry in self.entries()}
        return len({folded_key(self[numbers[id_]]) if id_ in numbers else id_ for id_ in ids})

    def _key(self, document: Document) -> str:
        """Return a digest of the text as it will be read from the file: cleaned, and whatever its white space."""
        return text_key(check_document(document, Place(self._file.path))).hex()

    def _read(self, number: int, content: str) -> Document:
        try:
            record = json.loads(content)
        except ValueError:
            raise InputError(f"document {number} is damaged", self._file.path) from None
        return to_document(record, SHAPES["jsonl"], Place(self._file.path, number))

    def _insert(self, documents: Iterable[Document]) -> None:
        """Store documents, except those whose ids are taken."""
        rows = [
            (document.id, document.title, json.dumps(to_record(document), ensure_ascii=False)) for document in documents
        ]
        self._file.insert("INSERT OR IGNORE INTO documents (id, title, content) VALUES (?, ?, ?)", rows)


def text_id(text: str) -> str:
    """Return an id for a text that came without one: a digest of 16 hexadecimal digits."""
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()
