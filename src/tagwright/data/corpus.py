"""`Corpus`: documents on disk, read from any source, in little memory."""

import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from heapq import nsmallest
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self, overload

import numpy as np

from tagwright import registry
from tagwright.core.atomic import full_disk_explained
from tagwright.core.checked import show
from tagwright.core.display import FIRST, html_table, plural
from tagwright.core.outputs import write_output
from tagwright.core.progress import note
from tagwright.data import document_file
from tagwright.data.document_file import DocumentFile
from tagwright.data.texts import Columns, Texts
from tagwright.errors import InputError, option
from tagwright.types import Document, Longs

REVIEWED_BLIND = {"reviewed": ("blind",)}
"The metadata of documents that a reviewer has labelled without seeing suggestions, in exports of reviews."


class Corpus(Sequence[Document]):
    """Documents in a memory-mapped file: any number of them in little memory, read in any order.

    A temporary file is removed with the corpus. No two documents have the same id.
    """

    def __init__(self, path: Path) -> None:
        self._file = DocumentFile(path)

    @classmethod
    def read(
        cls,
        *sources: str | Path,
        input_format: str | None = None,
        columns: Columns | None = None,
        encoding: str = "",
        **fields: str,
    ) -> "Corpus":
        """Read files, folders of papers, globs, or `-` for standard input, one after the other.

        JSON lines are `{"id", "title", "abstract", "sections": [{"heading", "level", "paragraphs"}], "metadata":
        {field: [texts]}, "labels": [ids]}`. `readers.documents.formats` lists the other formats, with suffixes and
        the extras they need. The format is inferred from name and content unless it is given. Plain text on
        standard input is one document, "stdin". Gold labels given by name (Annif's `.key`) stay names, for
        `Vocabulary.resolve`.

        columns, fields: field -> column of tables and JSON lines with other names, as in `columns={"text": "Body",
        "labels": "Codes"}` or, shorter, `text="Body", labels="Codes"`; fields are id, title, abstract, text, labels,
        and any name for metadata. Otherwise, usual names are recognised (name, headline; body, content; summary,
        description; sku, handle; the headers of library catalogues, whose subject headings are labels; see
        `readers.headers`); the log says which were. A table without title and text is an error that lists its columns.

        A line, row or article of more than 20,000,000 bytes, uncompressed, or $TAGWRIGHT_MAX_DOCUMENT_SIZE, is logged
        and left out; a larger file that is one document cannot be read.

        encoding: of texts and tables, if it is not UTF-8: cp1252, latin-1.

        Raises InputError with file and line for anything that cannot be read, a column that does not exist, and, in
        tables and JSON lines, a missing or repeated id; in other formats a repeated id is numbered, as in `1#3`, and
        logged. Of several papers, unreadable ones are logged and skipped.
        """
        options = {"input_format": input_format, "encoding": encoding}
        return cls.build(registry.reader("open_sources")(*sources, columns={**(columns or {}), **fields}, **options))

    @classmethod
    def of(cls, documents: Texts, columns: Columns | None = None, **fields: str) -> "Corpus":
        """Documents from memory, cleaned: texts, Documents, records, a column or a table of pandas, polars, Arrow.

        columns, fields: of a table or of records, as in `read`. A text has its position as id. Raises InputError as
        `read` does, and for a column that does not exist; places are positions, from 1.

        >>> bees = Corpus.of([Document("1", "Bees"), Document("2", "Wasps")])
        >>> len(bees), bees[-1].title, bees.ids
        (2, 'Wasps', ['1', '2'])
        >>> Corpus.of([{"body": "They fly.", "codes": ["a"]}], text="body", labels="codes")[0].labels
        ('a',)
        """
        made: Corpus = registry.reader("corpus_of")(documents, {**(columns or {}), **fields})
        return made

    def save(self, path: Path | str) -> None:
        """Write JSON lines to `read` again. Raises TagwrightError when they cannot be written."""
        with write_output(path) as temporary:
            self._file.copy(temporary)

    def digest(self) -> str:
        """A hash of the documents, taken from the file without decoding it."""
        return self._file.digest()

    @property
    def ids(self) -> list[str]:
        """The id of each document."""
        return list(self._file.ids())

    def take(self, positions: Iterable[int]) -> list[Document]:
        """The documents at these positions, in this order; negative ones count from the end. Raises IndexError."""
        rows = [range(len(self))[position] for position in positions]
        taken: list[Document] = []
        for _, run in groupby(enumerate(rows), key=lambda numbered: numbered[1] - numbered[0]):
            consecutive = [row for _, row in run]
            taken += self._file.documents(consecutive[0], consecutive[-1] + 1)
        return taken

    def __len__(self) -> int:
        return len(self._file)

    def __repr__(self) -> str:
        return f"Corpus of {plural(len(self), 'document')}"

    def _repr_html_(self) -> str:
        rows = [[document.title, document.id, ", ".join(document.labels)] for document in self[:FIRST]]
        return html_table([["title", "id", "labels"], *rows], repr(self), words=("id", "labels"))

    @overload
    def __getitem__(self, position: int) -> Document: ...
    @overload
    def __getitem__(self, position: slice) -> list[Document]: ...
    def __getitem__(self, position: int | slice) -> Document | list[Document]:
        if isinstance(position, slice):
            return self.take(range(*position.indices(len(self))))
        return self.take([position])[0]

    def __iter__(self) -> Iterator[Document]:
        yield from self._file.documents(0, len(self))  # keeps the corpus, and so the file, while it runs

    @classmethod
    def build(cls, sources: Iterable[tuple[str, Iterable[tuple[int, Document]]]]) -> Self:
        """Store documents of files, each with its line, 0 where it is the whole file.

        Raises InputError for two with the same id, at the second.
        """
        # the file and line of each document, in 8 bytes per document
        files, starts, lines = list[str](), list[int](), array("q")

        def noted() -> Iterator[Document]:
            for file, documents in sources:
                files.append(file)
                starts.append(len(lines))
                for line, document in documents:
                    lines.append(line)
                    yield document

        with full_disk_explained():
            folder = TemporaryDirectory(prefix="tagwright-", ignore_cleanup_errors=True)
            with folder:  # removed at once: the mapping stays valid until it is released, however the process ends
                path = Path(folder.name, "documents.jsonl")
                document_file.write(noted(), path)
                corpus = cls(path)
            if path.exists():  # Windows cannot remove a mapped file; there it is removed with the corpus
                weakref.finalize(corpus, _remove, corpus._file, folder)
        if duplicates := corpus._first_duplicates():
            id_, numbers = corpus._file.id(duplicates[0]), [lines[position] for position in duplicates]
            named = [files[bisect_right(starts, position) - 1] for position in duplicates]
            places = [f"{file}:{line}" if line else file for file, line in zip(named, numbers, strict=True)]
            raise repeated_id(id_, *places, by_line={id_} == {*map(str, numbers)})
        return corpus

    def _first_duplicates(self) -> tuple[int, int] | None:
        """The first two documents with the same id. Only hashes of the ids stay in memory."""
        hashes = np.fromiter(map(hash, self._file.ids()), np.int64, len(self))
        values, counts = np.unique(hashes, return_counts=True)
        seen: dict[str, int] = {}
        for position in np.flatnonzero(np.isin(hashes, values[counts > 1])).tolist():
            earlier = seen.setdefault(self._file.id(position), position)
            if earlier != position:
                return earlier, position
        return None


def repeated_id(id: str, first: str, second: str, *, by_line: bool) -> InputError:  # noqa: A002
    """The error to raise for two documents with the same id. by_line: it is the number of their lines."""
    problem = f"the id {show(id)} is also that of {first}; every document needs its own"
    if by_line:
        remedy = f"name a column of ids: {option('columns', 'id=...', python='id=...')}"
        problem += f" (a row without id has the number of its line: {remedy})"
    return InputError(f"{second}: {problem}")


def _remove(file: DocumentFile, folder: "TemporaryDirectory[str]") -> None:
    file.close()
    folder.cleanup()


def take_documents(documents: Sequence[Document], places: Longs) -> list[Document]:
    """Return the documents at these places; a corpus decodes no others."""
    return documents.take(places.tolist()) if isinstance(documents, Corpus) else [documents[i] for i in places.tolist()]


def ids_of(documents: Sequence[Document]) -> list[str]:
    """Return the id of each document; a corpus decodes no document for it."""
    return documents.ids if isinstance(documents, Corpus) else [document.id for document in documents]


def text_key(document: Document) -> bytes:
    """Return the same key for documents whose texts differ only in white space; ids are ignored.

    To train on one and measure on the other overestimates a tagger.
    """
    return _digest_of(document.text)


def _digest_of(text: str) -> bytes:
    return blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=16).digest()


def text_digests(documents: Iterable[Document]) -> list[str]:
    """The smallest digests of the documents' texts, at most 1,000, in order: of few documents, those of all.

    Two such lists tell that texts occur in both, and no text can be read from them. Of many documents they are a fair
    sample, as a text's digest is among the smallest in either or neither.
    """
    return nsmallest(1_000, {text_key(document).hex() for document in documents})


def folded_key(document: Document) -> bytes:
    """Return the same key also where case differs: for all but what is stored, which `text_key` names."""
    return _digest_of(document.text.casefold())


def text_groups(documents: Iterable[Document]) -> Longs:
    """(documents,) the place of the first document with the same text: ids, case and white space are ignored.

    What was learned from a text is no evidence about the same text. A document without text is like no other.

    >>> bees = [Document("1", "Bees"), Document("2", "Taxes"), Document("3", "", " bees"), Document("4"), Document("5")]
    >>> text_groups(bees).tolist()
    [0, 1, 0, 3, 4]
    """
    first = dict[bytes, int]()
    keys = (folded_key(each) if each.text.strip() else str(place).encode() for place, each in enumerate(documents))
    return np.array([first.setdefault(key, place) for place, key in enumerate(keys)], np.int64)


def same_texts(documents: Iterable[Document], rows: Longs) -> Longs:
    """These rows and those of all documents that have the text of one of them, in order.

    >>> bees = [Document("1", "Bees"), Document("2", "Taxes"), Document("3", "", " Bees")]
    >>> same_texts(bees, np.array([2])).tolist()
    [0, 2]
    """
    if not len(rows):
        return rows
    groups = text_groups(documents)
    return np.flatnonzero(np.isin(groups, groups[rows]))


def distinct_texts(documents: Sequence[Document], rows: Longs) -> Longs:
    """These rows without those whose text is that of an earlier one, which a line counts: a text is evidence once.

    >>> distinct_texts([Document("1", "Bees"), Document("2", "Taxes")], np.arange(2)).tolist()
    [0, 1]
    """
    groups = text_groups(documents[row] for row in rows.tolist())
    firsts = np.unique(groups)
    if copies := np.setdiff1d(np.arange(len(rows)), firsts).tolist():
        ids = " and ".join(show(documents[rows[place].item()].id, 100) for place in (groups[copies[0]], copies[0]))
        said = plural(len(copies), "labelled document")
        note(f"{said} with the text of another (first: {ids}): measured on each text once")
    return rows[firsts]


def was_reviewed_blind(document: Document) -> bool:
    """Whether the document was reviewed blind, as an export says: it measures taggers that have not learned from it."""
    return "blind" in document.metadata.get("reviewed", ())
