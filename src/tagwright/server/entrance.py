"""Log people in with a browser: a form for the access token and a name, and a session cookie."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tagwright.server.access import EVERYBODY, LONGEST_NAME, Holder, Role, address_of, check_origin
from tagwright.server.current_request import current
from tagwright.server.languages import _
from tagwright.server.pages import show
from tagwright.server.problems import Problem
from tagwright.server.request_bodies import read_form, text_of
from tagwright.server.sessions import COOKIE, Session, Sessions
from tagwright.text.words import clean

FORM_BYTES = 8192
"Bytes of the form, which anybody may send."

_WEEK = 7 * 24 * 3600


@dataclass(frozen=True)
class Entrance:
    """The entrance to the pages of a role. path: of the form; goal: where it leads; named: whether a name is needed."""

    sessions: Sessions
    path: str
    goal: str
    role: Role
    named: bool

    def route(self) -> Route:
        """The route of the form."""
        return Route(self.path, self.enter, methods=["GET", "POST"])

    def session(self, request: Request) -> Session | None:
        """The session of a request, if it may open these pages; whom a proxy names has one where no token is needed.

        Raises Problem for more requests than its token may send.
        """
        session, user = self.sessions.read(request.cookies.get(COOKIE, "")), current().user
        if user and session is None and self.sessions.access.is_open:
            session = Session(user, user, EVERYBODY)
        if session is None or not session.holder.may(self.role):
            return None
        session = session._replace(reviewer=user or session.reviewer)
        if self.named and not session.reviewer:
            return None
        current().user = session.reviewer
        self.sessions.access.admit(session.holder)
        return session

    @property
    def is_open(self) -> bool:
        """Whether everybody may open the pages without coming in here."""
        return self.sessions.access.is_open and not self.named

    async def enter(self, request: Request) -> Response:
        """Ask for the access token if one is needed, and for a name unless the token has one."""
        if request.method == "GET":
            return self._form(request)
        check_origin(request)
        form = await read_form(request, lambda form: form, files=0, most=FORM_BYTES)
        name = " ".join(clean(text_of(form, "name")).split())[:LONGEST_NAME]
        try:
            holder = self.sessions.access.holder(text_of(form, "token"), address_of(request.scope))
        except Problem as problem:
            return self._form(request, name, str(problem), problem.status, problem.headers)
        refused = self._login_error(name, holder)
        if refused or holder is None:
            return self._form(request, name, refused, 403)
        name = "" if current().user else holder.name or name  # whom a proxy names is named by it again
        answer = RedirectResponse(self.goal, 303)
        answer.set_cookie(
            COOKIE, self.sessions.issue(name, holder), max_age=_WEEK, httponly=True,
            samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    def _form(
        self, request: Request, name: str = "", problem: str = "", status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> Response:  # fmt: skip
        names = [holder.name for holder in self.sessions.access.holders]
        knows_name = bool(current().user or (names and all(names)))
        return show(
            request, "enter.html", None, status, headers, path=self.path, named=self.named, name=name, problem=problem,
            needs_token=not self.sessions.access.is_open, needs_name=self.named and not knows_name,
            has_names=any(names),
        )  # fmt: skip

    def _login_error(self, name: str, holder: Holder | None) -> str:
        """Return why this login is refused, or '' if it is not."""
        if holder is None:
            return _("The access token is wrong.")
        if not holder.may(self.role):
            return _("This token does not let you review.")  # any token lets its holder ask for suggestions
        if holder.name or current().user or not self.named:
            return ""
        if self.sessions.access.has_named(name):
            return _("This name belongs to another token.")
        return "" if name else _("A name is needed.")
