"""The body of a request in, what it holds out, or the problem with it."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from tagwright.server.problems import Problem, bad_request


def media_type(request: Request) -> str:
    """The kind of body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def unsupported(request: Request, expected: str) -> Problem:
    """The body is of another kind than expected."""
    return Problem(415, f"Invalid Content-type ({media_type(request)[:80]}), expected ['{expected}']")


async def json_body(request: Request) -> Any:
    """The value in a JSON body; one that does not say of which kind it is, is taken for JSON, as Annif does.

    Raises Problem for anything else, for an empty body, for NaN and for what is nested too deep.
    """
    body = await request.body()
    if not body:
        raise bad_request("RequestBody is required")
    if media_type(request) not in ("application/json", ""):
        raise unsupported(request, "application/json")
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise bad_request("JSON is nested too deep") from None
    except ValueError as error:
        raise bad_request(str(error)) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
