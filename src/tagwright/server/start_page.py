"""The page at /, which shows what the server offers."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tagwright import __version__
from tagwright.server.access import Access
from tagwright.server.page_templates import render
from tagwright.server.served_model import ServedModel


def routes(models: Iterable[ServedModel], access: Access, *, reviews: bool) -> list[Route]:
    """The page, and the address at which Annif has its own. reviews: whether there is a review page."""

    async def page(_: Request) -> Response:
        shown = list(models) if access.is_open else []  # a browser has no token to show
        content = render(
            "start.html", session=None, models=shown, needs_token=not access.is_open, reviews=reviews,
            version=__version__,
        )  # fmt: skip
        return HTMLResponse(content)

    async def elsewhere(_: Request) -> Response:
        return RedirectResponse("/", 307)

    return [
        Route("/", page, methods=["GET"]),
        *(Route(f"/v1/ui{end}", elsewhere, methods=["GET"]) for end in ("", "/")),
    ]
