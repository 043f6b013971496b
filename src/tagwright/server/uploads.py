"""Read uploaded files. A file that cannot be read gives a one-line error and does not affect other requests.

Each file is read in a process of its own, with limits of memory and time: some broken PDFs never end.
"""

import asyncio
import json
import re
import sys
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from starlette.datastructures import UploadFile

from tagwright.core.scratch import scratch_folder
from tagwright.core.workers import WorkerDied, WorkerTimeout, run
from tagwright.data.document_file import from_line, to_line
from tagwright.errors import InputError, on_command_line
from tagwright.readers.documents.files import open_sources
from tagwright.readers.limits import document_limit
from tagwright.text.words import clean
from tagwright.types import Document

MOST = 1000
"Maximum number of documents in a file."

LARGEST = 5_000_000
"Maximum size of a document in bytes."

SECONDS = 60.0
"Time limit for reading a file."

MEMORY = 4 << 30
"Limit of address space in bytes while a file is read, where the system has such a limit."

AT_ONCE = 2
"Number of files read at a time; others wait, so that slow files do not use up the server."

PROGRAM = "from tagwright.server.uploads import main; main()"

_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class UploadReader:
    """Read uploads without blocking the server."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, file: UploadFile) -> list[Document]:
        """Read the documents of an upload, see `read_upload`. Raises InputError."""
        content = await file.read()
        async with self._turns:
            return await asyncio.to_thread(read_upload, file.filename or "", content)


def read_upload(name: str, content: bytes, seconds: float = SECONDS) -> list[Document]:
    """Read the documents of a file: PDF, docx, JATS, TEI, HTML, LaTeX, text, JSON lines, tables.

    name: from the client; used to recognise the format, never as a path. seconds: time limit. A document without an id
    gets the name and a digest of the content as its id: two files of the same name differ, a file sent twice does not.
    Raises InputError for a file that cannot be read.
    """
    shown = clean(name).replace("\\", "/").rpartition("/")[2].strip()[:100] or "upload"
    digest = blake2b(content, digest_size=4).hexdigest()
    with scratch_folder() as folder:
        path = folder / (_UNSAFE.sub("_", shown)[-60:].lstrip(".-") or "upload")
        path.write_bytes(content)
        try:
            *lines, last = run(["-c", PROGRAM, str(path)], seconds=seconds, memory=MEMORY).splitlines()
        except WorkerTimeout:
            raise InputError(f"takes more than {seconds:.0f} s to be read", shown) from None
        except WorkerDied:
            raise InputError("cannot be read: the file crashed the reader", shown) from None
    documents, (problem, line) = [*map(from_line, lines)], json.loads(last)
    if problem:
        raise InputError(problem.partition("; name it:")[0], shown, line)  # an upload has no option to name the format
    if len(documents) > MOST:
        problem = f"holds more than {MOST:,} documents; split it, or give it to the server as --documents"
        raise InputError(problem, shown)
    return [_renamed(document, path.as_posix(), f"{shown}-{digest}") for document in documents if document.text.strip()]


def _renamed(document: Document, path: str, name: str) -> Document:
    """Replace the path of the temporary file in an id by the name that the user sees."""
    head, hash_, number = document.id.rpartition("#") if "#" in document.id else (document.id, "", "")
    return replace(document, id=f"{name}{hash_}{number}") if head == path else document


def main() -> None:
    """Print the documents of a file, a line each; then the error and its line."""
    documents, *problem = read(Path(sys.argv[1]))
    sys.stdout.buffer.writelines([*map(to_line, documents), json.dumps(problem).encode()])


def read(path: Path) -> tuple[list[Document], str, int | None]:
    """Return the documents of a file, at most one above the limit; or the error and its line."""
    found: list[Document] = []
    try:
        with document_limit(LARGEST), on_command_line():  # as the server was started
            documents = (document for _, located in open_sources(path) for _, document in located)
            found += islice(documents, MOST + 1)
    except InputError as error:
        return [], error.problem, error.line
    except Exception as error:  # any error of a parser in a broken file
        return [], f"cannot be read ({type(error).__name__})", None
    return found, "", None
