"""Read the body of a request, and the files in it.

Every route that reads a body reads it here. A limit of its length is not enough: 20 MB can hold ten million empty
fields, each of which costs memory and time. So fields and values are counted in the bytes before they are parsed, which
Starlette's forms and `json` do not do. Bodies are parsed and checked in a thread. Each file is read by a process of its
own, `tagwright read`, with limits of memory and time: some broken PDFs never end.
"""

import asyncio
import binascii
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from python_multipart.multipart import parse_options_header
from starlette.datastructures import ImmutableMultiDict
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
from tagwright.server.turns import PerClient, in_thread
from tagwright.text.words import clean
from tagwright.types import Document

ITEMS, DEPTH = 100_000, 64
"The most JSON values in a body, and levels of nesting."

FIELDS, PARTS, FILES = 25_000, 100, 50
"The most fields of a form (10,000 conditions of both kinds fit), parts of a multipart form, and files among these."

LARGEST = 5_000_000
"The most bytes of text in a document."

UNPACKED = 250_000_000
"The most bytes that a file may unpack to."

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


class Upload(NamedTuple):
    """A file that a client has sent, with the client's name for it."""

    name: str
    content: bytes


Form: TypeAlias = ImmutableMultiDict[str, str | Upload]
"The fields and files of a form; `get` gives the last of several values."

T = TypeVar("T")

_files = PerClient(1)


async def read_json(request: Request, checked: Callable[[Any], T]) -> T:
    """Parse a JSON body, and return what `checked` makes of it; both run in a thread.

    A body without a content type is taken for JSON, as in Annif. Raises Problem for anything else (415), for an empty
    body (400), and what `parse_json` and `checked` raise.
    """
    body = await _read_body(request)
    if not body:
        raise bad_request("RequestBody is required")
    if _media_type(request) not in ("application/json", ""):
        raise _refuse_media_type(request, "application/json")
    return await in_thread(lambda: checked(parse_json(body)))


async def read_form(
    request: Request, checked: Callable[[Form], T], *, kinds: tuple[str, ...] = (FORM, MULTIPART), files: int = FILES,
    most: int | None = None,
) -> T:  # fmt: skip
    """Parse a form, and return what `checked` makes of it; both run in a thread. An empty body has no fields.

    kinds: accepted content types. files: how many it may hold. most: bytes of it; None: the limit of all bodies. Raises
    Problem for another kind (415), for a form that holds too much (413), and what `checked` raises.
    """
    kind = _media_type(request)
    _, options = parse_options_header(request.headers.get("content-type", "")[:1024])
    charset = options.get(b"charset", b"").decode("latin-1").lower()
    body = await _read_body(request, most)
    if not body:
        return checked(ImmutableMultiDict([]))
    if kind not in kinds:
        raise _refuse_media_type(request, kinds[0])
    if charset not in ("", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1"):  # some halve characters
        raise Problem(415, Text("The form is in %(charset)s, expected utf-8", charset=ascii(charset[:80])))

    def read() -> T:
        border = b"--" + options.get(b"boundary", b"")
        fields = _parts(body, border, files) if kind == MULTIPART else _fields(body)
        return checked(ImmutableMultiDict(list(fields)))

    return await in_thread(read)


async def _read_body(request: Request, most: int | None = None) -> bytes:
    """The body. most: bytes of it; more raise Problem (413) before the rest has come."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if most is not None and len(body) > most:
            raise Problem(413, Text("The body has more than %(most)s bytes", most=most))
    return bytes(body)


def _media_type(request: Request) -> str:
    """The kind of body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _refuse_media_type(request: Request, expected: str) -> Problem:
    """The body is of another kind than expected."""
    return Problem(415, f"Invalid Content-type ({_media_type(request)[:80]}), expected ['{expected}']")


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text. A lone surrogate, which cannot be stored, becomes U+FFFD.

    Raises Problem for invalid JSON or NaN (400), and for more values (413) or levels (400) than are accepted.
    """
    try:
        text = body.decode(encoding := json.detect_encoding(body))
        _check_json(body if encoding.startswith("utf-8") else text.encode("utf-8", "replace"))
        return json.loads(whole_json(text), parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
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


def _check_json(body: bytes) -> None:
    """Raise Problem for too many values or levels, by counting brackets and commas outside of texts.

    A list of three values has two commas. Innermost brackets are removed again and again, to find the levels.
    """
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")  # then each quote begins or ends a text
    values = plain.count(b'"') // 4  # at least half of the texts are values, and not the names of some
    if values <= ITEMS:
        outside = b'"'.join(plain.split(b'"')[::2])  # so that a list of one text is not empty
        values = sum(map(outside.count, (b",", b"[", b"{"))) - outside.count(b"[]") - outside.count(b"{}")
    if values > ITEMS:
        detail = f"The body has {values:,} JSON values or more, at most {ITEMS:,} are accepted; send less at a time"
        raise Problem(413, detail)
    brackets = outside.translate(bytes.maketrans(b"{}", b"[]"), bytes({*range(256)} - {*b"[]{}"}))
    for _ in range(DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if b"[" in brackets and (b"[]" in brackets or len(brackets.lstrip(b"]")) > DEPTH):
        raise _too_deep()


def _too_deep() -> Problem:
    return bad_request(f"The JSON is nested too deep, at most {DEPTH} levels are accepted")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _fields(body: bytes) -> Iterator[tuple[str, str]]:
    """The names and values of an urlencoded form. Raises Problem (413) for too many."""
    if (count := body.count(b"&")) > FIELDS:
        form = "The form has %(count)s fields or more, at most %(most)s are accepted; send less at a time"
        raise Problem(413, Text(form, count=f"{count:,}", most=f"{FIELDS:,}"))
    for field in body.split(b"&"):
        if field:
            name, _, value = field.partition(b"=")
            yield _unescape_field(name), _unescape_field(value)


def _unescape_field(text: bytes) -> str:
    r"""The text of a field. It is decoded in pieces of 20,000 escapes, between which other threads can run.

    >>> _unescape_field(b"B%c3%a4ume+%26 100%=%3D")
    'B\xe4ume & 100%=='
    """
    pieces, strays = list[bytes](), 0
    for match in re.finditer(rb"[^%]*(?:%[^%]*){0,20000}", text.replace(b"+", b" ")):
        piece, count = re.subn(rb"%(?![0-9A-Fa-f]{2})", rb"%25", match[0])
        if (strays := strays + count) > 100_000:
            raise Problem(413, "The form has 100,000 % signs or more that escape nothing; write each as %25")
        # the decoder of quoted-printable is a hundred times faster than others; it differs by its sign
        pieces.append(binascii.a2b_qp(piece.replace(b"=", b"=3D").replace(b"%", b"=")))
    return b"".join(pieces).decode("utf-8", "replace")


def _parts(body: bytes, border: bytes, files: int) -> Iterator[tuple[str, str | Upload]]:
    """The names and contents of the parts of a multipart form. files: how many may be files. Raises Problem."""
    if (count := body.count(border) - 1) > PARTS:
        form = "The form has %(count)s parts or more, at most %(most)s are accepted; send less at a time"
        raise Problem(413, Text(form, count=f"{count:,}", most=PARTS))
    _, *parts = (b"\r\n" + body).split(b"\r\n" + border)  # what stands before the first belongs to no part
    if border == b"--" or not parts or not parts.pop().startswith(b"--"):
        raise bad_request("The form does not end with the boundary that its Content-Type names; send it whole")
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        name, file = _names(head)
        if file is None:
            yield name, content.decode("utf-8", "replace")
        elif (files := files - 1) < 0:
            raise bad_request("The form has more files than are accepted here; send one request for each")
        else:
            yield name, Upload(file, content)


def _names(head: bytes) -> tuple[str, str | None]:
    """The name of a part, and the name of its file; None for a field. Raises Problem (400)."""
    lines = (line.partition(b":") for line in head.split(b"\r\n") if len(line) <= 1024)
    disposition = next((value for name, _, value in lines if name.strip().lower() == b"content-disposition"), b"")
    options = parse_options_header(disposition.strip())[1]
    if b"name" not in options:
        raise bad_request("A part of the form has no name; each needs Content-Disposition: form-data; name=...")
    file = options.get(b"filename")
    return options[b"name"].decode("utf-8", "replace"), None if file is None else file.decode("utf-8", "replace")


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


def parse_whole_number(text: str) -> Any:
    """Return the whole number in a field of a form or an address, or else its text, which the schema then refuses."""
    return int(text) if re.fullmatch("[+-]?[0-9]{1,18}", text) else text


def label_rules(fields: ImmutableMultiDict[Any, Any]) -> dict[str, Any]:
    """Return the `LABEL_RULES` in a form or an address, as arguments of `SuggestOptions`."""
    rules: dict[str, Any] = {name: fields[name] for name in ("hierarchy", "per_branch") if name in fields}
    if "per_branch" in rules:
        rules["per_branch"] = parse_whole_number(rules["per_branch"])
    return {**rules, **{name: fields.getlist(name) for name in ("only", "without")}}


async def run_apart(request: Request, read: Callable[..., T], *given: Any) -> T:
    """Let a function run programs on a file of a client, whose other files wait; two run at a time."""
    async with _files(), request.app.state.readers:
        return await asyncio.to_thread(read, *given)


class ReadDocuments(list[Document]):
    """The documents of a file. notes: what the reader says of it, such as columns that it does not use."""

    notes: Sequence[str] = ()


async def read_documents(request: Request, file: Upload) -> list[Document]:
    """Read the documents of a file without blocking the server; clients take turns. Raises InputError."""
    return await run_apart(request, read_upload, file.name, file.content)


def read_upload(name: str, content: bytes, seconds: float = 60.0, most: int = 10 * LARGEST) -> ReadDocuments:
    """Read the documents of a file: PDF, HTML, JATS, TEI, text, what pandoc reads, JSON lines, tables.

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
    read = ReadDocuments(document for document in named if document.text.strip())
    read.notes = _notes(said, path, shown)
    return read


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
