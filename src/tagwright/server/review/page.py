"""The review pages: forms that work without scripts, for reviewers with a name and a session.

Every form has a token of its session. Templates escape all texts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias, get_args

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tagwright.errors import ConfigError, InputError
from tagwright.review.current import Decision, Step
from tagwright.review.file import StorageError
from tagwright.review.recall import describe_recall, describe_right
from tagwright.server.access import LONGEST_NAME, OPEN, Access, Holder, Role, address_of, check_origin
from tagwright.server.pages import render
from tagwright.server.problems import Problem, bad_request, not_stored
from tagwright.server.request_bodies import check_charset
from tagwright.server.review.refit import Refitter
from tagwright.server.review.session import Review, Row
from tagwright.server.sessions import COOKIE, Session, Sessions
from tagwright.server.uploads import UploadReader
from tagwright.text.words import clean

LISTED = 500
"Documents that the overview lists."

LONGEST_QUERY = 200
LONGEST_NOTE = 2000
_LONGEST_NUMBER = 18
_FILES = 50
_WEEK = 7 * 24 * 3600

Page: TypeAlias = Callable[[Request, Session], Awaitable[Response]]


@dataclass
class ReviewPages:
    """The pages of a review. access: the tokens that let reviewers in."""

    review: Review
    access: Access = OPEN
    refitter: Refitter | None = None

    def __post_init__(self) -> None:
        self.sessions, self._read = Sessions(self.access, self.review.file.secret()), UploadReader()

    def routes(self) -> list[Route]:
        """The pages below /review."""
        number = "/review/documents/{number}"
        return [
            Route("/review/enter", self.enter, methods=["GET", "POST"]),
            Route("/review", self._for_reviewers(self.next), methods=["GET"]),
            Route("/review/overview", self._for_reviewers(self.overview), methods=["GET"]),
            Route("/review/differences", self._for_reviewers(self.differences), methods=["GET"]),
            Route("/review/upload", self._for_reviewers(self.upload), methods=["POST"]),
            Route("/review/refit", self._for_reviewers(self.refit, "admin"), methods=["POST"]),
            Route(f"{number}/labels", self._for_reviewers(self.labels), methods=["GET"]),
            Route(number, self._for_reviewers(self.document), methods=["GET"]),
            Route(number, self._for_reviewers(self.decide), methods=["POST"]),
        ]

    async def enter(self, request: Request) -> Response:
        """Ask for the access token if needed, and for a name unless the token has one."""
        if request.method == "GET":
            return self._entrance()
        check_origin(request)
        form = await _form(request)
        await request.close()
        name = " ".join(clean(_text(form, "name")).split())[:LONGEST_NAME]
        try:
            holder = self.access.holder(_text(form, "token"), address_of(request.scope))
        except Problem as problem:
            return self._entrance(name, str(problem), problem.status, problem.headers)
        objection = self._objection(name, holder)
        if objection or holder is None:
            return self._entrance(name, objection, 403)
        answer = RedirectResponse("/review", 303)
        answer.set_cookie(
            COOKIE, self.sessions.issue(holder.name or name, holder), max_age=_WEEK, path="/review", httponly=True,
            samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    async def next(self, _: Request, session: Session) -> Response:
        """Redirect to the next document to review."""
        entry = await asyncio.to_thread(self.review.next, session.reviewer)
        return RedirectResponse(f"/review/documents/{entry.number}" if entry else "/review/overview", 303)

    async def document(self, request: Request, session: Session) -> Response:
        """One document with its suggestions. ?q=: labels to add; ?evidence=: rank of the suggestion that is marked."""
        number, query = _number(request), _query(request)
        try:
            sheet = await self.review.view(number, session.reviewer, _evidence(request))
        except KeyError:
            raise Problem(404, f"There is no document {number}") from None
        results = await self._found(query)
        return await self._page("document.html", session, sheet=sheet, query=query, results=results)

    async def labels(self, request: Request, session: Session) -> Response:
        """Labels to add, as a part of the page of a document."""
        query = _query(request)
        content = render(
            "found.html", rows=await self._found(query), query=query, number=_number(request),
            csrf=self.sessions.csrf(session),
        )  # fmt: skip
        return HTMLResponse(content)

    async def decide(self, request: Request, session: Session) -> Response:
        """Store a decision, then show the same document, or the next one."""
        number, form = _number(request), await self._checked_form(request, session)
        decision = _decision(form, session.reviewer)
        try:
            await asyncio.to_thread(self.review.decide, number, decision)
        except KeyError:
            raise Problem(404, "There is no such document or label") from None
        if decision.action in ("done", "skip"):
            return await self.next(request, session)
        back = "/review/differences" if _text(form, "back") == "differences" else f"/review/documents/{number}"
        return RedirectResponse(back, 303)

    async def overview(self, _: Request, session: Session) -> Response:
        """Show progress and statistics, with forms to add documents and to train the model."""
        return await self._overview(session)

    async def differences(self, _: Request, session: Session) -> Response:
        """Show labels on which reviewers disagree."""
        found = await asyncio.to_thread(self._differences)
        return await self._page("differences.html", session, differences=found)

    async def upload(self, request: Request, session: Session) -> Response:
        """Add the documents of all files that can be read, and report the others."""
        form = await self._checked_form(request, session)
        added, problems = 0, []
        for file in form.getlist("files"):
            if isinstance(file, UploadFile):
                try:
                    documents = await self._read(file)
                    added += await asyncio.to_thread(self.review.documents.add, documents)
                except StorageError:
                    raise
                except InputError as error:
                    problems.append(str(error))
        message = f"{added:,} document{'s' * (added != 1)} added."
        return await self._overview(session, message, "; ".join(problems))

    async def refit(self, request: Request, session: Session) -> Response:
        """Start to train the model on the decisions."""
        await self._checked_form(request, session)
        if self.refitter is None:
            raise Problem(403, "This server does not train its model")
        self.refitter.start()
        return RedirectResponse("/review/overview", 303)

    async def _overview(self, session: Session, message: str = "", problem: str = "") -> Response:
        review = self.review
        entries = await asyncio.to_thread(review.documents.entries)
        states = await asyncio.to_thread(review.decisions.states)
        statistics = await asyncio.to_thread(review.decisions.statistics)
        return await self._page(
            "overview.html", session, entries=entries[:LISTED], more=max(0, len(entries) - LISTED),
            done={id_ for id_, state in states.items() if state.done_by}, refitter=self.refitter,
            statistics=statistics, right=describe_right(statistics.right),
            recall=statistics.recall and describe_recall(statistics.recall), message=message, problem=problem,
        )  # fmt: skip

    async def _found(self, query: str) -> list[Row]:
        return await asyncio.to_thread(self.review.search, query) if query else []

    def _differences(self) -> list[dict[str, Any]]:
        entries = {entry.id: entry for entry in self.review.documents.entries()}
        vocabulary = self.review.model.tagger.vocabulary
        return [
            {
                "number": entries[each.document].number,
                "title": entries[each.document].title or each.document,
                "id": each.label,
                "label": vocabulary[vocabulary.index[each.label]].name,
                "accepted_by": each.accepted_by,
                "rejected_by": each.rejected_by,
            }
            for each in self.review.decisions.differences()
            if each.document in entries and each.label in vocabulary.index
        ]

    async def _page(self, template: str, session: Session, **content: Any) -> Response:
        progress = await asyncio.to_thread(self.review.progress)
        page = render(template, session=session, csrf=self.sessions.csrf(session), progress=progress, **content)
        return HTMLResponse(page, headers={"Cache-Control": "no-store"})

    def _for_reviewers(self, page: Page, role: Role = "review") -> Callable[[Request], Awaitable[Response]]:
        """Require a session with this role for a page; without one, ask for a name. Show problems on a page."""

        async def answer(request: Request) -> Response:
            session = self.sessions.read(request.cookies.get(COOKIE, ""))
            if session is None:
                return RedirectResponse("/review/enter", 303)
            try:
                if not session.holder.may(role):
                    raise Problem(403, f"This needs a token with the role {role}")
                return await page(request, session)
            except (Problem, StorageError) as error:
                problem = not_stored(error) if isinstance(error, StorageError) else error
                title = problem.title or HTTPStatus(problem.status).phrase
                progress = await asyncio.to_thread(self.review.progress)
                content = render("problem.html", session=session, progress=progress, title=title, problem=str(problem))
                return HTMLResponse(content, problem.status, problem.headers)
            finally:
                await request.close()  # the files of a form

        return answer

    async def _checked_form(self, request: Request, session: Session) -> FormData:
        """Return the form. Raises Problem unless it comes from a page of this session."""
        check_origin(request)
        form = await _form(request)
        if not self.sessions.fits(session, _text(form, "csrf")):
            raise Problem(403, "The form belongs to another session; open the page again and repeat the step")
        return form

    def _entrance(
        self, name: str = "", problem: str = "", status: int = 200, headers: dict[str, str] | None = None
    ) -> Response:
        """Render the form of `enter`."""
        names = [holder.name for holder in self.access.holders]
        page = render(
            "enter.html", session=None, name=name, problem=problem, needs_token=not self.access.is_open,
            needs_name=not all(names) or not names, has_names=any(names),
        )  # fmt: skip
        return HTMLResponse(page, status, headers)

    def _objection(self, name: str, holder: Holder | None) -> str:
        """Return the login error, or ''."""
        if holder is None:
            return "The access token is wrong."
        if not holder.may("review"):
            return "This token does not let you review."
        if holder.name:
            return ""
        if self.access.has_named(name):
            return "This name belongs to another token."
        return "" if name else "A name is needed."


def _decision(form: FormData, reviewer: str) -> Decision:
    """Return the decision in a form. Raises Problem if it is not valid."""
    action: Any = _text(form, "action")
    if action not in get_args(Step):
        raise bad_request("The form has no action")
    judges = action in ("accept", "reject")
    try:
        return Decision(
            document="",
            reviewer=reviewer,
            action=action,
            label=(_text(form, "label") or None) if judges else None,
            note=clean(_text(form, "note"))[:LONGEST_NOTE] if action == "note" else "",
        )
    except ConfigError as error:
        raise bad_request(f"The form is not valid: {error}") from None


async def _form(request: Request) -> FormData:
    """The form, read whole."""
    check_charset(request)
    return await request.form(max_files=_FILES, max_fields=20, max_part_size=1 << 20)


def _text(form: Any, key: str) -> str:
    value = form.get(key, "")
    return value if isinstance(value, str) else ""


def _number(request: Request) -> int:
    """Return the number of a document in an address. Raises Problem if it is not a number, or too long."""
    text: str = request.path_params["number"]
    if not text.isascii() or not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise Problem(404, "There is no such document")
    return int(text)


def _evidence(request: Request) -> int | None:
    """Return the rank of the suggestion whose evidence is asked for; None if it is no number."""
    text = request.query_params.get("evidence", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else None


def _query(request: Request) -> str:
    return clean(request.query_params.get("q", ""))[:LONGEST_QUERY].strip()
