"""Log people in with a browser: a form for the access token and a name, and a session cookie.

No session is stored. A cookie holds a random number, the name and a signature. Each form holds the number (against
CSRF): another site can neither read the cookie or the form nor guess it.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tagwright.review.events import person_of
from tagwright.review.file import StorageError
from tagwright.server.access import EVERYBODY, LONGEST_NAME, Access, Holder, Role, Session, check_origin
from tagwright.server.current_request import get_current_request
from tagwright.server.languages import _
from tagwright.server.pages import show
from tagwright.server.problems import Problem, not_stored
from tagwright.server.request_bodies import read_form, text_of
from tagwright.text.words import clean

COOKIE = "tagwright_session"

SECONDS = 7 * 24 * 3600
"How long a session lasts."

Page: TypeAlias = Callable[[Request, Any], Awaitable[Response]]
"Answers with a page to a request of a session; the session is None where no login is needed."


class Sessions:
    """Sign and check cookies. secret: known to the server alone; sessions last as long as it stays the same.

    The key is made of the secret and the holder's token: without the secret, no holder can sign a cookie, and when a
    token changes, its sessions end. A token with a name reviews under that name, whatever the cookie says.
    """

    def __init__(self, access: Access, secret: bytes) -> None:
        self.access, self._secret = access, secret

    def _signer(self, holder: Holder) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._secret, f"session {holder.token}", signer_kwargs={"digest_method": sha256})

    def issue(self, reviewer: str, holder: Holder) -> str:
        """Return the cookie of a new session."""
        return str(self._signer(holder).dumps([secrets.token_hex(16), reviewer]))

    def read(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None for one not issued here, or under the name of another token's holder.

        >>> sessions = Sessions(Access.of("a long enough token"), b"secret")
        >>> session = sessions.read(sessions.issue("Ann", sessions.access.holders[0]))
        >>> session.reviewer, session.holder.role, sessions.read("forged.0")
        ('Ann', 'admin', None)
        """
        for holder in self.access.holders or (EVERYBODY,):
            with suppress(BadData):
                csrf, reviewer = self._signer(holder).loads(cookie, max_age=SECONDS)
                if not holder.name and self.access.has_named(reviewer):
                    return None
                return Session(csrf, holder.name or reviewer, holder)
        return None


@dataclass(frozen=True)
class Entrance:
    """The login to the pages of a role.

    path: address of the form. goal: address of the page after it. role: the least one that opens the pages. named:
    whether a name is needed. problem_content: returns what a page about a problem also shows.
    """

    sessions: Sessions
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
                if session is None and (self.named or not self.sessions.access.is_open):
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
        session = self.sessions.read(request.cookies.get(COOKIE, ""))
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
        holder = self.sessions.access.holder(text_of(form, "token"))
        problem = self._login_error(name, holder)
        if problem or holder is None:
            return self._form(request, name, problem, 403)
        answer = RedirectResponse(self.goal, 303)
        answer.set_cookie(
            COOKIE, self.sessions.issue(holder.name or name, holder), max_age=SECONDS, httponly=True,
            samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    def _form(self, request: Request, name: str = "", problem: str = "", status: int = 200) -> Response:
        names = [holder.name for holder in self.sessions.access.holders]
        knows_name = bool(names) and all(names)
        return show(
            request, "enter.html", None, status, path=self.path, named=self.named, name=name, problem=problem,
            needs_token=not self.sessions.access.is_open, needs_name=self.named and not knows_name,
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
        if self.sessions.access.has_named(name):
            return _("This name belongs to another token.")
        return "" if person_of(name) else _("A name is needed.")
