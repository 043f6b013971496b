"""The web application (ASGI): routes, limits, access, and answers to errors."""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from tagwright.monitoring import Watch
from tagwright.review.file import StorageError
from tagwright.server import deadlines, languages, openapi
from tagwright.server.access import OPEN, Access, address_of, network
from tagwright.server.annif import AnnifApi, Learn
from tagwright.server.audit import Audit
from tagwright.server.counters import Counters
from tagwright.server.current_request import current
from tagwright.server.follower import Follower
from tagwright.server.json_api import JsonApi
from tagwright.server.logs import log_failures
from tagwright.server.monitoring import metric_lines
from tagwright.server.problems import (
    Problem,
    answer_http_error,
    answer_nobody,
    answer_problem,
    answer_storage_error,
    answer_to,
)
from tagwright.server.proxies import Proxies
from tagwright.server.readiness import Readiness
from tagwright.server.reconciliation import Reconciliation
from tagwright.server.request_bodies import check_head
from tagwright.server.request_log import ID_HEADER, VERSION_HEADER, RecordRequests
from tagwright.server.review.page import ReviewPages
from tagwright.server.served_model import ServedModel
from tagwright.server.sessions import Sessions
from tagwright.server.shares import FREE, FairSlots, Memory
from tagwright.server.start_pages import StartPages
from tagwright.server.uploads import UploadReader

MAX_BODY = 20 * 1024 * 1024
"Bytes of a request."

_WAITING = "tagwright_requests_waiting", "Requests that wait for a model."

_ENTRIES = "tagwright_audit_entries_total", "Documents whose answer is in the audit log."
_LIMITED_REQUESTS = "tagwright_requests_limited_total", "Requests above the limit of requests of a token."
_LIMITED_DOCUMENTS = "tagwright_documents_limited_total", "Requests above the limit of documents of a token."

_OPEN = frozenset({"/", "/api", "/enter", "/health", "/ready", "/review", "/v1/ui", "/v1/ui/"})
_OPEN_BELOW = ("/review/", "/static/")
"Addresses that need no token in the header: pages ask for it themselves, and the others tell nothing."


def application(
    models: Sequence[ServedModel],
    *,
    access: Access = OPEN,
    max_body: int = MAX_BODY,
    learn: Learn | None = None,
    pages: ReviewPages | None = None,
    hosts: frozenset[str] | None = None,
    follower: Follower | None = None,
    audit: Audit | None = None,
    proxies: Proxies = Proxies(),  # noqa: B008
    watch: Watch | None = None,
) -> Starlette:
    """The application. access: the tokens that clients send as `Authorization: Bearer TOKEN`, and what they may do.

    max_body: bytes of a request, beyond which it is refused (413). learn: what stores decisions of clients. pages: the
    review. hosts: the only names under which it answers, None for all: a server that is meant for this machine alone
    must not answer under the name of another site, which could then read what it says. follower: what loads the
    versions that are promoted. audit: where answers are recorded. proxies: those that are believed.
    watch: the monitors of the models.
    """
    by_id, readiness = {model.id: model for model in models}, Readiness(models)
    uploads = pages.read if pages else UploadReader()
    counters = _counters(models, access, audit)
    if watch:
        counters.others = partial(metric_lines, watch, models, pages.review if pages else None)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(log_failures)
        for model in models:
            await model.queue.start()
        tasks = [asyncio.create_task(readiness.load()), asyncio.create_task(access.follow())]
        tasks += [asyncio.create_task(follower.run())] if follower else []
        yield
        readiness.stopping = True
        for task in tasks:
            task.cancel()
        if pages and pages.refitter:
            await pages.refitter.finish()
        for model in models:
            await model.queue.stop()
            if model.workers:
                await asyncio.to_thread(model.workers.close)

    annif, api = AnnifApi(by_id, learn).operations(), JsonApi(by_id, counters, readiness, uploads)
    operations = [
        *api.operations(), *annif, *Reconciliation(by_id, needs_token=not access.is_open).operations(),
    ]  # fmt: skip
    sessions = pages.sessions if pages else Sessions(access, secrets.token_bytes(32))
    routes: list[BaseRoute] = [
        *StartPages(api, operations, sessions).routes(),
        *openapi.routes(operations),
        Route("/v1", RedirectResponse("/v1/", 307), methods=["GET"]),
        *_joined_without_slash(annif),
        Mount("/static", StaticFiles(packages=[("tagwright.server", "static")])),
    ]
    app = Starlette(
        routes=[*routes, *(pages.routes() if pages else ())],
        exception_handlers={
            Problem: answer_problem,
            StorageError: answer_storage_error,
            HTTPException: answer_http_error,
            ClientDisconnect: answer_nobody,
        },
        middleware=[
            Middleware(RecordRequests, counters=counters, audit=audit, proxies=proxies),
            *([Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies.forwarders)] if proxies.forwarders else ()),
            Middleware(
                CORSMiddleware,
                allow_origins=["*"],
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=[VERSION_HEADER, ID_HEADER],
            ),
            Middleware(_Guard, access=access, max_body=max_body, hosts=hosts, memory=Memory()),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would lead to the host that the client names
    app.state.reviews, app.state.readiness = pages is not None, readiness
    app.state.large_bodies = FairSlots(count=1, each=1, rest=3)
    return app


def _counters(models: Sequence[ServedModel], access: Access, audit: Audit | None) -> Counters:
    refused = access.limits.refused
    totals: dict[tuple[str, str], Callable[[], float]] = {
        _LIMITED_REQUESTS: lambda: refused["requests"],
        _LIMITED_DOCUMENTS: lambda: refused["documents"],
    }
    if audit is not None:
        totals[_ENTRIES] = lambda: audit.count
    return Counters({_WAITING: lambda: sum(model.waiting for model in models)}, totals)


def _joined_without_slash(operations: Sequence[openapi.Operation]) -> list[Route]:
    """The operations under /v1projects and so on too: Annif's client appends names to its base, which may be "/v1"."""
    below = [each for each in operations if each.path != "/v1/"]
    return [Route(each.path.replace("/v1/", "/v1", 1), each.answer, methods=[each.method]) for each in below]


class _Guard:
    """Refuses a request without a token, one too many with it, and one whose body is too large.

    The holder of the token is `request.state.holder`. What a client sends is counted until it is answered.
    """

    def __init__(
        self, app: ASGIApp, access: Access, max_body: int, hosts: frozenset[str] | None, memory: Memory
    ) -> None:
        self.app, self.access, self.max_body, self.hosts, self.memory = app, access, max_body, hosts, memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        app, body = self.app, _Body(receive, self.max_body, self.memory)
        try:
            self._check(scope)
        except Problem as problem:
            app = answer_to(problem)
        try:
            await app(scope, body.receive, send)
        finally:
            body.release()

    def _check(self, scope: Scope) -> None:
        """Raise Problem for a request that is refused."""
        check_head(scope)
        languages.current.set(languages.choose(scope))
        headers, path, request = Headers(scope=scope), scope["path"], current()
        request.client = request.user or network(address_of(scope))
        if self.hosts is not None and re.sub(r":\d*$", "", headers.get("host", "").lower()) not in self.hosts:
            raise Problem(421, "This server answers under the names of its own machine only")
        is_open = path in _OPEN or path.startswith(_OPEN_BELOW)
        holder = self.access.holder("" if is_open else _bearer(headers), address_of(scope))
        if not is_open:
            if holder is None:
                raise Problem(401, "A token is needed", headers={"WWW-Authenticate": "Bearer"})
            self.access.admit(holder)
        scope.setdefault("state", {})["holder"] = holder
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.max_body:
            raise Problem(413, f"The body has {length} bytes, at most {self.max_body} are accepted")


class _Body:
    """Counts the bytes of a body while it comes, and limits the time in which it must come."""

    def __init__(self, receive: Receive, most: int, memory: Memory) -> None:
        self._receive, self._most, self._memory = receive, most, memory
        self._end, self._seen, self._more = time.monotonic() + deadlines.BODY_SECONDS, 0, True
        self._held: tuple[str, int] = "", 0

    async def receive(self) -> Message:
        """The next part. Raises Problem for a body that is late, or too large, and where no memory is left for it."""
        if not self._more:
            return await self._receive()  # which tells of the client's leaving, whenever that is
        try:
            message = await asyncio.wait_for(self._receive(), self._end - time.monotonic())
        except TimeoutError:
            said = f"The body did not come within {deadlines.BODY_SECONDS:.0f} s"
            raise Problem(408, said, headers={"Connection": "close"}) from None
        self._seen, self._more = self._seen + len(message.get("body", b"")), message.get("more_body", False)
        if self._seen > self._most:
            raise Problem(413, f"The body has more than {self._most} bytes")
        client, held = self._held
        if (size := self._seen - FREE - held) > 0:
            client = client or current().client
            self._memory.take(client, size)
            self._held = client, held + size
        return message

    def release(self) -> None:
        """The request has been answered."""
        self._memory.give_back(*self._held)


def _bearer(headers: Headers) -> str:
    """The token that a request carries; "" for none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""
