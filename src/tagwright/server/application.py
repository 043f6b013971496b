"""The web application (ASGI): routes, limits, access, and answers to errors."""

import asyncio
import logging
import re
import secrets
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
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
from tagwright.server import connections, languages, openapi, problems
from tagwright.server.access import OPEN, Access, network, networks_of
from tagwright.server.annif import AnnifApi, Learn
from tagwright.server.audit import Audit
from tagwright.server.counters import Counters, monitor_lines, server_lines
from tagwright.server.current_request import get_current_request
from tagwright.server.entrance import Sessions
from tagwright.server.follower import Follower
from tagwright.server.json_api import JsonApi
from tagwright.server.languages import Text
from tagwright.server.logs import ID_HEADER, VERSION_HEADER, RecordRequests, log_failures
from tagwright.server.reconciliation import Reconciliation
from tagwright.server.request_bodies import check_head
from tagwright.server.review.page import ReviewPages
from tagwright.server.served_model import ServedModel
from tagwright.server.start_pages import StartPages
from tagwright.server.turns import FREE, Memory, Turns
from tagwright.tagger.acceptance import SuggestOptions

_log = logging.getLogger(__name__)

MAX_BODY = 20 * 1024 * 1024
"Bytes that the body of a request may have."


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
    proxies: str = "",
    user_header: str = "",
    watch: Watch | None = None,
    tools: bool = False,
    word: str = "label",
    show_from: float = 0.0,
) -> Starlette:
    """Return the web application, which loads its models when it is started.

    access: the tokens that clients send as `Authorization: Bearer TOKEN`. max_body: bytes of a request; a longer one is
    refused (413). learn: stores the labelled documents that clients send. pages: of the review. hosts: the only host
    names that it answers under; None: all. A server for this machine alone has to refuse other names: a web site whose
    name leads here could read its answers. follower: loads promoted versions. audit: where answers are recorded.
    proxies: addresses of proxies, as uvicorn takes them, whose `X-Forwarded-For` is believed. user_header: in which
    these name the user. watch: the monitors of the models. tools: serve them to assistants at /mcp. word: what pages in
    English call a label. show_from: see `StartPages`. Raises ConfigError for proxies.
    """
    by_id, readiness = {model.id: model for model in models}, Readiness(models)
    counters = Counters([partial(server_lines, models, access.limits, audit)])
    if watch:
        counters.others.append(partial(monitor_lines, watch, models, pages.review if pages else None))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(log_failures)
        app.state.turns = Turns()  # the loop shuts it down at its end
        asyncio.get_running_loop().set_default_executor(app.state.turns)
        for model in models:
            await model.start()
        tasks = [asyncio.create_task(readiness.load()), asyncio.create_task(access.follow())]
        tasks += [asyncio.create_task(follower.run())] if follower else []
        yield
        readiness.stopping = True
        for task in tasks:
            task.cancel()
        if pages and pages.refitter:
            await pages.refitter.finish()
        for model in models:
            await model.stop()

    annif, api = AnnifApi(by_id, learn).operations(), JsonApi(by_id, counters, readiness.check)
    reconciliation = Reconciliation(by_id, needs_token=not access.is_open).operations()
    operations = [*api.operations(), *annif, *reconciliation]
    sessions = pages.sessions if pages else Sessions(access, secrets.token_bytes(32))
    routes: list[BaseRoute] = [
        *StartPages(api, operations, sessions, show_from).routes(),
        *openapi.routes(operations),
        Route("/v1", RedirectResponse("/v1/", 307), methods=["GET"]),
        *_joined_without_slash(annif),
        Mount("/static", StaticFiles(packages=[("tagwright.server", "static")])),
    ]
    if tools:
        from tagwright.server.mcp import tool_route

        routes.append(tool_route(api))
    app = Starlette(
        routes=[*routes, *(pages.routes() if pages else ())],
        exception_handlers={
            problems.Problem: problems.answer_problem,
            StorageError: problems.answer_problem,
            HTTPException: problems.answer_http_error,
            ClientDisconnect: problems.answer_nobody,
        },
        middleware=[
            Middleware(RecordRequests, counters, audit, user_header, networks_of(proxies, user_header)),
            # behind the log, which believes a user header only while the client is that of the connection
            *([Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies)] if proxies else ()),
            Middleware(
                CORSMiddleware,
                allow_origins=["*"],
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=[VERSION_HEADER, ID_HEADER],
            ),
            Middleware(_Gate, access=access, max_body=max_body, hosts=hosts),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would lead to the host that the client names
    app.state.word = word
    app.state.has_review, app.state.readiness, app.state.models = pages is not None, readiness, models
    app.state.turns, app.state.readers = Turns(), ThreadPoolExecutor(2)  # which wait for processes that read files
    return app


def _joined_without_slash(operations: Sequence[openapi.Operation]) -> list[Route]:
    """Annif's operations at /v1projects and so on too: its client appends names to its base, which may be "/v1"."""
    return [
        Route(operation.path.replace("/v1/", "/v1", 1), operation.answer, methods=[operation.method])
        for operation in operations
        if operation.path != "/v1/"
    ]


@dataclass
class Readiness:
    """Whether requests should be sent to the server: since its models were loaded, until it is told to stop.

    stopping: whether it was told to.
    """

    models: Sequence[ServedModel]
    stopping: bool = False
    _answering: int = field(default=0, init=False)

    def check(self) -> None:
        """Raise Problem (503) unless the server is ready."""
        if self.stopping:
            raise problems.Problem(503, "The server is stopping")
        if self._answering < len(self.models) or not all(model.search.is_made for model in self.models):
            raise problems.ask_later(503, "The models are being loaded")

    async def load(self) -> None:
        """Let each model answer once, which loads what it needs, and index its labels.

        A failure is logged, and the server does not become ready.
        """
        for model in self.models:  # daemon threads, which a server that is told to stop does not wait for
            threading.Thread(target=_index, args=(model,), daemon=True).start()
        for model in self.models:
            try:
                await _first_answer(model)
                self._answering += 1
            except Exception:
                _log.exception("%s: does not answer; the server is not ready", model.version)


async def _first_answer(model: ServedModel) -> None:
    """Let the model suggest a label. It tries again while that takes longer than a request may wait."""
    while True:
        try:
            await model.suggest([model.tagger.vocabulary[0].name], SuggestOptions(k=1))
        except problems.Busy:
            await asyncio.sleep(1)
        else:
            return


def _index(model: ServedModel) -> None:
    try:
        model.search()
    except Exception:
        _log.exception("%s: its labels cannot be searched; the server is not ready", model.version)


class _Gate:
    """Middleware that refuses requests before they reach a route, and bounds bodies and answers while they come and go.

    Refused are an invalid head, a host name of others, a request without a valid token or above its limit, and a body
    that is too large, late, or for which no memory is left. Others wait for the turn of their client. Routes find the
    holder of the token in `request.state.holder`, and language and client in `current_request`.
    """

    def __init__(self, app: ASGIApp, access: Access, max_body: int, hosts: frozenset[str] | None) -> None:
        self.app, self.access, self.max_body, self.hosts = app, access, max_body, hosts
        self.memory = Memory()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        app, turns = self.app, scope["app"].state.turns
        async with get_current_request().held:
            try:
                self._admit(scope)
                await turns.may_begin()
            except problems.Problem as problem:
                app = problems.answer_to(problem)
            await app(scope, self._bounded(receive), turns.counted(_redirect_below(get_current_request().root, send)))

    def _admit(self, scope: Scope) -> None:
        """Fill in the current request. Raises Problem for a request that is refused by its head."""
        check_head(scope)
        headers, request = Headers(scope=scope), get_current_request()
        request.root = scope.get("root_path", "")
        path = scope["path"].removeprefix(request.root)
        request.language, request.word = languages.choose(scope), scope["app"].state.word
        request.client = request.user or network(scope["client"][0] if scope.get("client") else "")
        if self.hosts is not None and re.sub(r":\d*$", "", headers.get("host", "").lower()) not in self.hosts:
            raise problems.Problem(421, "This server answers under the names of its own machine only")
        is_public = path in ("/", "/api", "/enter", "/health", "/ready", "/review", "/v1/ui", "/v1/ui/")
        is_public = is_public or path.startswith(("/review/", "/static/"))  # pages ask for a token themselves
        holder = self.access.holder("" if is_public else _bearer(headers))
        if not is_public:
            if holder is None:
                raise problems.Problem(401, "A token is needed", headers={"WWW-Authenticate": "Bearer"})
            self.access.admit(holder)
        scope.setdefault("state", {})["holder"] = holder
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.max_body:
            raise problems.Problem(413, f"The body has {length} bytes, at most {self.max_body} are accepted")

    def _bounded(self, receive: Receive) -> Receive:
        """Limit the time in which a body comes, its size, and the memory of its client until the answer is sent."""
        end, received, counted, more, client = 0.0, 0, FREE, True, ""

        async def bounded() -> Message:
            """Return the next part. Raises Problem (408, 413, 429, 503)."""
            nonlocal end, received, counted, more, client
            if not more:
                return await receive()  # the client leaves, whenever that is
            end = end or asyncio.get_running_loop().time() + connections.BODY_SECONDS
            client = client or get_current_request().client  # the first one, even if a session has named another since
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                detail = f"The body did not come within {connections.BODY_SECONDS:.0f} s"
                raise problems.Problem(408, detail, headers={"Connection": "close"}) from None
            received, more = received + len(message.get("body", b"")), message.get("more_body", False)
            if received > self.max_body:
                raise problems.Problem(413, Text("The body has more than %(most)s bytes", most=self.max_body))
            if (size := received - counted) > 0:
                self.memory.take(client, size)
                get_current_request().held.callback(self.memory.give_back, client, size)
                counted = received
            return message

        return bounded


def _redirect_below(root: str, send: Send) -> Send:
    """Let redirects lead to addresses below the one where the application is mounted."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if (goal := headers.get("location", "")).startswith("/"):
                headers["location"] = root + goal
        await send(message)

    return sent


def _bearer(headers: Headers) -> str:
    """The token that a request has sent; "" for none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""
