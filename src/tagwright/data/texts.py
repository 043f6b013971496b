"""Documents as callers give them: texts and `Document`s are taken as they are, all else goes to the readers."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tagwright import registry
from tagwright.core.checked import is_missing, show
from tagwright.core.display import list_first, plural
from tagwright.core.progress import note
from tagwright.errors import InputError
from tagwright.text.words import clean
from tagwright.types import Document

_log = logging.getLogger(__name__)


@runtime_checkable
class Table(Protocol):
    """A table or column that exports Arrow's C stream: pandas 2.2, polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, for pyarrow."""
        ...


Single: TypeAlias = str | Document | Mapping[str, Any]
"One document: a text, a Document, or a record."

Texts: TypeAlias = str | Document | Iterable[str | Document | Mapping[str, Any]] | Table | Path
"The forms in which documents are accepted."

Columns: TypeAlias = Mapping[str, str]
"Field of a document (id, title, abstract, text, labels, or any name for metadata) -> the column that holds it."


def is_single(documents: Texts) -> bool:
    """Whether this is one document and not a collection."""
    return isinstance(documents, str | Document | Mapping)


def to_documents(documents: Texts, is_label: Callable[[str], bool] | None = None) -> Iterator[Document]:
    """Each as a document; a `Document` is kept, and a text gets its position as id, from 1.

    is_label: whether a text is a label of the vocabulary at hand, which tells columns of labels from others. Raises
    InputError for anything that is not a document, and as `Corpus.read` does.

    >>> [(document.id, document.text) for document in to_documents(["Bees fly.", Document("w", "Wasps")])]
    [('1', 'Bees fly.'), ('w', 'Wasps')]
    """
    items = [documents] if isinstance(documents, str | Document) else documents
    if isinstance(items, list | tuple) and all(isinstance(item, str | Document) for item in items):
        return (document for _, document in number_documents(items))
    located = registry.reader("locate_documents")(documents, is_label=is_label)
    return (document for _, document in located)


def number_documents(items: Iterable[Any]) -> Iterator[tuple[int, Document]]:
    """Texts and Documents with their positions, from 1; missing texts are blank, and counted, so that rows stay rows.

    Raises InputError for anything else.
    """
    missing = list[str]()
    for row, item in enumerate(items, 1):
        if is_missing(item):
            missing.append(str(row))
        yield row, _to_document("" if is_missing(item) else item, row)
    if missing:
        _log.warning("documents: %s without text: %s", plural(len(missing), "row"), list_first(missing))


def _to_document(item: object, row: int) -> Document:
    if isinstance(item, Document):
        return item
    if not isinstance(item, str):
        problem = f"is {show(item)}, expected a text, a Document, or a record in a list of records"
        raise InputError(problem, "documents", row)
    if row == 1 and len(item.split()) == 1 and os.path.exists(item):  # noqa: PTH110 - Path raises on long names
        note(f"{show(item)} is taken as a text; Path({show(item)}) would read the file or folder of this name")
    return Document(str(row), abstract=clean(str(item)))
