"""Write a copy of a file of records with suggested subjects. The file itself is never changed."""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagwright.catalogues import iso2709, marcxml
from tagwright.catalogues.marcxml import Change
from tagwright.catalogues.subjects import Provenance, Suggested, fields_of, written_before
from tagwright.catalogues.tables import FORMATS
from tagwright.core.extras import require
from tagwright.core.progress import silence
from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, InputError, option
from tagwright.readers.documents.catalogue import Field, Remarks
from tagwright.readers.documents.files import guess_format, open_sources
from tagwright.readers.documents.marc import is_unimarc, split_records
from tagwright.readers.limits import largest_document, too_large
from tagwright.readers.lines import open_bytes, replace_bytes
from tagwright.types import Document


def read_records(path: Path, **reading: Any) -> tuple[Corpus, Sequence[int]]:
    """The records of a file as documents, and the place of each, by which the copy finds its suggestions.

    reading: how, see `open_sources`. A line for each problem counts those that cannot be read, which are copied. Raises
    InputError if none can be read.
    """
    places = array("q")
    unread = list[InputError]()

    def documents() -> Iterator[Document]:
        for _, located in open_sources(path, collect=unread.append, **reading):
            for place, document in located:
                places.append(place)
                yield document

    try:
        # of which vocabularies their labels are does not matter here
        with silence():
            corpus = Corpus.of(documents())
    except InputError as error:
        raise (error if places or not unread else unread[0]) from None
    remarks = Remarks(path)
    for left_out in sorted(unread, key=lambda each: each.line or 0):
        remarks.add(left_out.line or 0, f"is copied without suggestions: it {left_out.problem}")
    remarks.log()
    return corpus, places


def check(path: Path, output: Path, reading: Mapping[str, Any]) -> str:
    """Return the format of the records. Raises ConfigError and InputError for what cannot be copied.

    reading: format and encoding, as the user names them.
    """
    if os.path.realpath(path) == os.path.realpath(output):
        raise ConfigError(f"{output}: the copy would replace the records; name another file")
    name = str(reading.get("format") or guess_format(path))
    if name in FORMATS:
        return name
    if name not in ("marc", "marcxml"):
        tables = ", ".join(FORMATS)
        raise InputError(f"is of the format {name}, expected MARC records (marc, marcxml) or a table ({tables})", path)
    if reading.get("encoding"):
        raise ConfigError(f"{option('encoding')} is of tables; MARC records are written in UTF-8 or MARC-8")
    require("writing MARC records", "pymarc", path=path)
    return name


def write_copy(
    path: Path,
    output: Path,
    suggested: Suggested,
    provenance: Provenance,
    places: Collection[int] | None = None,
    file_format: str = "",
) -> tuple[int, int, int]:
    """Copy MARC records (ISO 2709 or MARCXML) with the subjects suggested for them, in one step; gzip as the names say.

    They replace those that an earlier copy added, so a copy of the copy is equal; subjects that a cataloguer entered
    stay, and are not added again. A record that is damaged or UNIMARC, has no control number or no suggestions, or
    would get longer than MARC allows is copied as it is; lines of log say so, unless there are no suggestions. places:
    of the records that were read; `read_records` has said of others why they were not. Returns the numbers of records
    with new subjects, of these subjects, and of those of an earlier copy that were taken out. Raises ConfigError if the
    copy is the file itself, InputError for other formats.
    """
    in_xml = check(path, output, {"format": file_format}) == "marcxml"
    counts = dict[int, tuple[int, int]]()  # place of a record -> subjects added, and taken out
    remarks = Remarks(path)

    def change(number: str, place: int, before: Sequence[Field]) -> tuple[set[int], list[Field]]:
        """Return the places of the fields to take out, those of an earlier copy, and the fields to add; count both."""
        tags = {field.tag for field in before}
        if is_unimarc(tags) or not number:
            problem = "is UNIMARC" if number else "has no control number (001)"
            remarks.add(place, f"is copied without suggestions: it {problem}")
            return set(), []
        subjects = suggested(number, place)
        if subjects is None:
            return set(), []
        earlier_places = written_before(before)
        earlier_fields = [before[index] for index in sorted(earlier_places)]
        kept = [field for index, field in enumerate(before) if index not in earlier_places]
        fields = fields_of(subjects, provenance, kept, earlier_fields)
        counts[place] = len(fields) // 2, sum(field.tag == "650" for field in earlier_fields)
        return earlier_places, fields

    with open_bytes(path) as source, replace_bytes(output) as target:
        if in_xml:
            try:
                marcxml.copy_with_changes(source, target, change)
            except ValueError as error:
                raise InputError(f"cannot be copied: {error}", path) from None
        else:
            for place, chunk in enumerate(split_records(source), 1):
                # `read_records` has said why the others were not read: what is noted of them here is not logged
                said = remarks if places is None or place in places else Remarks(path)
                copy = _enrich_record(chunk, change, place, said)
                target.write(chunk if copy is None else copy)
                if copy is None:
                    counts.pop(place, None)
    remarks.log()
    added = [new for new, _ in counts.values()]
    return sum(map(bool, added)), sum(added), sum(gone for _, gone in counts.values())


def _enrich_record(chunk: bytes, change: Change, place: int, remarks: Remarks) -> bytes | None:
    """A record of ISO 2709, and the bytes before it, with other fields; None if it cannot be changed."""
    if len(chunk) > largest_document():
        raise InputError(too_large(), remarks.path, place)
    record = chunk.lstrip(b"\r\n \x1a\x00")
    if not record:
        return chunk
    try:
        number, fields = iso2709.read_fields(record)
        removed, added = change(number, place, fields)
        changed = iso2709.with_changes(record, removed, added) if removed or added else record
        return chunk[: len(chunk) - len(record)] + changed
    except ValueError as error:
        remarks.add(place, "is copied without suggestions: ", str(error))
        return None
