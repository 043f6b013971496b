"""Convert documents and labels from any usual Python form to `Document`s and a `Vocabulary`.

Documents may be texts, `Document`s, records, a column or a table of pandas, polars, Arrow or Hugging Face, a `Corpus`,
or a `Path`. Labels may be names, `Label`s, records or a table of names and descriptions, a mapping from ids to names or
from names to descriptions, a `Vocabulary`, or the name of a file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tagwright.core.checked import shown
from tagwright.core.extras import require
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.columns import Columns
from tagwright.readers.documents.records import Located, Record, checked
from tagwright.readers.documents.tables import from_rows
from tagwright.readers.labels.records import read_label_rows
from tagwright.readers.lines import Place
from tagwright.text.language import ALL, AUTO, likely
from tagwright.text.words import clean
from tagwright.types import Document, Label


@runtime_checkable
class Table(Protocol):
    """A table or column that exports Arrow's C stream: pandas 2.2, polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, for pyarrow."""
        ...


Texts: TypeAlias = str | Document | Iterable[str | Document | Mapping[str, Any]] | Table | Path
"The forms in which documents are accepted."

Labels: TypeAlias = (
    Vocabulary
    | Iterable[Label | str | Mapping[str, Any]]
    | Mapping[str, str]
    | Mapping[str, Sequence[str]]
    | Table
    | Path
    | str
)
"The forms in which labels are accepted; a single text is the name of a file."

DESCRIPTION = 6
"The least words, on average, of texts that are descriptions of labels rather than their names."


def is_single(documents: Texts) -> bool:
    """Whether this is one document and not a collection."""
    return isinstance(documents, str | Document)


def to_documents(documents: Texts) -> Iterator[Document]:
    """Each as a document; a `Document` is kept, and a text gets its position as id, from 1.

    Raises InputError for anything that is not a document, and as `Corpus.read` does.

    >>> [(document.id, document.text) for document in to_documents(["Bees fly.", Document("w", "Wasps")])]
    [('1', 'Bees fly.'), ('w', 'Wasps')]
    """
    return (document for _, document in located(documents))


def located(documents: Texts, columns: Columns | None = None, *, check: bool = False) -> Iterator[Located]:
    """Each document with its position, from 1; of a `Path`, with its line. check: every `Document` is checked too.

    columns: field -> column, for tables and records. Raises InputError and ConfigError.
    """
    if isinstance(documents, Path):
        from tagwright.readers.documents.files import open_sources  # imports the readers of all formats

        return chain.from_iterable(found for _, found in open_sources(documents, columns=columns))
    if isinstance(documents, Mapping):
        raise InputError(
            f"the documents are a mapping with the keys {', '.join(map(shown, documents))}; give one of its values, "
            "or a list of records"
        )
    if _has_columns(documents):
        return from_rows(enumerate(_rows(documents), 1), "table", columns)
    items = iter(_items(documents, "documents are", "a text, a list, a column, a table, a Corpus or a Path"))
    first = next(items, None)
    if isinstance(first, Mapping):
        return from_rows(_records(chain([first], items), "records"), "records", columns)
    if columns:
        raise ConfigError(f"columns are given ({', '.join(columns)}), but the documents are no table and no records")
    every = () if first is None else chain([first], items)
    return ((row, _to_document(item, Place("documents", row), check)) for row, item in enumerate(every, 1))


def to_vocabulary(
    labels: Labels, language: str = "", documents: Sequence[Document] = (), columns: Columns | None = None
) -> Vocabulary:
    """A vocabulary of the labels, as `Vocabulary.of` says. Raises InputError, ConfigError for an unknown format.

    language: of the names that are taken from a file; by default that of the documents, if the file has it; without
    documents, names in all languages are searched. columns: of a table or of records, field -> column.

    >>> to_vocabulary({"1": "Bees", "2": ["Wasps", "Vespidae"]})[1].names
    ('Wasps', 'Vespidae')
    """
    if _has_columns(labels):
        return Vocabulary(read_label_rows(enumerate(_rows(labels), 1), columns or {}))
    listed: Iterable[Any] = ()
    if not isinstance(labels, Vocabulary | str | Path | Mapping):
        listed = _items(labels, "labels are", "names, Labels, a Vocabulary or the name of a file")
        listed, first = _peeked(listed)
        if isinstance(first, Mapping):
            return Vocabulary(read_label_rows(_records(listed, "labels"), columns or {}))
    if columns:
        raise ConfigError(f"columns are given ({', '.join(columns)}), but the labels are no table and no records")
    if isinstance(labels, Vocabulary):
        return labels
    if isinstance(labels, str | Path):
        if language in ("", AUTO):
            return Vocabulary.read(labels, language=None if documents else ALL, likely=lambda: likely(documents))
        return Vocabulary.read(labels, language=language)
    return Vocabulary(_from_mapping(labels) if isinstance(labels, Mapping) else listed)


def _from_mapping(labels: Mapping[Any, Any]) -> Iterator[Label]:
    """Labels of ids with names, or of names with descriptions."""
    texts = [value for value in labels.values() if isinstance(value, str)]
    words = sum(len(text.split()) for text in texts)
    coded = any(character.isdigit() for key in labels for character in str(key))
    if len(texts) == len(labels) and not coded and words >= DESCRIPTION * len(labels):
        return (Label(clean(name), (clean(name),), clean(description)) for name, description in labels.items())
    return (Label(str(id_), _names(names)) for id_, names in labels.items())


def _peeked(values: Iterable[Any]) -> tuple[Iterable[Any], Any]:
    """The values, and the first of them; None where there is none."""
    if isinstance(values, Sequence):
        return values, values[0] if len(values) else None
    rest = iter(values)
    some = list(islice(rest, 1))
    return chain(some, rest), some[0] if some else None


def with_labels(documents: Iterable[Document], labels: Iterable[Any]) -> Iterator[Document]:
    """The documents with these gold labels: the ids or names of each, or a single one.

    Raises InputError if the numbers differ, and for a matrix of numbers.

    >>> next(with_labels([Document("1", "Bees")], [["a", "b"]])).labels
    ('a', 'b')
    """
    if is_indicator(labels):
        raise InputError(
            "y is a matrix of numbers, expected a list of ids or names for each document; an indicator matrix is for "
            "tagwright.sklearn"
        )
    rest = iter(_items(labels, "labels y are", "a list for each document"))
    missing = object()
    count = 0
    for count, document in enumerate(documents, 1):
        given = next(rest, missing)
        if given is missing:
            raise InputError(
                f"y has labels for {count - 1} document{'s' * (count != 2)}, but there are more; give a list for each"
            )
        yield _labelled(document, given, count)
    if next(rest, missing) is not missing:
        raise InputError(f"y has labels for more than the {count} documents; give a list for each")


def is_indicator(y: Any) -> bool:
    """Whether this is a matrix or table of numbers, a column for each label, and not of names."""
    return getattr(y, "ndim", 1) == 2 and getattr(getattr(y, "dtype", None), "kind", "i") not in "OSTU"


def _labelled(document: Document, given: Any, position: int) -> Document:
    ids = [given] if isinstance(given, str) else given
    if ids is None or not isinstance(ids, Iterable):
        raise InputError(f"y of document {position} is {shown(given)}, expected a list of ids or names of labels")
    fields = (document.id, document.title, document.abstract, document.sections, document.metadata)
    return Document(*fields, labels=tuple(dict.fromkeys(clean(str(each)) for each in ids)))


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(map(clean, [names] if isinstance(names, str) else names))


def _to_document(item: object, place: Place, check: bool) -> Document:
    if isinstance(item, str):
        return Document(str(place.line), abstract=clean(str(item)))
    if not isinstance(item, Document):
        raise place.error(f"is {shown(item)}, expected a text, a Document, or a record in a list of records")
    return checked(item, place) if check else item


def _records(items: Iterable[object], what: str) -> Iterator[tuple[int, Record]]:
    for row, item in enumerate(items, 1):
        if not isinstance(item, Mapping):
            raise InputError(f"is {shown(item)}, expected a record as the first is", what, row)
        yield row, item


def _items(values: Any, what: str, expected: str) -> Iterable[Any]:
    """The items of a list, a column or any other iterable. Raises InputError for anything else."""
    if isinstance(values, str | Document):
        return [values]
    if hasattr(values, "to_pylist"):  # an Arrow array would give scalars
        return list(values.to_pylist())
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise InputError(f"the {what} {shown(values)}, expected {expected}")
    return values


def _has_columns(values: object) -> bool:
    """Whether this is a table, whose iteration gives columns or their names."""
    return hasattr(values, "columns") or hasattr(values, "column_names")


def _rows(table: Any) -> Iterator[Record]:
    if hasattr(table, "features"):
        yield from _dataset_rows(table)
        return
    if not isinstance(table, Table):
        kind = f"{type(table).__module__}.{type(table).__name__}"
        raise InputError(f"a table of {kind} cannot be read (pandas can from 2.2 on); give a list of records")
    require("reading a table", "pyarrow")
    import pyarrow as pa

    for batch in pa.RecordBatchReader.from_stream(table):
        yield from batch.to_pylist(maps_as_pydicts="lossy")


def _dataset_rows(dataset: Any) -> Iterator[Record]:
    """The rows of a Hugging Face dataset, with the names of class labels for their numbers; -1 is no label."""
    names = {column: _class_names(feature) for column, feature in (dataset.features or {}).items()}
    for row in dataset:
        yield {column: _named(value, names.get(column)) for column, value in row.items()}


def _class_names(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, or of a list of them."""
    found: list[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return found


def _named(value: Any, names: list[str] | None) -> Any:
    if names is None or value is None:
        return value
    return [names[number] for number in (value if isinstance(value, list) else [value]) if number >= 0]
