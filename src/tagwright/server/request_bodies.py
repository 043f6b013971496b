"""Read the body of a request: what it holds is counted while it comes, then it is parsed and checked in a thread.

Every route that reads a body reads it here.
"""

import asyncio
import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

from python_multipart.multipart import parse_options_header
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.types import Scope

from tagwright.readers.lines import SURROGATE_ESCAPE, whole_characters
from tagwright.server.body_counts import PARTS, Count, FormCount, JsonCount, count_all, too_deep, too_many
from tagwright.server.openapi import CONDITIONS, HIERARCHY
from tagwright.server.problems import Problem, bad_request
from tagwright.server.uploads import LARGEST, Upload

ADDRESS_FIELDS, HEADERS, HEADER_BYTES = 1000, 100, 32_768
"Fields of an address; headers of a request, and bytes of them all."

FILES = 50
"Files of a form."

LARGE = 262_144
"""Bytes from which on a body waits for its turn to be parsed: one at a time, clients in turn, and for a quarter of the
time only. So a client that sends such bodies without end leaves most of the processor to others."""

CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1"})
"Character sets of forms. Python has others that fail, or make halves of characters."

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"

Form: TypeAlias = ImmutableMultiDict[str, str | Upload]
"The fields and files of a form; `get` gives the last of several values."

T = TypeVar("T")

_LONGEST_LINE, _STRAY_SIGNS, _STEP = 1024, 100_000, 262_144
_STRAY_SIGN = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def media_type(request: Request) -> str:
    """The kind of body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def unsupported(request: Request, expected: str) -> Problem:
    """The body is of another kind than expected."""
    return Problem(415, f"Invalid Content-type ({media_type(request)[:80]}), expected ['{expected}']")


def check_head(scope: Scope) -> None:
    """Raise Problem for an address with too many fields, and for too many or too long headers."""
    fields, headers = scope["query_string"].count(b"&") + 1, scope["headers"]
    if fields > ADDRESS_FIELDS:
        raise too_many(fields, "fields", "address", ADDRESS_FIELDS, 414)
    if len(headers) > HEADERS:
        raise too_many(len(headers), "headers", "request", HEADERS, 431)
    if (size := sum(len(name) + len(value) for name, value in headers)) > HEADER_BYTES:
        raise too_many(size, "bytes of headers", "request", HEADER_BYTES, 431)


async def read_json(request: Request, checked: Callable[[Any], T]) -> T:
    """What `checked` makes of a JSON body, in a thread; a body without a content type is taken for JSON, as in Annif.

    Raises Problem for anything else, for an empty body, and what `parse_json` and `checked` raise.
    """
    body = await _whole(request, JsonCount())
    if not body:
        raise bad_request("RequestBody is required")
    if media_type(request) not in ("application/json", ""):
        raise unsupported(request, "application/json")
    return await _in_turn(request, body, lambda: checked(_parsed(body)))


async def read_form(
    request: Request, checked: Callable[[Form], T], *, kinds: tuple[str, ...] = (FORM, MULTIPART), files: int = FILES,
    most: int | None = None,
) -> T:  # fmt: skip
    """What `checked` makes of a form, in a thread. files: how many it may have; most: bytes, if fewer than of others.

    An empty body is a form without fields. Raises Problem for a body of another kind, a form that holds too much, and
    what `checked` raises.
    """
    kind = media_type(request)
    _, options = parse_options_header(request.headers.get("content-type", "")[:_LONGEST_LINE])
    charset = options.get(b"charset", b"").decode("latin-1").lower()
    border = b"--" + options.get(b"boundary", b"")
    count = FormCount(border, "parts", PARTS, begin=-1) if kind == MULTIPART else FormCount()
    body = await _whole(request, count, most)
    if not body:
        return checked(ImmutableMultiDict([]))
    if kind not in kinds:
        raise unsupported(request, kinds[0])
    if charset not in CHARSETS:
        raise Problem(415, f"The form is in {charset[:80]!a}, expected utf-8")

    def read() -> T:
        fields = _parts(body, border, files) if kind == MULTIPART else _fields(body)
        return checked(ImmutableMultiDict(list(fields)))

    return await _in_turn(request, body, read)


async def _whole(request: Request, count: Count, most: int | None = None) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        count(piece)
        body += piece
        if most is not None and len(body) > most:
            raise Problem(413, f"The body has more than {most} bytes")
    return bytes(body)


async def _in_turn(request: Request, body: bytes, read: Callable[[], T]) -> T:
    if len(body) < LARGE:
        return await asyncio.to_thread(read)
    async with request.app.state.large_bodies.taken():
        return await asyncio.to_thread(read)


def parse_json(body: bytes) -> Any:
    """The value of a text in JSON, for what was not counted while it came. Raises Problem as `read_json` does."""
    count_all(body, JsonCount())
    return _parsed(body)


def _parsed(body: bytes) -> Any:
    """The value of a text in JSON that has been counted.

    Half a character (a surrogate, as programs leave them that cut a text) can neither be stored nor sent: in every text
    it becomes U+FFFD. Raises Problem for what is no JSON, and for NaN.
    """
    try:
        text = body.decode(json.detect_encoding(body))
        content = json.loads(text, parse_constant=_refuse_constant)
        if SURROGATE_ESCAPE.search(text):
            content = json.loads(whole_characters(json.dumps(content, ensure_ascii=False)))
        return content
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        raise bad_request(str(error)) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _fields(body: bytes) -> Iterator[tuple[str, str]]:
    """The fields of a form. Text that is not escaped is read as it stands."""
    for field in body.split(b"&"):
        if field:
            name, _, value = field.partition(b"=")
            yield _unescaped(name), _unescaped(value)


def _unescaped(text: bytes) -> str:
    r"""The text of a field, in steps, so that other threads go on meanwhile.

    >>> _unescaped(b"B%c3%a4ume+%26 100%=%3D")
    'B\xe4ume & 100%=='
    """
    pieces, start, strays = [], 0, 0
    while start < len(text):
        end = start + _STEP
        end = end if end >= len(text) or (cut := text.find(b"%", end - 2, end)) < 0 else cut  # no escape is cut in two
        escaped, found = _STRAY_SIGN.subn(rb"%25", text[start:end].replace(b"+", b" "))
        if (strays := strays + found) > _STRAY_SIGNS:
            raise too_many(strays, "% signs that escape nothing", "form", _STRAY_SIGNS, remedy="write each as %25")
        # the decoder of quoted-printable is the fast one; it differs by its sign, and by stray signs
        pieces.append(binascii.a2b_qp(escaped.replace(b"=", b"=3D").replace(b"%", b"=")))
        start = end
    return b"".join(pieces).decode("utf-8", "replace")


def _parts(body: bytes, border: bytes, files: int) -> Iterator[tuple[str, str | Upload]]:
    """The fields and files of a form in parts."""
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
    """The name of a part, and that of its file if it is one. Raises Problem."""
    lines = (line.partition(b":") for line in head.split(b"\r\n") if len(line) <= _LONGEST_LINE)
    found = next((value for name, _, value in lines if name.strip().lower() == b"content-disposition"), b"")
    options = parse_options_header(found.strip())[1]
    if b"name" not in options:
        raise bad_request("A part of the form has no name; each needs Content-Disposition: form-data; name=...")
    file = options.get(b"filename")
    return options[b"name"].decode("utf-8", "replace"), None if file is None else file.decode("utf-8", "replace")


def text_of(form: Form, name: str) -> str:
    """A field of a form; "" for none, and for a file."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def check_size(document: Any) -> None:
    """Raise Problem for a document, or its text, with more text than one in an upload may have."""
    size, parts = 0, [document]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            size += len(part.encode("utf-8", "replace"))
        elif isinstance(part, list | dict):
            parts += part.values() if isinstance(part, dict) else part
    if size > LARGEST:
        raise Problem(413, f"The document has {size:,} bytes of text, at most {LARGEST:,} are accepted; split it")


def whole(text: str) -> Any:
    """The whole number that a form or an address has, or else the text itself, which its schema does not admit."""
    return int(text) if re.fullmatch("[+-]?[0-9]{1,18}", text) else text


def label_rules(given: ImmutableMultiDict[Any, Any]) -> dict[str, Any]:
    """Which labels a form or an address asks for, and how narrow or broad, by the fields of `SuggestOptions`."""
    rules: dict[str, Any] = {name: given[name] for name in HIERARCHY if name in given}
    if "per_branch" in rules:
        rules["per_branch"] = whole(rules["per_branch"])
    return {**rules, **{name: given.getlist(name) for name in CONDITIONS}}
