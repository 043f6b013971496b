"""Log messages as text or JSON lines, and with JSON a line for each answered request.

Neither a message of an exception nor anything of a request's text or address is written, since these may quote a
document. Of an exception, its type and the lines of code are.
"""

import asyncio
import json
import logging
import re
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagwright.core.display import escape_controls
from tagwright.server.current_request import CurrentRequest, begin, get_current_request
from tagwright.server.metrics import Metrics
from tagwright.server.options import LogFormat
from tagwright.server.problems import Problem, answer_to

_log = logging.getLogger(__name__)
_answered = logging.getLogger(f"{__name__}.answered")

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none at all, browsers do not say that a form comes from here
}
"Headers of every answer that does not set them itself. Pages run no script in a text, and none of another address."

VERSION_HEADER = "X-Model-Version"
"Names the version of the model that answered."

ID_HEADER = "X-Request-ID"
"The id of a request: the client's own, or a new one."


@contextmanager
def write_logs(form: LogFormat) -> Iterator[None]:
    """Write notes and all messages from warnings on to stderr; as JSON, also a line for each answered request."""
    handler, root, notes = logging.StreamHandler(), logging.getLogger(), logging.getLogger("tagwright")
    handler.setFormatter(_Formatter(form))
    level = _answered.level
    _answered.setLevel(logging.INFO if form == "json" else logging.WARNING)
    notes.setLevel(logging.INFO)
    logging.captureWarnings(True)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        notes.setLevel(logging.NOTSET)
        logging.captureWarnings(False)
        _answered.setLevel(level)


def log_failures(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log a failure that no request waits for; asyncio itself would write the message of its exception.

    No failure is invalid data of a client behind a request that is being answered: its connection is closed.
    """
    if not isinstance(context.get("exception"), h11.ProtocolError):
        _log.error("%s", context["message"], exc_info=context.get("exception"))


class _Formatter(logging.Formatter):
    """Write a message with the id of its request, as a line of text or of JSON."""

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        message, request = record.getMessage(), get_current_request().id
        failure = _traceback(record.exc_info[1]) if record.exc_info else ""
        if self._form == "text":
            return (
                escape_controls(message)
                + (f"\n{failure}" if failure else "")
                + (f" [request {request}]" if request else "")
            )
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "request": request,
            "message": message,
            **getattr(record, "fields", {}),
        }
        return json.dumps({**entry, **({"exception": failure} if failure else {})})


def _traceback(error: BaseException | None) -> str:
    """Return the lines of code and the types of an exception and of its causes, first ones first, without messages."""
    parts, seen = list[str](), set[int]()
    while error is not None and id(error) not in seen:  # causes may form a cycle
        seen.add(id(error))
        lines = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"Traceback (most recent call last):\n{lines}{type(error).__module__}.{type(error).__qualname__}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(reversed(parts))


def record_requests(app: ASGIApp, metrics: Metrics) -> ASGIApp:
    """Middleware around all others: begins the `CurrentRequest`, adds headers, logs and counts the answer.

    After any error it answers with a problem (500). The log line has the route pattern and no query: address and query
    may hold words of a document. Starlette's middleware for errors does not serve: the web server then logs their
    messages, which may quote a text, too.
    """

    async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        request = CurrentRequest(_id(scope), scope["path"], scope.get("root_path", ""))
        begin(request)
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _complete(MutableHeaders(scope=message), request)
            await send(message)

        try:
            with request.held:
                await asyncio.sleep(0)  # let the loop first close a connection that sent invalid data behind the head
                await app(scope, receive, sending)
        except Exception as error:
            _log.error("the request could not be answered", exc_info=error)
            if not status:
                failure = answer_to(Problem(500, "Internal error; see the log of the server"))
                await failure(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - begun
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "other"
            path = str(getattr(scope.get("route"), "path", "other"))
            metrics.count(method, path, status or 500, seconds, request)
            fields = {"method": method, "path": path, "status": status or 500, "ms": round(1000 * seconds, 1)}
            shown = ("user", "token", "model", "version", "documents", "suggestions")
            fields |= {name: getattr(request, name) for name in shown}
            _answered.info("answered", extra={"fields": fields})

    return recorded


def _complete(headers: MutableHeaders, request: CurrentRequest) -> None:
    """Add the headers that every answer has, and let redirects lead below where the application is mounted."""
    for name, value in {**HEADERS, ID_HEADER: request.id}.items():
        headers.setdefault(name, value)
    if request.version:
        headers.setdefault(VERSION_HEADER, request.version)
    if headers.get("location", "").startswith("/"):
        headers["location"] = request.root + headers["location"]


def _id(scope: Scope) -> str:
    """The id that the client gave to its request, if it is short and printable, or else a new one."""
    own = Headers(scope=scope).get(ID_HEADER, "")
    return own if re.fullmatch("[!-~]{1,64}", own) else uuid4().hex
