"""Read uploaded files. One that cannot be read gives a one-line reason and harms nobody else.

A file is read by a process of its own, with bounds for memory and time: some broken PDFs keep a reader busy for ever.
The process is this module, run with the path of the file; it prints a line of JSON for each document, or the problem.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.datastructures import UploadFile

from tagwright.errors import InputError
from tagwright.readers.documents.files import open_sources
from tagwright.readers.documents.records import SHAPES, to_document, to_record
from tagwright.readers.limits import document_limit
from tagwright.readers.lines import Place
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


def read_upload(name: str, content: bytes) -> list[Document]:
    """The documents of a file: PDF, docx, JATS, TEI, HTML, LaTeX, text, JSON lines, tables.

    name: as the client says; it tells the format, and nothing on this machine is called so. A document without an id
    gets the name and a digest of the content, so that two files with one name stay apart and one file sent twice does
    not. Raises InputError for whatever cannot be read.
    """
    shown = clean(name).replace("\\", "/").rpartition("/")[2].strip()[:100] or "upload"
    digest = blake2b(content, digest_size=4).hexdigest()
    with TemporaryDirectory(prefix="tagwright-upload-") as folder:
        path = Path(folder) / (_UNSAFE.sub("_", shown)[-60:].lstrip(".-") or "upload")
        path.write_bytes(content)
        # not with the folder as the working directory: Python would import an upload that is called like a module
        command = [sys.executable, "-m", "tagwright.server.uploads", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        except subprocess.TimeoutExpired:
            raise InputError(f"takes more than {SECONDS:.0f} s to be read", shown) from None
        except subprocess.CalledProcessError:
            raise InputError("cannot be read: the reader did not survive it", shown) from None
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for each in found:
        if "problem" in each:
            problem = each["problem"].partition("; name it:")[0]  # whoever uploads cannot name a format
            raise InputError(problem, shown, each["line"])
    if len(found) > MOST:
        raise InputError(
            f"holds more than {MOST:,} documents; split it, or give it to the server as --documents", shown
        )
    documents = (to_document(each, SHAPES["jsonl"], Place(shown, row)) for row, each in enumerate(found, 1))
    return [_renamed(document, path.as_posix(), f"{shown}-{digest}") for document in documents if document.text.strip()]


def _renamed(document: Document, path: str, name: str) -> Document:
    """An id that comes from the path of the file says instead what the user calls the file."""
    head, hash_, number = document.id.rpartition("#") if "#" in document.id else (document.id, "", "")
    return replace(document, id=f"{name}{hash_}{number}") if head == path else document


def _print_documents(path: Path) -> None:
    """What the other process does."""
    _bound_memory()
    try:
        with document_limit(LARGEST):
            for document in islice(_documents(path), MOST + 1):
                print(json.dumps(to_record(document)))  # noqa: T201
    except InputError as error:
        print(json.dumps({"problem": error.problem, "line": error.line}))  # noqa: T201
    except Exception as error:  # of a reader that stumbles over a broken file
        print(json.dumps({"problem": f"cannot be read ({type(error).__name__})", "line": None}))  # noqa: T201


def _documents(path: Path) -> Iterator[Document]:
    for _, documents in open_sources(path):
        yield from (document for _, document in documents)


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such bound
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    _print_documents(Path(sys.argv[1]))
