"""Give each request an id, and log and count how it was answered, with nothing of its text."""

import logging
import re
import time
from collections.abc import Sequence
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagwright.server.access import Network, user_of
from tagwright.server.audit import Audit
from tagwright.server.counters import Counters
from tagwright.server.current_request import CurrentRequest, begin
from tagwright.server.problems import Problem, answer_to

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none at all, browsers do not say that a form comes from here
}
"Sent with every answer that has no others: no page runs a script from a text, nor one of another address."

VERSION_HEADER = "X-Model-Version"
"Says which version of a model has answered."

ID_HEADER = "X-Request-ID"
"The id of a request: the client's own, or a new one."

_log = logging.getLogger(__name__)


class RecordRequests:
    """Middleware that knows what `current_request` says of a request, from its beginning to its log line.

    The line has the pattern of the address and no query, since both may hold words of a document. Any error is answered
    here and logged: the web server would log its message, which may quote a text. user_header: in which these proxies
    name the user that they have authenticated.
    """

    def __init__(
        self, app: ASGIApp, counters: Counters, audit: Audit | None, user_header: str, proxies: Sequence[Network]
    ) -> None:
        self.app, self.counters, self.audit, self.user_header, self.proxies = app, counters, audit, user_header, proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, then log and count the answer, failed ones included."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        user = user_of(scope, self.user_header, self.proxies)
        request = CurrentRequest(_id(scope), scope["path"], user=user, audit=self.audit)
        begin(request)
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_missing(request, message)]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            _log.error("the request could not be answered", exc_info=error)
            if not status:
                failure = answer_to(Problem(500, "Internal error; see the log of the server"))
                await failure(scope, receive, sending)
        finally:
            self._record(scope, request, status or 500, time.perf_counter() - begun)

    def _record(self, scope: Scope, request: CurrentRequest, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "other"
        path = str(getattr(scope.get("route"), "path", "other"))
        self.counters.count(method, path, status, seconds)
        self.counters.documents += request.documents
        self.counters.suggestions += request.suggestions
        shown = ("user", "token", "model", "version", "documents", "suggestions")
        fields = {"method": method, "path": path, "status": status, "ms": round(1000 * seconds, 1)}
        _log.info("answered", extra={"fields": {**fields, **{name: getattr(request, name) for name in shown}}})


def _id(scope: Scope) -> str:
    """The id that a client gives its request if it is short and printable, or else a new one."""
    own = Headers(scope=scope).get(ID_HEADER, "")
    return own if re.fullmatch("[!-~]{1,64}", own) else uuid4().hex


def _missing(request: CurrentRequest, message: Message) -> list[tuple[bytes, bytes]]:
    """The headers that every answer has and this one lacks."""
    wanted = {**HEADERS, ID_HEADER: request.id, **({VERSION_HEADER: request.version} if request.version else {})}
    own = {name.lower() for name, _ in message.get("headers", ())}
    lacking = ((name.lower().encode(), value.encode()) for name, value in wanted.items())
    return [each for each in lacking if each[0] not in own]
