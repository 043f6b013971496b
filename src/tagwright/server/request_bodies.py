"""Read the body of a request, and the files in it.

Every route that reads a body reads it here. A limit of its length is not enough: 20 MB can hold ten million empty
fields, each of which costs memory and time; so fields, files and values are counted before they are parsed. Each file
is read by a process of its own, `tagwright read`, with limits of memory and time: some broken PDFs never end.
"""

import asyncio
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import ImmutableMultiDict, UploadFile
from starlette.requests import Request

from tagwright.core.atomic import scratch_folder
from tagwright.core.display import SOME_FAILED
from tagwright.core.workers import run
from tagwright.errors import InputError
from tagwright.readers.documents.records import SHAPES, to_document
from tagwright.readers.limits import check_gzip
from tagwright.readers.lines import SURROGATE_ESCAPE, Place, whole_characters
from tagwright.server.languages import Text
from tagwright.server.problems import Problem, bad_request
from tagwright.server.turns import in_thread, per_client
from tagwright.text.words import clean
from tagwright.types import Document

ITEMS = 100_000
"The most JSON values in a body."

FIELDS, PARTS, FILES = 25_000, 100, 50
"The most fields of a form (10,000 conditions of both kinds fit), parts of a multipart form, and files among these."

LARGEST = 5_000_000
"The most bytes of text in a document."

UNPACKED = 250_000_000
"The most bytes that a file may unpack to."

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


class Upload(NamedTuple):
    """A file that a client has sent, with the client's name for it."""

    name: str
    content: bytes


Form: TypeAlias = ImmutableMultiDict[str, str | Upload]
"The fields and files of a form; `get` gives the last of several values."

T = TypeVar("T")

_files = per_client(1)


def check_kind(request: Request, *kinds: str) -> str:
    """Return the kind of body, without parameters. Raises Problem (415) for any other than these."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Problem(415, f"Invalid Content-type ({kind[:80]}), expected ['{kinds[0]}']")
    return kind


async def read_form(
    request: Request, *, kinds: tuple[str, ...] = (FORM, MULTIPART), files: int = FILES, most: int | None = None
) -> Form:
    """Return the fields and files of a form; none of an empty body.

    kinds: accepted content types. files: how many it may hold. most: bytes of it; None: the limit of all bodies. Raises
    Problem for another kind (415), and for a form that holds too much (413) or is none (400).
    """
    body = await request.body()
    if most is not None and len(body) > most:
        raise Problem(413, Text("The body has more than %(most)s bytes", most=most))
    if not body:
        return ImmutableMultiDict([])
    kind = check_kind(request, *kinds)
    _, options = parse_options_header(request.headers["content-type"][:1024])
    charset = options.get(b"charset", b"").decode("latin-1").lower()
    if charset not in ("", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1"):  # some halve characters
        raise Problem(415, Text("The form is in %(charset)s, expected utf-8", charset=ascii(charset[:80])))
    if kind == FORM:
        return ImmutableMultiDict(await in_thread(_fields, body))
    if not body.rstrip().endswith(b"--"):
        raise bad_request("The form does not end with the boundary that its Content-Type names; send it whole")
    async with request.form(max_files=files, max_fields=PARTS, max_part_size=LARGEST) as form:
        return ImmutableMultiDict([(name, await _part(value)) for name, value in form.multi_items()])


async def _part(value: UploadFile | str) -> Upload | str:
    return value if isinstance(value, str) else Upload(value.filename or "", await value.read())


def _fields(body: bytes) -> list[tuple[str, str]]:
    """The names and values of an urlencoded form. Raises Problem (413) for too many."""
    try:
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS)
    except ValueError:
        form = "The form has more than %(most)s fields; send less at a time"
        raise Problem(413, Text(form, most=f"{FIELDS:,}")) from None


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text. A lone surrogate, which cannot be stored, becomes U+FFFD.

    Raises Problem for invalid JSON, NaN or too many levels (400), and for more values than are accepted (413).
    """
    try:
        text = body.decode(json.detect_encoding(body))
        _count_values(text)
        return json.loads(whole_json(text), parse_constant=_refuse_constant)
    except RecursionError:
        raise bad_request("The JSON is nested too deep") from None
    except ValueError as error:
        raise bad_request(str(error)) from None


def whole_json(text: str) -> str:
    r"""Return JSON with U+FFFD in place of escaped halves of surrogate pairs; what is no JSON stays as it is.

    >>> whole_json('["\\ud800 bees", NaN]') == '["\ufffd bees", NaN]'
    True
    """
    if not SURROGATE_ESCAPE.search(text):
        return text
    try:
        return whole_characters(json.dumps(json.loads(text), ensure_ascii=False))
    except (ValueError, RecursionError):
        return text


def _count_values(text: str) -> None:
    """Raise Problem for too many values, by counting brackets and commas outside of texts.

    A list of three values has two commas.
    """
    plain = text.replace(r"\\", "").replace(r"\"", "")  # then each quote begins or ends a text
    values = plain.count('"') // 4  # at least half of the texts are values, and not the names of some
    if values <= ITEMS:
        outside = '"'.join(plain.split('"')[::2])  # so that a list of one text is not empty
        values = sum(map(outside.count, ",[{")) - outside.count("[]") - outside.count("{}")
    if values > ITEMS:
        detail = f"The body has {values:,} JSON values or more, at most {ITEMS:,} are accepted; send less at a time"
        raise Problem(413, detail)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def text_of(form: Form, name: str) -> str:
    """Return the text of a field of a form; "" for none, and for a file."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def check_size(document: Any) -> None:
    """Raise Problem (413) for a document with too much text. document: its text, or a JSON value that holds all."""
    size, values = 0, [document]
    while values:
        value = values.pop()
        if isinstance(value, str):
            size += len(value.encode("utf-8", "replace"))
        elif isinstance(value, list | dict):
            values += value.values() if isinstance(value, dict) else value
    if size > LARGEST:
        form = "The document has %(size)s bytes of text, at most %(most)s are accepted; split it"
        raise Problem(413, Text(form, size=f"{size:,}", most=f"{LARGEST:,}"))


async def run_apart(request: Request, read: Callable[..., T], *given: Any) -> T:
    """Let a function run programs on a file of a client, whose other files wait; two run at a time."""
    async with _files(), request.app.state.readers:
        return await asyncio.to_thread(read, *given)


async def read_documents(request: Request, file: Upload) -> tuple[list[Document], list[str]]:
    """Read a file as `read_upload` does, without blocking the server; clients take turns. Raises InputError."""
    return await run_apart(request, read_upload, file.name, file.content)


def read_upload(
    name: str, content: bytes, seconds: float = 60.0, most: int = 10 * LARGEST
) -> tuple[list[Document], list[str]]:
    """Read the documents of a file: PDF, HTML, JATS, TEI, text, what pandoc reads, JSON lines, tables.

    Beside them stands what the reader says of the file, such as columns that it does not use.

    name: from the client; tells the format, and is never used as a path. seconds: time limit. most: bytes of all
    documents as JSON, since a compressed file may hold a thousand times its size. The id of a document without one is
    the name with a digest of the content: two files of the same name differ, a file sent twice does not. Raises
    InputError for a file that cannot be read.
    """
    shown, digest = shown_name(name), blake2b(content, digest_size=4).hexdigest()
    with scratch_folder() as folder:
        path = store_upload(folder, shown, content)
        command = ["-m", "tagwright", "read", "--format", "jsonl"]
        printed, said = run_on(path, shown, [*command, "--", str(path)], seconds, most)
    if len(printed) > most:
        form = "holds more than %(count)s bytes of text; split it, or give it to the server as --documents"
        raise InputError(Text(form, count=f"{most:,}"), shown)
    lines = printed.splitlines()
    if len(lines) > 1000:
        form = "holds more than %(count)s documents; split it, or give it to the server as --documents"
        raise InputError(Text(form, count="1,000"), shown)
    documents = (to_document(json.loads(line), SHAPES["jsonl"], Place(shown, 0)) for line in lines)
    named = (_name_by_upload(document, path.as_posix(), f"{shown}-{digest}") for document in documents)
    return [document for document in named if document.text.strip()], _notes(said, path, shown)


def shown_name(name: str) -> str:
    """Return the client's name of a file, without its folders."""
    return clean(name).replace("\\", "/").rpartition("/")[2].strip()[:100] or "upload"


def store_upload(folder: Path, shown: str, content: bytes) -> Path:
    """Write a file of a client into a folder. Raises InputError for one that unpacks to more than `UNPACKED`."""
    check_gzip(content, shown, UNPACKED)
    path = folder / (re.sub(r"[^\w.-]+", "_", shown, flags=re.ASCII)[-60:].lstrip(".-") or "upload")
    path.write_bytes(content)
    return path


def run_on(path: Path, shown: str, command: Sequence[str], seconds: float, most: int) -> tuple[bytes, str]:
    """Run Python on the file of a client: what it prints, at most one byte more than `most`, and its messages.

    It has 4 GB of memory, and writes no file larger than twice `UNPACKED`. Raises InputError.
    """
    try:
        printed, said, code = run(
            command, folder=path.parent, seconds=seconds, memory=4 << 30, disk=2 * UNPACKED, most=most,
            environment={**os.environ, "TAGWRIGHT_MAX_DOCUMENT_SIZE": str(LARGEST)},
        )  # fmt: skip
    except TimeoutError:
        text = Text("takes more than %(seconds)s s to be read", seconds=f"{seconds:.0f}")
        raise InputError(text, shown) from None
    if code and len(printed) <= most:
        raise _reading_error(said, path, shown, code)
    return printed, said


def _notes(said: str, path: Path, shown: str) -> list[str]:
    """Return the notes of a command, under the client's name for the file, without advice on its options."""
    lines = dict.fromkeys(line.removeprefix("tagwright: ").replace(str(path), shown) for line in said.splitlines())
    return [_without_options(line)[:1000] for line in [*lines][-20:] if line.strip()]


def _without_options(line: str) -> str:
    """The line without advice to give an option or to set a variable, which an upload cannot."""
    return re.sub(r"(?:; |, or )(?:(?!, or )[^;])*(?:--[a-z]|TAGWRIGHT_)[^;]*", "", line)


def _reading_error(said: str, path: Path, shown: str, code: int = 2) -> InputError:
    """The error of the command, under the client's name for the file. said: the end of its standard error.

    Of a file of which only some can be read, it is the first.
    """
    place, lines = re.escape(str(path)), said.splitlines() or [""]
    last = next((line for line in lines if code == SOME_FAILED and re.match(rf"{place}:\d+: ", line)), lines[-1])
    if match := re.fullmatch(rf"(?:tagwright: |(?={place}))(?:{place}(?::(\d+))?: )?(.*)", last):
        return InputError(_without_options(match[2]), shown, int(match[1]) if match[1] else None)
    if match := re.match(r"(?:\w+\.)*(\w+(?:Error|Exception))\b", last):
        return InputError(Text("cannot be read (%(reason)s)", reason=match[1]), shown)
    return InputError(Text("cannot be read: the file crashed the reader"), shown)


def _name_by_upload(document: Document, path: str, name: str) -> Document:
    """Replace the path of the temporary file, where it is the document's id, by the name that the user sees."""
    head, hash_, number = document.id.rpartition("#") if "#" in document.id else (document.id, "", "")
    return replace(document, id=f"{name}{hash_}{number}") if head == path else document
