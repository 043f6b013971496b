"""Fill the templates of pages, in the language of the request. Templates escape all texts."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tagwright.readers.documents.formats import listed_suffixes
from tagwright.server import languages
from tagwright.server.access import Session
from tagwright.server.current_request import get_current_request


@cache
def _environment(language: str, word: str) -> Environment:
    environment = Environment(
        loader=PackageLoader("tagwright.server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )  # fmt: skip
    environment.install_gettext_translations(languages.translations(language, word), newstyle=True)  # type: ignore[attr-defined]
    environment.globals.update(language=language, languages_of_pages=languages.LANGUAGES, percent=languages.percent)
    environment.globals.update(root=lambda: get_current_request().root, suffixes=listed_suffixes)
    environment.filters.update(number=languages.number, translated=languages.translate)
    return environment


def render(template: str, **content: Any) -> str:
    """Return a page, or a part of one. content: values by the names that the template uses."""
    request = get_current_request()
    return _environment(request.language, request.word).get_template(template).render(content)


def show(
    request: Request, template: str, session: Session | None = None, status: int = 200,
    headers: Mapping[str, str] | None = None, **content: Any,
) -> HTMLResponse:  # fmt: skip
    """Answer with a page that browsers do not cache. session: its reviewer's name stands at the top.

    content: values by the names that the template uses; `here`: address of the page without the root, if not that of
    the request.
    """
    here = request.url.path.removeprefix(get_current_request().root)
    frame = {"session": session, "progress": None, "reviews": request.app.state.has_review, "here": here}
    frame["is_problem"] = template == "problem.html"  # which is none of the pages of the navigation
    page = render(template, **{**frame, "served": request.app.state.models.values(), **content})
    answer = HTMLResponse(page, status, {"Cache-Control": "no-store", **(headers or {})})
    if language := languages.get_chosen_language(request.scope):
        answer.set_cookie(languages.COOKIE, language, max_age=365 * 24 * 3600, samesite="lax", httponly=True)
    return answer
