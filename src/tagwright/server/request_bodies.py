"""Read the body of a request: what it holds is counted in its bytes, then it is parsed and checked in a thread.

Length alone bounds no work: 20 MB can hold ten million empty fields. Counting 20 MB takes less than a tenth of a
second, and so does parsing what is admitted. Every route that reads a body reads it here.
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
from tagwright.server.openapi import CONDITIONS, HIERARCHY
from tagwright.server.problems import Problem, bad_request
from tagwright.server.uploads import LARGEST, Upload

ITEMS, DEPTH = 100_000, 64
"JSON values in a body, and how deep they may be nested."

FIELDS, PARTS, FILES = 25_000, 100, 50
"Fields of a form, enough for 10,000 conditions of both kinds; parts of one in parts, and files among them."

ADDRESS_FIELDS, HEADERS, HEADER_BYTES = 1000, 100, 32_768
"Fields of an address; headers of a request, and bytes of them all."

LARGE = 262_144
"""Bytes from which on a body waits for its turn to be parsed: one at a time, clients in turn, and for a quarter of the
time only. So a client that sends such bodies without end leaves most of the processor to others."""

CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1"})
"Character sets of forms. Python has others that fail, or make halves of characters."

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"

Form: TypeAlias = ImmutableMultiDict[str, str | Upload]
"The fields and files of a form; `get` gives the last of several values."

T = TypeVar("T")

_LONGEST_LINE, _STRAY_SIGNS = 1024, 100_000
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
        raise _too_many(fields, "fields", "address", ADDRESS_FIELDS, 414)
    if len(headers) > HEADERS:
        raise _too_many(len(headers), "headers", "request", HEADERS, 431)
    if (size := sum(len(name) + len(value) for name, value in headers)) > HEADER_BYTES:
        raise _too_many(size, "bytes of headers", "request", HEADER_BYTES, 431)


def _too_many(
    count: int, what: str, of: str, most: int, status: int = 413, remedy: str = "send less at a time"
) -> Problem:
    return Problem(status, f"The {of} has {count:,} {what}, at most {most:,} are accepted; {remedy}")


async def read_json(request: Request, checked: Callable[[Any], T]) -> T:
    """What `checked` makes of a JSON body, in a thread; a body without a content type is taken for JSON, as in Annif.

    Raises Problem for anything else, for an empty body, and what `parse_json` and `checked` raise.
    """
    body = await _whole(request)
    if not body:
        raise bad_request("RequestBody is required")
    if media_type(request) not in ("application/json", ""):
        raise unsupported(request, "application/json")
    return await _in_turn(request, body, lambda: checked(parse_json(body)))


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
    body = await _whole(request, most)
    if not body:
        return checked(ImmutableMultiDict([]))
    if kind not in kinds:
        raise unsupported(request, kinds[0])
    if charset not in CHARSETS:
        raise Problem(415, f"The form is in {charset[:80]!a}, expected utf-8")
    boundary = options.get(b"boundary", b"")

    def read() -> T:
        fields = _parts(body, boundary, files) if kind == MULTIPART else _fields(body)
        return checked(ImmutableMultiDict(list(fields)))

    return await _in_turn(request, body, read)


async def _whole(request: Request, most: int | None = None) -> bytearray:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if most is not None and len(body) > most:
            raise Problem(413, f"The body has more than {most} bytes")
    return body


async def _in_turn(request: Request, body: bytearray, read: Callable[[], T]) -> T:
    if len(body) < LARGE:
        return await asyncio.to_thread(read)
    async with request.app.state.large_bodies.taken():
        return await asyncio.to_thread(read)


def parse_json(body: bytes | bytearray) -> Any:
    """The value of a text in JSON.

    Half a character (a surrogate, as programs leave them that cut a text) can neither be stored nor sent: in every text
    it becomes U+FFFD. Raises Problem for what is no JSON, for NaN, and for more than `ITEMS` values or `DEPTH` levels.
    """
    try:
        encoding = json.detect_encoding(body)
        text = body.decode(encoding)
        _check_json(body if encoding.startswith("utf-8") else text.encode("utf-8", "surrogatepass"))
        content = json.loads(text, parse_constant=_refuse_constant)
        if SURROGATE_ESCAPE.search(text):
            content = json.loads(whole_characters(json.dumps(content, ensure_ascii=False)))
        return content
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise bad_request(str(error)) from None


def _check_json(body: bytes | bytearray) -> None:
    """Count brackets and commas outside of texts. Escapes go first, so that each quote begins or ends a text."""
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")
    texts = plain.count(b'"') // 2  # at least half of them are values, and not the names of some
    outside = b"" if texts > 2 * ITEMS else b"".join(plain.split(b'"')[::2])
    filled = sum(outside.count(sign) for sign in (b"[", b"{")) - sum(outside.count(sign) for sign in (b"[]", b"{}"))
    values = max(texts // 2, outside.count(b",") + filled)  # a list of three has two commas
    if values > ITEMS:
        raise _too_many(values, "JSON values or more", "body", ITEMS)
    brackets = bytes(outside).translate(_AS_SQUARE, _NO_BRACKETS)
    for _ in range(DEPTH):
        brackets = brackets.replace(b"[]", b"")  # the innermost ones
    if b"[]" in brackets or brackets.count(b"[") > DEPTH:
        raise _too_deep()


_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes({*range(256)} - {*b"[]{}"})


def _too_deep() -> Problem:
    return bad_request(f"The JSON is nested too deep, at most {DEPTH} levels are accepted")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _fields(body: bytes | bytearray) -> Iterator[tuple[str, str]]:
    """The fields of a form. Text that is not escaped is read as it stands."""
    if (count := body.count(b"&") + 1) > FIELDS:
        raise _too_many(count, "fields", "form", FIELDS)
    for field in body.split(b"&"):
        if field:
            name, _, value = field.partition(b"=")
            yield _unescaped(name), _unescaped(value)


def _unescaped(text: bytes | bytearray) -> str:
    r"""The text of a field. The decoder of quoted-printable is fast, and differs by its sign and by stray signs alone.

    >>> _unescaped(b"B%c3%a4ume+%26 100%=%3D")
    'B\xe4ume & 100%=='
    """
    escaped, strays = _STRAY_SIGN.subn(rb"%25", text.replace(b"+", b" "), count=_STRAY_SIGNS + 1)
    if strays > _STRAY_SIGNS:
        raise _too_many(strays, "% signs that escape nothing", "form", _STRAY_SIGNS, remedy="write each as %25")
    return binascii.a2b_qp(escaped.replace(b"=", b"=3D").replace(b"%", b"=")).decode("utf-8", "replace")


def _parts(body: bytes | bytearray, boundary: bytes, files: int) -> Iterator[tuple[str, str | Upload]]:
    """The fields and files of a form in parts."""
    border = b"\r\n--" + boundary
    _, *parts = (b"\r\n" + body).split(border, PARTS + 2)  # what stands before the first belongs to no part
    if len(parts) > PARTS + 1:
        raise _too_many(body.count(border), "parts", "form", PARTS)
    if not boundary or not parts or not parts.pop().startswith(b"--"):
        raise bad_request("The form does not end with the boundary that its Content-Type names; send it whole")
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        name, file = _names(bytes(head))
        if file is None:
            yield name, content.decode("utf-8", "replace")
        elif (files := files - 1) < 0:
            raise bad_request("The form has more files than are accepted here; send one request for each")
        else:
            yield name, Upload(file, bytes(content))


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
