"""Write a copy of a file of records with suggested subjects. The file itself is never changed."""

import logging
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tagwright.catalogues import iso2709, marcxml
from tagwright.catalogues.subjects import Provenance, Suggested, fields_of
from tagwright.core.extras import require
from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.catalogue import Field, Remarks
from tagwright.readers.documents.files import guess_format, open_sources
from tagwright.readers.documents.marc import END, is_unimarc, split_records
from tagwright.readers.limits import largest_document, too_large
from tagwright.readers.lines import open_bytes, replace_bytes
from tagwright.types import Document

_log = logging.getLogger(__name__)


@dataclass
class Added:
    """How many records of a copy have new subjects, and how many subjects these are."""

    records: int = 0
    subjects: int = 0


def read_records(path: Path) -> tuple[Corpus, Sequence[int]]:
    """The records of a file as documents, and the place of each, by which the copy finds its suggestions."""
    places = array("q")

    def documents() -> Iterator[Document]:
        for _, located in open_sources(path):
            for place, document in located:
                places.append(place)
                yield document

    return Corpus.of(documents()), places


def check(path: Path, output: Path) -> None:
    """Raise ConfigError and InputError, before records are tagged, for what `write_copy` cannot copy."""
    _writer(path, output)
    if is_unimarc(path, xml=guess_format(path) == "marcxml"):
        raise InputError("holds records of UNIMARC; subjects are written as in MARC 21, into 650 and 883", path)


def write_copy(path: Path, output: Path, suggested: Suggested, provenance: Provenance) -> Added:
    """Copy MARC records (ISO 2709 or MARCXML) with the subjects suggested for them, in one step; gzip as the names say.

    A record that is damaged, has no control number or no suggestions, or would get longer than MARC allows is copied as
    it is; lines of log say how many have no number, and which are too long. Raises ConfigError if the copy is the file
    itself, InputError for other formats.
    """
    copy = _writer(path, output)
    added, remarks = Added(), Remarks(path)

    def fields(number: str, place: int, link: int) -> list[Field]:
        if not number:
            remarks.add(place, "has no control number (001) and is copied without suggestions")
            return []
        subjects = suggested(number, place)
        added.records += bool(subjects)
        added.subjects += len(subjects)
        return fields_of(subjects, provenance, link)

    with open_bytes(path) as source, replace_bytes(output) as target:
        copy(source, target, fields, path)
    remarks.log()
    return added


def _writer(path: Path, output: Path) -> Callable[[IO[bytes], IO[bytes], marcxml.Add, Path], None]:
    if os.path.realpath(path) == os.path.realpath(output):
        raise ConfigError(f"{output}: the copy would replace the records; name another file")
    copy = _WRITERS.get(found := guess_format(path))
    if copy is None:
        raise InputError(f"is of the format {found}, expected MARC records ({', '.join(_WRITERS)})", path)
    require("writing MARC records", "pymarc", path=path)
    return copy


def _copy_iso2709(source: IO[bytes], target: IO[bytes], add: marcxml.Add, path: Path) -> None:
    for number, chunk in enumerate(split_records(source), 1):
        if len(chunk) > largest_document():
            raise InputError(too_large(), path, number)
        record = chunk.lstrip(b"\r\n \x1a\x00")
        target.write(chunk[: len(chunk) - len(record)])
        target.write(_enriched(record, add, path, number))


def _enriched(record: bytes, add: marcxml.Add, path: Path, place: int) -> bytes:
    try:
        number = iso2709.control_number(record) if record.endswith(END) else None
    except ValueError:  # which reading has reported
        number = None
    added = add(number, place, iso2709.last_link(record)) if number is not None else []
    try:
        return iso2709.with_fields(record, added) if added else record
    except ValueError as error:
        _log.warning("%s", InputError(f"is copied without suggestions: {error}", path, place))
        return record


def _copy_marcxml(source: IO[bytes], target: IO[bytes], add: marcxml.Add, path: Path) -> None:
    try:
        marcxml.copy_with_fields(source, target, add)
    except ValueError as error:
        raise InputError(f"cannot be copied: {error}", path) from None


_WRITERS: dict[str, Callable[[IO[bytes], IO[bytes], marcxml.Add, Path], None]] = {
    "marc": _copy_iso2709,
    "marcxml": _copy_marcxml,
}
