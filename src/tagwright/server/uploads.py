"""Read uploaded files. A file that cannot be read gives a one-line error and does not affect other requests.

Each file is read by a process of its own, `tagwright read`, with limits of memory and time: some broken PDFs never end.
"""

import asyncio
import json
import re
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from tagwright.core.atomic import scratch_folder
from tagwright.core.workers import WorkerTimeout, run
from tagwright.errors import InputError
from tagwright.readers.documents.records import SHAPES, to_document
from tagwright.readers.lines import Place
from tagwright.server.shares import FairSlots
from tagwright.text.words import clean
from tagwright.types import Document

MOST = 1000
"Maximum number of documents in a file."

LARGEST = 5_000_000
"Maximum size of a document in bytes."

ALL = 10 * LARGEST
"Maximum size of all documents of a file as JSON: a compressed file may hold a thousand times its size."

SECONDS = 60.0
"Time limit for reading a file."

MEMORY = 4 << 30
"Limit of address space in bytes while a file is read, where the system has such a limit."

AT_ONCE, WAITING = 2, 16
"Number of files read at a time, one of each client; number of files of a client that wait for that."

_REMEDY = "split it, or give it to the server as --documents"
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class Upload(NamedTuple):
    """A file that a client has sent. name: as the client calls it."""

    name: str
    content: bytes


class UploadReader:
    """Read uploads without blocking the server. Clients take turns."""

    def __init__(self) -> None:
        self._slots = FairSlots(count=AT_ONCE, each=1, share=WAITING)

    async def __call__(self, file: Upload) -> list[Document]:
        """Read the documents of an upload, see `read_upload`. Raises InputError, and Busy."""
        async with self._slots.taken():
            return await asyncio.to_thread(read_upload, file.name, file.content)


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
        command = ["-m", "tagwright", "read", "--format", "jsonl", "--quiet", "--max-document-size", str(LARGEST)]
        try:
            done = run([*command, "--", str(path)], folder=folder, seconds=seconds, memory=MEMORY, most=ALL)
        except WorkerTimeout:
            raise InputError(f"takes more than {seconds:.0f} s to be read", shown) from None
    if len(done.printed) > ALL:
        raise InputError(f"holds more than {ALL:,} bytes of text; {_REMEDY}", shown)
    if done.code:
        raise _error(done.said, path, shown)
    lines = done.printed.splitlines()
    if len(lines) > MOST:
        raise InputError(f"holds more than {MOST:,} documents; {_REMEDY}", shown)
    documents = (to_document(json.loads(line), SHAPES["jsonl"], Place(shown, 0)) for line in lines)
    return [_renamed(document, path.as_posix(), f"{shown}-{digest}") for document in documents if document.text.strip()]


def _error(said: str, path: Path, shown: str) -> InputError:
    """The error of the command, with the user's name for the file. said: the end of its messages."""
    last = said.rpartition("\n")[2]
    if found := re.fullmatch(rf"tagwright: (?:{re.escape(str(path))}(?::(\d+))?: )?(.*)", last):
        problem = found[2].partition("; name it:")[0]  # an upload has no option to name the format
        return InputError(problem, shown, int(found[1]) if found[1] else None)
    if found := re.match(r"(?:\w+\.)*(\w+(?:Error|Exception))\b", last):
        return InputError(f"cannot be read ({found[1]})", shown)
    return InputError("cannot be read: the file crashed the reader", shown)


def _renamed(document: Document, path: str, name: str) -> Document:
    """Replace the path of the temporary file in an id by the name that the user sees."""
    head, hash_, number = document.id.rpartition("#") if "#" in document.id else (document.id, "", "")
    return replace(document, id=f"{name}{hash_}{number}") if head == path else document
