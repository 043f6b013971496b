"""Limit the size of documents, so that memory is bounded, and report documents that cannot be read.

The size of a document is the uncompressed size in bytes of the line, row, XML element or file that holds it. A document
that cannot be read is an error, unless the caller collects such errors and reads on. Of many files, those that cannot
be read are skipped; a caller may list them.
"""

import gzip
import io
import logging
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

from tagwright.core.progress import silence_log
from tagwright.data.texts import Columns
from tagwright.errors import ConfigError, InputError, TagwrightError, one_line_of

T = TypeVar("T")

DEFAULT_SIZE = 20_000_000
"About forty novels; anything larger is hardly one document."

PICTURES = 10
"Factor of the limit for files that hold pictures and fonts besides the text."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is read, as whoever reads it says."""

    columns: Columns = field(default_factory=dict)
    "Field -> column or key that holds it; of catalogue records, `labels` is the code of the subjects to take."
    encoding: str = ""
    "Of a text, unless its first bytes tell one; UTF-8 by default."
    is_label: Callable[[str], bool] | None = None
    """Whether a text is a label of the vocabulary at hand, by id or name; None without one. It tells a label that holds
    a separator from several."""
    collect: Callable[[InputError], object] | None = None
    """Gets the errors of lines, rows and files that cannot be read, which are then left out; returns False for one that
    is not collected. An error that makes the rest of a file unreadable, as damaged compression does, is raised."""

    def collects(self, error: InputError) -> bool:
        """Collect the error of one document or file; False if errors are not collected, or not this one."""
        return self.collect is not None and self.collect(error) is not False

    def reject(self, error: InputError) -> None:
        """Collect the error of one document; raise it if it is not collected."""
        if not self.collects(error):
            raise error from None

    def leave_out(self, error: InputError) -> None:
        """Collect the error of one document; log that it is left out if it is not collected."""
        if not self.collects(error):
            _log.warning("%s", InputError(f"left out: {error.problem}", error.path, error.line))


PLAIN = Reading()
"What nobody has said anything about."


def leave_out_unreadable(documents: Iterable[T | InputError], reading: Reading) -> Iterator[T]:
    """Yield the documents; leave out those that cannot be read, and raise the error of the first if none can."""
    first, any_read = None, False
    for document in documents:
        if not isinstance(document, InputError):
            if first:
                reading.leave_out(first)
            first, any_read = None, True
            yield document
        elif first or any_read:
            reading.leave_out(document)
        else:
            first = document
    if first:
        reading.reject(first)


def largest_document() -> int:
    """Return the limit in bytes: $TAGWRIGHT_MAX_DOCUMENT_SIZE, or `DEFAULT_SIZE`. Raises ConfigError."""
    said = os.environ.get("TAGWRIGHT_MAX_DOCUMENT_SIZE") or str(DEFAULT_SIZE)
    if not said.isdecimal() or int(said) < 1:
        problem = f"TAGWRIGHT_MAX_DOCUMENT_SIZE is {said!r}, expected a number of bytes, such as {DEFAULT_SIZE}"
        raise ConfigError(problem)
    return int(said)


def too_large(what: str = "") -> str:
    """Return the error message for a document above the limit, with the remedy."""
    more = what or f"is larger than {largest_document():,} bytes, the limit for one document"
    return f"{more}; to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE"


def read_whole(file: IO[bytes], path: Path | str, times: int = 1) -> bytes:
    """Read the rest of a file that is one document. times: factor of the limit, for formats that hold more than text.

    Stops at the limit. Raises InputError for a larger file.
    """
    size = times * largest_document()
    content = file.read(size + 1)
    if len(content) > size:
        raise InputError(too_large(f"is larger than {size:,} bytes, the limit for one document"), path)
    return content


def check_unpacked(content: IO[bytes], path: Path | str, xml: int) -> list[str]:
    """The names of the files in a zip archive. xml: factor of the limit for those that hold XML.

    Raises InputError for an archive that unpacks to more, BadZipFile for none.
    """
    with zipfile.ZipFile(content) as archive:
        parts = archive.infolist()
    marked_up = (part.file_size for part in parts if part.filename.lower().endswith((".xml", ".rels")))
    for size, times in ((sum(part.file_size for part in parts), PICTURES), (sum(marked_up), xml)):
        if size > times * largest_document():
            raise InputError(too_large(f"unpacks to {size:,} bytes, more than {times} times the limit"), path)
    return [part.filename for part in parts]


def check_gzip(content: bytes, path: Path | str, most: int) -> None:
    """Raise InputError for a gzip file that unpacks to more bytes than `most`; a broken one is left to its reader."""
    if not content.startswith(b"\x1f\x8b"):
        return
    size = 0
    with suppress(OSError, EOFError, zlib.error), gzip.open(io.BytesIO(content)) as file:
        while piece := file.read(1 << 20):
            if (size := size + len(piece)) > most:
                raise InputError(f"unpacks to more than {most:,} bytes; send its parts", path)


@contextmanager
def convert_errors(problem: str, library: str, path: Path | str) -> Iterator[None]:
    """Turn any exception of a library into InputError; libraries raise nearly anything for damaged files.

    problem: what the file or record is then said to be. What the library logs or warns of is not shown, nor what Python
    says of an error in the library's own code, such as "list index out of range".
    """
    try:
        with silence_log(library), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except TagwrightError:
        raise
    except Exception as error:
        of_python = isinstance(error, (LookupError, AttributeError, TypeError, AssertionError, UnicodeError))
        reason = "" if of_python or "invalid literal for" in str(error) else f" ({one_line_of(error)})"
        raise InputError(f"{problem}{reason}", path) from None
