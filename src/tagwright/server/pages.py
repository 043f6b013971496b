"""Fill the templates of pages. Templates escape all texts."""

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tagwright.server.sessions import Session

_environment = Environment(
    loader=PackageLoader("tagwright.server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def render(template: str, **content: Any) -> str:
    """The page, or a part of one. content: by the names that the template uses."""
    return _environment.get_template(template).render(content)


def show(
    request: Request, template: str, session: Session | None = None, status: int = 200,
    headers: Mapping[str, str] | None = None, **content: Any,
) -> HTMLResponse:  # fmt: skip
    """Answer with a page, which the browser does not keep. session: whose name stands at the top."""
    shown = {"session": session, "progress": None, "reviews": request.app.state.reviews, **content}
    return HTMLResponse(render(template, **shown), status, {"Cache-Control": "no-store", **(headers or {})})
