"""Read uploaded files. One that cannot be read gives a one-line reason and harms nobody else.

A file is read by a process of its own, with bounds for memory and time: some broken PDFs keep a reader busy for ever.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.datastructures import UploadFile

from tagwright.core.workers import Worker, WorkerError, WorkerTimeout
from tagwright.errors import InputError
from tagwright.readers.documents.files import open_sources
from tagwright.readers.limits import document_limit
from tagwright.text.words import clean
from tagwright.types import Document

MOST = 1000
"Documents of one file."

LARGEST = 5_000_000
"Bytes of text in one document."

SECONDS = 60.0
"How long the reading of a file may take."

MEMORY = 4 << 30
"Bytes of address space while a file is read, where the system can bound it."

AT_ONCE = 2
"Files that are read at a time; others wait, so that a few slow ones leave the server free."

_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class UploadReader:
    """Reads uploads without holding up whatever else the server does."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, file: UploadFile) -> list[Document]:
        """The documents of an upload, as `read_upload` reads them. Raises InputError."""
        content = await file.read()
        async with self._turns:
            return await asyncio.to_thread(read_upload, file.filename or "", content)


def read_upload(name: str, content: bytes, seconds: float = SECONDS) -> list[Document]:
    """The documents of a file: PDF, docx, JATS, TEI, HTML, LaTeX, text, JSON lines, tables.

    name: as the client says; it tells the format, and nothing on this machine is called so. seconds: how long reading
    may take. A document without an id gets the name and a digest of the content, so that two files with one name stay
    apart and one file sent twice does not. Raises InputError for whatever cannot be read.
    """
    shown = clean(name).replace("\\", "/").rpartition("/")[2].strip()[:100] or "upload"
    digest = blake2b(content, digest_size=4).hexdigest()
    with TemporaryDirectory(prefix="tagwright-upload-") as folder:
        path = Path(folder) / (_UNSAFE.sub("_", shown)[-60:].lstrip(".-") or "upload")
        path.write_bytes(content)
        try:
            with closing(Worker(Reader, memory=MEMORY, seconds=seconds)) as reader:
                documents, problem, line = reader.ask("read", scratch=path.parent, name=path.name)
        except WorkerTimeout:
            raise InputError(f"takes more than {seconds:.0f} s to be read", shown) from None
        except WorkerError:
            raise InputError("cannot be read: the file crashed the reader", shown) from None
    if problem:
        raise InputError(problem.partition("; name it:")[0], shown, line)  # whoever uploads cannot name a format
    if len(documents) > MOST:
        problem = f"holds more than {MOST:,} documents; split it, or give it to the server as --documents"
        raise InputError(problem, shown)
    return [_renamed(document, path.as_posix(), f"{shown}-{digest}") for document in documents if document.text.strip()]


def _renamed(document: Document, path: str, name: str) -> Document:
    """An id that comes from the path of the file says instead what the user calls the file."""
    head, hash_, number = document.id.rpartition("#") if "#" in document.id else (document.id, "", "")
    return replace(document, id=f"{name}{hash_}{number}") if head == path else document


class Reader:
    """What the other process does."""

    def read(self, scratch: Path, name: str) -> tuple[list[Document], str, int | None]:
        """The documents of a file, one more than it may have at most; or what is wrong with it, and in which line."""
        found: list[Document] = []
        try:
            with document_limit(LARGEST):
                documents = (document for _, located in open_sources(scratch / name) for _, document in located)
                found += islice(documents, MOST + 1)
        except InputError as error:
            return [], error.problem, error.line
        except Exception as error:  # of a reader that stumbles over a broken file
            return [], f"cannot be read ({type(error).__name__})", None
        return found, "", None
