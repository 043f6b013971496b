"""Answer requests that fail with `application/problem+json` (RFC 9457)."""

import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tagwright.review.file import StorageError
from tagwright.server.current_request import get_current_request
from tagwright.server.languages import Text

_log = logging.getLogger(__name__)

K = TypeVar("K")
T = TypeVar("T")


class Problem(HTTPException):
    """A request that cannot be answered.

    detail: a sentence for people, which pages translate if it is a `Text`. title: that of the status by default.
    """

    def __init__(self, status: int, detail: str, title: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, headers)
        self.title = title or HTTPStatus(status).phrase

    def __str__(self) -> str:
        return self.detail


def busy() -> Problem:
    """Return the problem of too many requests that wait already (503); the client may try again in a second."""
    text = Text("Too many requests are waiting; try again in %(seconds)s s", seconds=1)
    return Problem(503, text, headers={"Retry-After": "1"})


def bad_request(detail: str) -> Problem:
    """Return the problem of a request with invalid content."""
    return Problem(400, detail)


def read_each(items: Iterable[tuple[K, Any]], read: Callable[[K, Any], T]) -> dict[K, T | Problem]:
    """Read the items of a batch, by their keys: an invalid one costs the others nothing, and leaves its problem.

    Raises Problem if all are invalid: that of the first.
    """
    results = dict[K, T | Problem]()
    for key, item in items:
        try:
            results[key] = read(key, item)
        except Problem as problem:
            results[key] = problem
    problems = [result for result in results.values() if isinstance(result, Problem)]
    if problems and len(problems) == len(results):
        raise problems[0]
    return results


def not_stored(error: StorageError) -> Problem:
    """Return the problem of a failed write. Log the name of the file, which the answer does not give."""
    _log.error("%s", error)
    if error.displaced:
        form = "The file of decisions was replaced or removed, so nothing is stored until the server is started again"
        return Problem(503, Text(form), "Not stored")
    return Problem(
        507,
        Text("The server cannot write to its disk (%(cause)s); what it confirmed before is kept", cause=error.cause),
        "Not stored",
    )


def answer_to(problem: Problem) -> Response:
    """Answer a request with its problem."""
    content = {"type": "about:blank", "title": problem.title, "detail": problem.detail, "status": problem.status_code}
    if not get_current_request().path.startswith("/v1"):  # Annif's problems have no other fields
        content["request_id"] = get_current_request().id
    return JSONResponse(content, problem.status_code, problem.headers, media_type="application/problem+json")


async def answer_problem(_: Request, error: Exception) -> Response:
    """Answer with a `Problem`, in the words of Annif where the address is unknown.

    Where the disk cannot store the content of a request, it is that of `not_stored`.
    """
    if isinstance(error, StorageError):
        return answer_to(not_stored(error))
    if isinstance(error, Problem):
        return answer_to(error)
    assert isinstance(error, HTTPException)
    detail = error.detail
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail = (
            "The requested URL was not found on the server. If you entered the URL manually please check your spelling "
            "and try again."
        )
    return answer_to(Problem(error.status_code, detail, headers=error.headers))


async def answer_nobody(_: Request, __: Exception) -> Response:
    """Answer a client that left before its request was complete: Starlette needs a response, which nobody receives."""
    return Response(status_code=400)
