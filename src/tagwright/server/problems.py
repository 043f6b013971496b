"""Answer requests that fail with `application/problem+json` (RFC 9457)."""

import logging
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tagwright.review.file import StorageError
from tagwright.server.current_request import current

_log = logging.getLogger(__name__)

_NOT_FOUND = (
    "The requested URL was not found on the server. If you entered the URL manually please check your spelling and "
    "try again."
)


class Problem(Exception):  # noqa: N818  # the name of the thing in the standard
    """A request that cannot be answered. detail: a sentence for people; title: that of the status by default."""

    def __init__(self, status: int, detail: str, title: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.title, self.headers = status, detail, title, headers


class Busy(Problem):
    """Too many requests wait already."""

    def __init__(self) -> None:
        super().__init__(503, "Too many requests are waiting; try again in 1 s", headers={"Retry-After": "1"})


def bad_request(detail: str) -> Problem:
    """Return the problem of a request with invalid content."""
    return Problem(400, detail)


def not_stored(error: StorageError) -> Problem:
    """Return the problem of a failed write. Log the name of the file, which the answer does not give."""
    _log.error("%s", error)
    detail = f"The server cannot write to its disk ({error.cause}); what it confirmed before is kept"
    return Problem(507, detail, "Not stored")


def answer_to(problem: Problem) -> Response:
    """Answer a request with its problem."""
    status = problem.status
    title = problem.title or HTTPStatus(status).phrase
    content = {"type": "about:blank", "title": title, "detail": problem.detail, "status": status}
    if not current().path.startswith("/v1"):  # Annif's problems have no other fields
        content["request_id"] = current().id
    return JSONResponse(content, status, problem.headers, media_type="application/problem+json")


async def answer_problem(_: Request, error: Exception) -> Response:
    """Answer with a `Problem`."""
    assert isinstance(error, Problem)
    return answer_to(error)


async def answer_storage_error(_: Request, error: Exception) -> Response:
    """Answer if the disk cannot store the content of a request."""
    assert isinstance(error, StorageError)
    return answer_to(not_stored(error))


async def answer_http_error(_: Request, error: Exception) -> Response:
    """Answer if the router refuses a request: an unknown address, a method that is not allowed."""
    assert isinstance(error, HTTPException)
    detail = _NOT_FOUND if error.status_code == HTTPStatus.NOT_FOUND else error.detail
    return answer_to(Problem(error.status_code, detail, headers=dict(error.headers or {})))


async def answer_nobody(_: Request, __: Exception) -> Response:
    """Answer a client that disconnected before its request was complete; nothing is sent or logged."""
    return Response(status_code=400)


def failure() -> Response:
    """The answer after an unexpected error; details are in the server's log, never in the answer."""
    return answer_to(Problem(500, "Internal error; see the log of the server"))
