"""The web application (ASGI): routes, access, and answers to errors."""

import asyncio
import gc
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from operator import attrgetter

from fastapi import FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagwright.review.file import StorageError
from tagwright.server import annif, json_api, languages, problems, reconciliation, start_pages
from tagwright.server.access import OPEN, Access
from tagwright.server.current_request import get_current_request
from tagwright.server.follower import Follower
from tagwright.server.languages import Text
from tagwright.server.logs import ID_HEADER, VERSION_HEADER, log_failures, record_requests
from tagwright.server.metrics import Metrics
from tagwright.server.review.page import ReviewPages
from tagwright.server.schemas import invalid
from tagwright.server.served_model import ServedModel
from tagwright.version import __version__

_log = logging.getLogger(__name__)

MAX_BODY = 20 * 1024 * 1024
"Bytes that the body of a request may have."

_bearer_token = HTTPBearer(scheme_name="token", auto_error=False)  # for the description: `_gate` asks for it


def application(
    models: Sequence[ServedModel],
    *,
    access: Access = OPEN,
    max_body: int = MAX_BODY,
    learn: annif.Learn | None = None,
    pages: ReviewPages | None = None,
    hosts: frozenset[str] | None = None,
    follower: Follower | None = None,
    tools: bool = False,
    word: str = "label",
) -> FastAPI:
    """Return the web application, which loads its models when it is started.

    access: the tokens that clients send as `Authorization: Bearer TOKEN`. max_body: bytes of a request; a longer one is
    refused (413). learn: stores the labelled documents that clients send; None: they may send none. pages: of the
    review. hosts: the only host names that it answers under; None: all. A server for this machine alone has to refuse
    other names: a web site whose name leads here could read its answers. follower: loads promoted versions. tools:
    serve them to assistants at /mcp. word: what pages in English call a label.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(log_failures)
        for model in models:
            await model.start()
        tasks = [asyncio.create_task(_load(app, models))]
        tasks += [asyncio.create_task(follower.run())] if follower else []
        yield
        for task in tasks:
            task.cancel()
        if pages and pages.refitter:
            await pages.refitter.finish()
        for model in models:
            await model.stop()

    app = FastAPI(
        title="Tagwright", version=__version__, openapi_url="/api/openapi.json", docs_url=None, redoc_url=None,
        redirect_slashes=False,  # it would lead to the host that the client names
        lifespan=lifespan, generate_unique_id_function=attrgetter("name"),
        exception_handlers={
            RequestValidationError: _answer_invalid,
            StorageError: problems.answer_problem,
            HTTPException: problems.answer_problem,
            ClientDisconnect: problems.answer_nobody,
        },
    )  # fmt: skip
    state, metrics = app.state, Metrics(models)
    state.models, state.learn, state.metrics, state.ready = {each.id: each for each in models}, learn, metrics, False
    state.access, state.word, state.has_review = access, word, pages is not None
    state.readers = asyncio.Semaphore(2)  # processes that read files
    app.router.routes += [
        *start_pages.routes(pages.access if pages else access),
        Route("/v1", RedirectResponse("/v1/", 307), methods=["GET"]),
        *(pages.routes() if pages else ()),
    ]
    if tools:
        from tagwright.server.mcp import tool_route

        app.router.routes.append(tool_route())
    for router in (json_api.router, annif.router, reconciliation.router):
        app.include_router(router, dependencies=[Security(_bearer_token)])
    app.mount("/static", StaticFiles(packages=[("tagwright.server", "static")]))
    app.add_middleware(_gate, access=access, max_body=max_body, hosts=hosts)
    app.add_middleware(
        CORSMiddleware, allow_origins=["*"], allow_methods=["GET", "POST"], allow_headers=["*"],
        expose_headers=[VERSION_HEADER, ID_HEADER],
    )  # fmt: skip
    app.add_middleware(record_requests, metrics=metrics)  # the one added last is around all others
    return app


async def _answer_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problems.answer_to(invalid(error))


async def _load(app: FastAPI, models: Sequence[ServedModel]) -> None:
    """Let each model answer once, which loads what it needs, and index its labels; then the server is ready.

    A failure is logged, and the server does not become ready.
    """
    try:
        for model in models:
            await asyncio.gather(model.answer_once(), asyncio.to_thread(model.search))
        gc.freeze()  # among many labels, collecting garbage would stop all threads for a tenth of a second
        app.state.ready = True
    except Exception:
        _log.exception("%s: does not answer; the server is not ready", model.version)


def _gate(app: ASGIApp, access: Access, max_body: int, hosts: frozenset[str] | None) -> ASGIApp:
    """Middleware that refuses requests before they reach a route, and bodies that are too large.

    Refused are a host name of others, and a request without a valid token. Routes find the holder of the token in
    `request.state.holder`, and language and client in `current_request`.
    """

    async def gated(scope: Scope, receive: Receive, send: Send) -> None:
        answer = app
        if scope["type"] == "http":
            try:
                _admit(scope, access, hosts)
            except problems.Problem as problem:
                answer = problems.answer_to(problem)
            receive = _bounded(receive, max_body)
            if scope["method"] == "HEAD":
                scope = {**scope, "method": "GET"}  # the web server sends no body then
        await answer(scope, receive, send)

    return gated


def _admit(scope: Scope, access: Access, hosts: frozenset[str] | None) -> None:
    """Fill in the current request. Raises Problem for a request that is refused by its head."""
    headers, request = Headers(scope=scope), get_current_request()
    path = scope["path"].removeprefix(request.root)
    if re.match("/v1(projects|vocabs|detect-language)", path):  # Annif's client appends to "/v1"
        path = path.replace("/v1", "/v1/", 1)
        scope["path"] = request.root + path
    request.language, request.word = languages.choose(scope), scope["app"].state.word
    request.client = scope["client"][0] if scope.get("client") else ""
    if hosts is not None and re.sub(r":\d*$", "", headers.get("host", "").lower()) not in hosts:
        raise problems.Problem(421, "This server answers under the names of its own machine only")
    is_public = path in ("/", "/api", "/enter", "/health", "/ready", "/review", "/v1/ui", "/v1/ui/")
    is_public = is_public or path.startswith(("/review/", "/static/"))  # pages ask for a token themselves
    scheme, token = get_authorization_scheme_param(headers.get("authorization"))
    holder = access.holder(token if scheme.lower() == "bearer" and not is_public else "")
    if not is_public:
        if holder is None:
            raise problems.Problem(401, "A token is needed", headers={"WWW-Authenticate": "Bearer"})
        request.token, request.client = holder.name, holder.name or request.client
    scope.setdefault("state", {})["holder"] = holder


def _bounded(receive: Receive, most: int) -> Receive:
    """Limit the size of a body."""
    received = 0

    async def bounded() -> Message:
        """Return the next part. Raises Problem (413)."""
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise problems.Problem(413, Text("The body has more than %(most)s bytes", most=most))
        return message

    return bounded
