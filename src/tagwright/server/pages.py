"""Fill the templates of pages, and serve the page at /. Templates escape all texts."""

from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tagwright import __version__
from tagwright.server.access import Access
from tagwright.server.served_model import ServedModel

_environment = Environment(
    loader=PackageLoader("tagwright.server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def render(template: str, **content: Any) -> str:
    """The page. content: by the names that the template uses."""
    return _environment.get_template(template).render(content)


def start_page(models: Iterable[ServedModel], access: Access, *, reviews: bool) -> list[Route]:
    """The routes of the page for browsers, also at Annif's address. reviews: whether there is a review page."""

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
