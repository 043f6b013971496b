"""Read and check the body of a request."""

import json
import re
from typing import Any

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, ImmutableMultiDict
from starlette.requests import Request

from tagwright.readers.lines import SURROGATE_ESCAPE, whole_characters
from tagwright.server.openapi import CONDITIONS, HIERARCHY
from tagwright.server.problems import Problem, bad_request
from tagwright.server.uploads import LARGEST

CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1"})
"Character sets of forms. Starlette would take any codec of Python: some fail, others make halves of characters."

_FILES = 50


def media_type(request: Request) -> str:
    """The kind of body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def unsupported(request: Request, expected: str) -> Problem:
    """The body is of another kind than expected."""
    return Problem(415, f"Invalid Content-type ({media_type(request)[:80]}), expected ['{expected}']")


def check_charset(request: Request) -> None:
    """Raise Problem for a form in another character set than `CHARSETS`."""
    _, options = parse_options_header(request.headers.get("content-type", ""))
    charset = options.get(b"charset", b"").decode("latin-1").lower()
    if charset not in CHARSETS:
        raise Problem(415, f"The form is in {charset[:80]!a}, expected utf-8")


async def page_form(request: Request) -> FormData:
    """The form that a page sends, read whole."""
    check_charset(request)
    return await request.form(max_files=_FILES, max_fields=20, max_part_size=1 << 20)


def text_of(form: FormData, name: str) -> str:
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


async def json_body(request: Request) -> Any:
    """Read a JSON body; a body without a content type is taken for JSON, as in Annif.

    Half a character (a surrogate, as programs leave them that cut a text) can neither be stored nor sent: in every text
    it becomes U+FFFD. Raises Problem for anything else, for an empty body, for NaN and for what is nested too deep.
    """
    body = await request.body()
    if not body:
        raise bad_request("RequestBody is required")
    if media_type(request) not in ("application/json", ""):
        raise unsupported(request, "application/json")
    try:
        text = body.decode(json.detect_encoding(body))
    except ValueError as error:
        raise bad_request(str(error)) from None
    return parse_json(text)


def parse_json(text: str) -> Any:
    """The value of a text in JSON, as `json_body` reads it. Raises Problem."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
        if SURROGATE_ESCAPE.search(text):
            content = json.loads(whole_characters(json.dumps(content, ensure_ascii=False)))
        return content
    except RecursionError:
        raise bad_request("JSON is nested too deep") from None
    except ValueError as error:
        raise bad_request(str(error)) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
