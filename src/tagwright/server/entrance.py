"""Log people in with a browser: a form for the access token and a name, and a session cookie.

Each form of a session holds its random number (against CSRF): another site can neither read the cookie or the form nor
guess it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tagwright.review.events import person_of
from tagwright.review.file import StorageError
from tagwright.server.access import LONGEST_NAME, SECONDS, Access, Holder, Role, Session, check_origin
from tagwright.server.current_request import get_current_request
from tagwright.server.languages import _
from tagwright.server.pages import show
from tagwright.server.problems import Problem, not_stored
from tagwright.server.request_bodies import read_form, text_of
from tagwright.text.words import clean

COOKIE = "tagwright_session"

Page: TypeAlias = Callable[[Request, Any], Awaitable[Response]]
"Answers with a page to a request of a session; the session is None where no login is needed."


@dataclass(frozen=True)
class Entrance:
    """The login to the pages of a role.

    path: address of the form. goal: address of the page after it. role: the least one that opens the pages. named:
    whether a name is needed. problem_content: returns what a page about a problem also shows.
    """

    access: Access
    path: str
    goal: str
    role: Role
    named: bool
    problem_content: Callable[[], dict[str, Any]] = dict

    def route(self) -> Route:
        """Return the route of the form."""
        return Route(self.path, self.enter, methods=["GET", "POST"])

    def page(self, page: Page, role: Role | None = None) -> Callable[[Request], Awaitable[Response]]:
        """Return a route's function that shows a page to sessions, and leads others to the form.

        role: needed for this page; None: that of the entrance. Problems are shown on a page.
        """

        async def answer(request: Request) -> Response:
            session = None
            try:
                session = self._session(request)
                if session is None and (self.named or not self.access.is_open):
                    return RedirectResponse(self.path, 303)
                if session and role:
                    session.holder.check(role)
                return await page(request, session)
            except (Problem, StorageError) as error:
                problem = not_stored(error) if isinstance(error, StorageError) else error
                content = await asyncio.to_thread(self.problem_content)
                return show(
                    request, "problem.html", session, problem.status_code, problem.headers, title=problem.title,
                    problem=problem.detail, **content,
                )  # fmt: skip

        return answer

    def _session(self, request: Request) -> Session | None:
        """The session of a request if it may open these pages, else None."""
        session = self.access.session(request.cookies.get(COOKIE, ""))
        if session is None or not session.holder.may(self.role):
            return None
        if self.named and not person_of(session.reviewer):
            return None
        current, holder = get_current_request(), session.holder
        current.user, current.token, current.client = session.reviewer, holder.name, holder.name or current.client
        return session

    async def enter(self, request: Request) -> Response:
        """Show the form for the access token and a name, as far as they are needed; log in who sends it."""
        if request.method == "GET":
            return self._form(request)
        check_origin(request)
        form = await read_form(request, files=0, most=8192)  # small, since anybody may send it
        name = " ".join(clean(text_of(form, "name")).split())[:LONGEST_NAME]
        holder = self.access.holder(text_of(form, "token"))
        problem = self._login_error(name, holder)
        if problem or holder is None:
            return self._form(request, name, problem, 403)
        answer = RedirectResponse(self.goal, 303)
        answer.set_cookie(
            COOKIE, self.access.issue(holder.name or name, holder), max_age=SECONDS, httponly=True,
            samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    def _form(self, request: Request, name: str = "", problem: str = "", status: int = 200) -> Response:
        names = [holder.name for holder in self.access.holders]
        knows_name = bool(names) and all(names)
        return show(
            request, "enter.html", None, status, path=self.path, named=self.named, name=name, problem=problem,
            needs_token=not self.access.is_open, needs_name=self.named and not knows_name,
            has_names=any(names),
        )  # fmt: skip

    def _login_error(self, name: str, holder: Holder | None) -> str:
        """Return why a login is refused; "" if it is not."""
        if holder is None:
            return _("The access token is wrong.")
        if not holder.may(self.role):
            return _("This token does not let you review.")  # any token lets its holder ask for suggestions
        if holder.name or not self.named:
            return ""
        if self.access.has_named(name):
            return _("This name belongs to another token.")
        return "" if person_of(name) else _("A name is needed.")
