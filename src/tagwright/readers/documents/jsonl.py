"""Read and write JSON lines: the project's own shape, Annif's, XC's, MICoL's, FuTex's, S2ORC's, annotation tools'."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from tagwright.data.records import to_record
from tagwright.readers.documents.annotation_tools import read_annotated
from tagwright.readers.documents.bibliographies import is_csl, of_csl
from tagwright.readers.documents.records import Flavour, Located, Numbered
from tagwright.readers.documents.tables import from_rows
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import json_lines, json_objects, write_json_lines
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


def _documents(records: Iterable[Numbered], path: Path, reading: Reading, flavour: Flavour | None) -> Iterator[Located]:
    annotated = read_annotated(records, path, reading.columns.get("labels", ""))
    return from_rows(annotated, path, reading, table=False, flavour=flavour)
