"""Write a copy of a file of records with suggested subjects. The file itself is never changed."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tagwright.catalogues import iso2709, marcxml
from tagwright.catalogues.subjects import Provenance, Suggested, fields_of
from tagwright.core.extras import require
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.catalogue import Field
from tagwright.readers.documents.files import guess_format
from tagwright.readers.documents.marc import END, split_records
from tagwright.readers.limits import largest_document, too_large
from tagwright.readers.lines import open_bytes, replace_bytes

_log = logging.getLogger(__name__)


@dataclass
class Added:
    """How many records of a copy have new subjects, and how many subjects these are."""

    records: int = 0
    subjects: int = 0


def write_copy(path: Path, output: Path, suggested: Suggested, provenance: Provenance) -> Added:
    """Copy MARC records (ISO 2709 or MARCXML) with the subjects suggested for them, in one step; gzip as the names say.

    A record that is damaged, has no control number or no suggestions, or would get longer than MARC allows is copied as
    it is; the last is logged. Raises ConfigError if the copy is the file itself, InputError for other formats.
    """
    if os.path.realpath(path) == os.path.realpath(output):
        raise ConfigError(f"{output}: the copy would replace the records; name another file")
    copy = _WRITERS.get(found := guess_format(path))
    if copy is None:
        raise InputError(f"is of the format {found}, expected MARC records ({', '.join(_WRITERS)})", path)
    require("writing MARC records", "pymarc", path=path)
    added = Added()

    def fields(number: str, link: int) -> list[Field]:
        subjects = suggested(number)
        added.records += bool(subjects)
        added.subjects += len(subjects)
        return fields_of(subjects, provenance, link)

    with open_bytes(path) as source, replace_bytes(output) as target:
        copy(source, target, fields, path)
    return added


def _copy_iso2709(source: IO[bytes], target: IO[bytes], add: marcxml.Add, path: Path) -> None:
    for number, chunk in enumerate(split_records(source), 1):
        if len(chunk) > largest_document():
            raise InputError(too_large(), path, number)
        record = chunk.lstrip(b"\r\n \x1a\x00")
        target.write(chunk[: len(chunk) - len(record)])
        target.write(_enriched(record, add, path, number))


def _enriched(record: bytes, add: marcxml.Add, path: Path, number: int) -> bytes:
    try:
        control_number = iso2709.control_number(record) if record.endswith(END) else ""
    except ValueError:  # which reading has reported
        return record
    added = add(control_number, iso2709.last_link(record)) if control_number else []
    try:
        return iso2709.with_fields(record, added) if added else record
    except ValueError as error:
        _log.warning("%s", InputError(f"is copied without suggestions: {error}", path, number))
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
