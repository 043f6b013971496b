"""Read and write JSON lines: the project's own shape, Annif's, XC's, MICoL's, FuTex's, S2ORC's, annotation tools'."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from tagwright.data.records import to_record
from tagwright.readers.documents.annotation_tools import read_annotated
from tagwright.readers.documents.bibliographies import is_csl, of_csl
from tagwright.readers.documents.columns import to_fields
from tagwright.readers.documents.records import SHAPES, Flavour, Located, Record, recognise, to_documents
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import Place, json_lines, json_objects, write_json_lines
from tagwright.types import Document


def read_jsonl(path: Path, reading: Reading = PLAIN, flavour: Flavour | None = None) -> Iterator[Located]:
    """One document a line, plain or gzip; the flavour follows from the keys of the first one unless it is given.

    Raises InputError with path and line for text that is not JSON or not UTF-8 and for a field of a wrong type; a line
    above the limit for a document is logged and left out.
    """
    yield from _documents(json_lines(path, "leave out", reading), path, reading, flavour)


def read_json(path: Path, reading: Reading = PLAIN, flavour: Flavour | None = None) -> Iterator[Located]:
    """The same of a file that may also hold one object, or one list of them, over several lines; or CSL JSON."""
    records = json_objects(path, reading)
    first = next(records, None)
    if first is None:
        return
    records = chain([first], records)
    if is_csl(first[1]) and not reading.columns and flavour is None:
        yield from of_csl(records, path, reading)
    else:
        yield from _documents(records, path, reading, flavour)


def write_jsonl(documents: Iterable[Document], path: Path | str) -> None:
    """Write one document a line, gzip if the name ends in `.gz`; `path` changes only when everything is written.

    Raises TagwrightError when it cannot be written.
    """
    write_json_lines(map(to_record, documents), path)


def _documents(
    records: Iterator[tuple[int, Record]], path: Path, reading: Reading, flavour: Flavour | None
) -> Iterator[Located]:
    if flavour is None:
        records = read_annotated(records, path, reading.columns.get("labels", ""))
    records = to_fields(records, path, reading, table=False, guess=flavour in (None, "jsonl"))
    first = next(records, None)
    if first is None:
        return
    shape = SHAPES[flavour] if flavour else recognise(first[1], Place(path, first[0]))
    yield from to_documents(chain([first], records), shape, path, reading)
