"""Uploaded files in, documents out. A file that cannot be read gives one line that says why, and harms nobody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from tagwright.errors import InputError
from tagwright.readers.files import open_sources
from tagwright.readers.limits import document_limit
from tagwright.text.words import clean
from tagwright.types import Document

MOST = 1000
"Documents of one file."

LARGEST = 5_000_000
"Bytes of text in one document."

_NAME = re.compile(r"[^\w.-]+")


def read_upload(name: str, content: bytes) -> list[Document]:
    """The documents of a file: PDF, docx, JATS, TEI, HTML, LaTeX, text, JSON lines, tables.

    name: as the client says; it tells the format, and nothing on this machine is called so. A document without an id
    gets the name and a digest of the content, so that two files with one name stay apart and one file sent twice does
    not. Raises InputError for whatever cannot be read.
    """
    shown = clean(name).replace("\\", "/").rpartition("/")[2].strip()[:100] or "upload"
    digest = blake2b(content, digest_size=4).hexdigest()
    with TemporaryDirectory(prefix="tagwright-upload-") as folder:
        path = Path(folder) / (_NAME.sub("_", shown)[-60:].lstrip(".-") or "upload")
        path.write_bytes(content)
        try:
            with document_limit(LARGEST):
                found = list(islice(_documents(path), MOST + 1))
        except InputError as error:
            raise InputError(error.problem, shown, error.line) from None
        except Exception as error:  # a reader that stumbles over a broken file must not end the request
            raise InputError(f"cannot be read ({type(error).__name__})", shown) from None
    if len(found) > MOST:
        raise InputError(
            f"holds more than {MOST:,} documents; split it, or give it to the server as --documents", shown
        )
    return [_renamed(document, path.name, f"{shown}-{digest}") for document in found if document.text.strip()]


def _documents(path: Path) -> Iterator[Document]:
    for _, documents in open_sources(path):
        yield from (document for _, document in documents)


def _renamed(document: Document, path: str, name: str) -> Document:
    """An id that comes from the path of the file says instead what the user calls the file."""
    head, hash_, number = document.id.rpartition("#") if "#" in document.id else (document.id, "", "")
    return replace(document, id=f"{name}{hash_}{number}") if head.endswith(path) else document
