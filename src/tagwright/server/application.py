"""The web application (ASGI): routes, limits, access, and answers to errors."""

import asyncio
import logging
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
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
from tagwright.server.access import OPEN, Access, network, networks_of
from tagwright.server.annif import AnnifApi, Learn
from tagwright.server.audit import Audit
from tagwright.server.counters import Counters, monitor_lines
from tagwright.server.current_request import current
from tagwright.server.entrance import Sessions
from tagwright.server.follower import Follower
from tagwright.server.json_api import JsonApi
from tagwright.server.languages import Text
from tagwright.server.logs import log_failures
from tagwright.server.problems import Busy, Problem, answer_http_error, answer_nobody, answer_problem, answer_to, later
from tagwright.server.reconciliation import Reconciliation
from tagwright.server.request_bodies import check_head
from tagwright.server.request_log import ID_HEADER, VERSION_HEADER, RecordRequests
from tagwright.server.review.page import ReviewPages
from tagwright.server.served_model import ServedModel
from tagwright.server.shares import FREE, FairSlots, Memory
from tagwright.server.start_pages import StartPages
from tagwright.tagger.acceptance import SuggestOptions

_log = logging.getLogger(__name__)

MAX_BODY = 20 * 1024 * 1024
"Bytes of a request."


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
) -> Starlette:
    """The application. access: the tokens that clients send as `Authorization: Bearer TOKEN`, and what they may do.

    max_body: bytes of a request, beyond which it is refused (413). learn: what stores decisions of clients. pages: the
    review. hosts: the only names under which it answers, None for all: a server that is meant for this machine alone
    must not answer under the name of another site, which could then read what it says. follower: what loads the
    versions that are promoted. audit: where answers are recorded. proxies: addresses, as uvicorn takes them, of those
    that may name the client by `X-Forwarded-For`, and in `user_header` the user that they have authenticated. watch:
    the monitors of the models. Raises ConfigError for proxies.
    """
    by_id, readiness = {model.id: model for model in models}, Readiness(models)
    counters = _counters(models, access, audit)
    if watch:
        counters.others = partial(monitor_lines, watch, models, pages.review if pages else None)

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

    annif, api = AnnifApi(by_id, learn).operations(), JsonApi(by_id, counters, readiness.check)
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
            StorageError: answer_problem,
            HTTPException: answer_http_error,
            ClientDisconnect: answer_nobody,
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
            Middleware(_Guard, access=access, max_body=max_body, hosts=hosts, memory=Memory()),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would lead to the host that the client names
    app.state.reviews, app.state.readiness = pages is not None, readiness
    app.state.large_bodies = FairSlots(count=1, each=1, rest=3)
    app.state.uploads = FairSlots(count=2, each=1, share=16)
    return app


def _counters(models: Sequence[ServedModel], access: Access, audit: Audit | None) -> Counters:
    limited, counters = access.limits.refused, Counters()
    for name in ("requests", "documents"):
        what = f"Requests above the limit of {name} of a token."
        counters.add("counter", f"tagwright_{name}_limited_total", what, partial(limited.__getitem__, name))
    if audit is not None:
        entries = "Documents whose answer is in the audit log."
        counters.add("counter", "tagwright_audit_entries_total", entries, lambda: audit.count)
    waiting = "Requests that wait for a model."
    counters.add("gauge", "tagwright_requests_waiting", waiting, lambda: sum(model.waiting for model in models))
    return counters


def _joined_without_slash(operations: Sequence[openapi.Operation]) -> list[Route]:
    """The operations under /v1projects and so on too: Annif's client appends names to its base, which may be "/v1"."""
    below = [each for each in operations if each.path != "/v1/"]
    return [Route(each.path.replace("/v1/", "/v1", 1), each.answer, methods=[each.method]) for each in below]


@dataclass
class Readiness:
    """Whether requests should be sent to the server: from when its models are loaded until it is told to end.

    stopping: whether it was told so.
    """

    models: Sequence[ServedModel]
    stopping: bool = False
    _answering: int = field(default=0, init=False)

    def check(self) -> None:
        """Raise Problem (503) unless it is ready."""
        if self.stopping:
            raise Problem(503, "The server is stopping")
        if self._answering < len(self.models) or not all(model.search.is_built for model in self.models):
            raise later(503, "The models are being loaded")

    async def load(self) -> None:
        """Let each model answer once, which loads what it needs, and index its labels.

        A failure is logged, and the server does not become ready.
        """
        for model in self.models:  # daemons, since a server that is told to end does not wait for them
            threading.Thread(target=_index, args=(model,), daemon=True).start()
        for model in self.models:
            try:
                await _first_answer(model)
                self._answering += 1
            except Exception:
                _log.exception("%s: does not answer; the server is not ready", model.version)


async def _first_answer(model: ServedModel) -> None:
    """Let the model suggest a label, as often as it takes: a first answer may take longer than a request may wait."""
    while True:
        try:
            await model.suggest([model.tagger.vocabulary[0].name], SuggestOptions(k=1))
        except Busy:
            await asyncio.sleep(1)
        else:
            return


def _index(model: ServedModel) -> None:
    try:
        model.search()
    except Exception:
        _log.exception("%s: its labels cannot be searched; the server is not ready", model.version)


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
        app, held = self.app, Counter[str]()
        try:
            self._check(scope)
        except Problem as problem:
            app = answer_to(problem)
        try:
            await app(scope, self._bounded(receive, held), send)
        finally:
            for client, size in held.items():
                self.memory.give_back(client, size)

    def _check(self, scope: Scope) -> None:
        """Raise Problem for a request that is refused."""
        check_head(scope)
        headers, path, request = Headers(scope=scope), scope["path"], current()
        request.language = languages.choose(scope)
        request.client = request.user or network(scope["client"][0] if scope.get("client") else "")
        if self.hosts is not None and re.sub(r":\d*$", "", headers.get("host", "").lower()) not in self.hosts:
            raise Problem(421, "This server answers under the names of its own machine only")
        is_open = path in ("/", "/api", "/enter", "/health", "/ready", "/review", "/v1/ui", "/v1/ui/")
        is_open = is_open or path.startswith(("/review/", "/static/"))  # pages ask for a token themselves
        holder = self.access.holder("" if is_open else _bearer(headers))
        if not is_open:
            if holder is None:
                raise Problem(401, "A token is needed", headers={"WWW-Authenticate": "Bearer"})
            self.access.admit(holder)
        scope.setdefault("state", {})["holder"] = holder
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.max_body:
            raise Problem(413, f"The body has {length} bytes, at most {self.max_body} are accepted")

    def _bounded(self, receive: Receive, held: Counter[str]) -> Receive:
        """Count the bytes of a body while it comes, and limit the time in which it must come. held: by its client."""
        end, seen, more = time.monotonic() + deadlines.BODY_SECONDS, 0, True

        async def bounded() -> Message:
            """The next part. Raises Problem for a body that is late, or too large, and where no memory is left."""
            nonlocal seen, more
            if not more:
                return await receive()  # which tells of the client's leaving, whenever that is
            try:
                message = await asyncio.wait_for(receive(), end - time.monotonic())
            except TimeoutError:
                detail = f"The body did not come within {deadlines.BODY_SECONDS:.0f} s"
                raise Problem(408, detail, headers={"Connection": "close"}) from None
            seen, more = seen + len(message.get("body", b"")), message.get("more_body", False)
            if seen > self.max_body:
                raise Problem(413, Text("The body has more than %(most)s bytes", most=self.max_body))
            if (size := seen - FREE - held.total()) > 0:
                client = next(iter(held), current().client)
                self.memory.take(client, size)
                held[client] += size
            return message

        return bounded


def _bearer(headers: Headers) -> str:
    """The token that a request carries; "" for none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""
