"""Write a copy of a file of records with suggested subjects. The file itself is never changed."""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tagwright.catalogues import iso2709, marcxml
from tagwright.catalogues.marcxml import Add
from tagwright.catalogues.subjects import Provenance, Suggested, fields_of
from tagwright.core.extras import require
from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.catalogue import Field, Remarks
from tagwright.readers.documents.files import guess_format, open_sources
from tagwright.readers.documents.marc import is_unimarc, split_records
from tagwright.readers.limits import largest_document, too_large
from tagwright.readers.lines import open_bytes, replace_bytes
from tagwright.types import Document


def read_records(path: Path) -> tuple[Corpus, Sequence[int]]:
    """The records of a file as documents, and the place of each, by which the copy finds its suggestions."""
    places = array("q")

    def documents() -> Iterator[Document]:
        for _, located in open_sources(path):
            for place, document in located:
                places.append(place)
                yield document

    return Corpus.of(documents()), places


def check(path: Path, output: Path) -> str:
    """Return the format of the records. Raises ConfigError and InputError for what `write_copy` cannot copy."""
    if os.path.realpath(path) == os.path.realpath(output):
        raise ConfigError(f"{output}: the copy would replace the records; name another file")
    found = guess_format(path)
    if found not in ("marc", "marcxml"):
        raise InputError(f"is of the format {found}, expected MARC records (marc, marcxml)", path)
    require("writing MARC records", "pymarc", path=path)
    return found


def write_copy(path: Path, output: Path, suggested: Suggested, provenance: Provenance) -> tuple[int, int]:
    """Copy MARC records (ISO 2709 or MARCXML) with the subjects suggested for them, in one step; gzip as the names say.

    A record that is damaged or UNIMARC, has no control number or no suggestions, or would get longer than MARC allows
    is copied as it is; lines of log say so, unless there are no suggestions. Returns how many records have new
    subjects, and how many subjects these are. Raises ConfigError if the copy is the file itself, InputError for other
    formats.
    """
    in_xml = check(path, output) == "marcxml"
    counts, remarks = list[int](), Remarks(path)

    def add(number: str, place: int, link: int, tags: Collection[str]) -> list[Field]:
        if is_unimarc(tags) or not number:
            problem = "is UNIMARC" if number else "has no control number (001)"
            remarks.add(place, f"is copied without suggestions: it {problem}")
            return []
        subjects = suggested(number, place)
        counts.append(len(subjects))
        return fields_of(subjects, provenance, link)

    with open_bytes(path) as source, replace_bytes(output) as target:
        if in_xml:
            try:
                marcxml.copy_with_fields(source, target, add)
            except ValueError as error:
                raise InputError(f"cannot be copied: {error}", path) from None
        else:
            for number, chunk in enumerate(split_records(source), 1):
                target.write(_enriched(chunk, add, number, remarks))
    remarks.log()
    return sum(map(bool, counts)), sum(counts)


def _enriched(chunk: bytes, add: Add, place: int, remarks: Remarks) -> bytes:
    """A record of ISO 2709, and the bytes before it, with more fields."""
    if len(chunk) > largest_document():
        raise InputError(too_large(), remarks.path, place)
    record = chunk.lstrip(b"\r\n \x1a\x00")
    if not record:
        return chunk
    try:
        number, link, tags = iso2709.described(record)
        added = add(number, place, link, tags)
        return chunk[: len(chunk) - len(record)] + (iso2709.with_fields(record, added) if added else record)
    except ValueError as error:
        remarks.add(place, "is copied without suggestions: ", str(error))
        return chunk
