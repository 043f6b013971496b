"""Give each request an id, and log and count how it was answered, with nothing of its text."""

import logging
import re
import time
from collections.abc import Sequence
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
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
"Headers of every answer that does not set them itself. Pages run no script in a text, and none of another address."

VERSION_HEADER = "X-Model-Version"
"Names the version of the model that answered."

ID_HEADER = "X-Request-ID"
"The id of a request: the client's own, or a new one."

_log = logging.getLogger(__name__)


class RecordRequests:
    """Middleware around all others: begins the `CurrentRequest`, adds headers, logs and counts the answer.

    The log line has the route pattern and no query: address and query may hold words of a document. Starlette's
    middleware for errors does not serve: the web server then logs their messages, which may quote a text, too.
    user_header: the header in which a proxy of the networks `proxies` names the user that it has authenticated.
    """

    def __init__(
        self, app: ASGIApp, counters: Counters, audit: Audit | None, user_header: str, proxies: Sequence[Network]
    ) -> None:
        self.app, self.counters, self.audit, self.user_header, self.proxies = app, counters, audit, user_header, proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with a problem (500) after any error, then log and count the answer."""
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
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, ID_HEADER: request.id}.items():
                    headers.setdefault(name, value)
                if request.version:
                    headers.setdefault(VERSION_HEADER, request.version)
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
    """The id that the client gave to its request, if it is short and printable, or else a new one."""
    own = Headers(scope=scope).get(ID_HEADER, "")
    return own if re.fullmatch("[!-~]{1,64}", own) else uuid4().hex
