"""The review pages: forms that work without scripts, for reviewers with a name and a session.

Every form has a token of its session. Templates escape all texts.
"""

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from hmac import compare_digest
from pathlib import Path
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tagwright.api.enriching import PROGRAM
from tagwright.core.atomic import scratch_folder
from tagwright.core.versions import in_use, model_names, put_in_use
from tagwright.errors import ConfigError, InputError, TagwrightError, is_command, option
from tagwright.review.applied import LeftOut
from tagwright.review.blind import FEWEST
from tagwright.review.events import Decision, ReviewerAction
from tagwright.review.export import DOWNLOADS, write_export
from tagwright.review.recall import DEPTH
from tagwright.server.access import OPEN, Access, Role, Session, check_origin
from tagwright.server.current_request import get_current_request
from tagwright.server.entrance import Entrance, Page
from tagwright.server.follower import Follower
from tagwright.server.languages import _, number, translated_error
from tagwright.server.pages import render, show
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import (
    Form,
    Upload,
    read_documents,
    read_form,
    run_apart,
    run_on,
    shown_name,
    store_upload,
    text_of,
)
from tagwright.server.review.listing import list_documents, order_rows
from tagwright.server.review.refit import Refitter, Trained
from tagwright.server.review.review import Review
from tagwright.server.rows import Row
from tagwright.text.words import clean

_log = logging.getLogger(__name__)


@dataclass
class ReviewPages:
    """The pages of a review, below /review.

    access: the tokens that let reviewers in. refitter: trains the model on request, follower: loads its promoted
    versions; None: the server does not do that.
    """

    review: Review
    access: Access = OPEN
    refitter: Refitter | None = None
    follower: Follower | None = None

    def __post_init__(self) -> None:
        self.access = replace(self.access, secret=self.review.file.secret())
        self._entrance = Entrance(
            self.access, "/review/enter", "/review", "review", named=True,
            problem_content=lambda: {"progress": self.review.progress(), "here": "/review/overview"},
        )  # fmt: skip

    def routes(self) -> list[Route]:
        """Return the routes of all pages, with that of the entrance."""
        number, page = "/review/documents/{number}", self._page_in_place
        return [
            self._entrance.route(),
            *(Route(f"/review{end}", page(self.next), methods=["GET"]) for end in ("", "/")),
            Route("/review/overview", page(self.overview), methods=["GET"]),
            Route("/review/differences", page(self.differences), methods=["GET"]),
            Route("/review/upload", page(self.upload), methods=["POST"]),
            Route("/review/refit", page(self.training, "admin"), methods=["GET"]),
            Route("/review/refit", page(self.refit, "admin"), methods=["POST"]),
            Route("/review/follow", page(self.follow, "admin"), methods=["POST"]),
            Route("/review/export", page(self.export), methods=["GET"]),
            Route("/review/enrich", page(self.enrich), methods=["POST"]),
            Route(f"{number}/labels", page(self.labels), methods=["GET"]),
            Route(number, page(self.document), methods=["GET"]),
            Route(number, page(self.decide), methods=["POST"]),
        ]

    def _page_in_place(self, show: Page, role: Role | None = None) -> Callable[[Request], Awaitable[Response]]:
        """Return a route's function, see `Entrance.page`, that shows nothing where a decision could not be stored.

        The reviewer has the name of before, also after logging in with one that looks the same.
        """

        async def answer(request: Request, session: Session) -> Response:
            await asyncio.to_thread(self.review.file.check_in_place)
            name = await asyncio.to_thread(self.review.decisions.name_of, session.reviewer)
            return await show(request, session._replace(reviewer=name))

        return self._entrance.page(answer, role)

    async def next(self, _request: Request, session: Session) -> Response:
        """Redirect to the next document to review."""
        entry = await asyncio.to_thread(self.review.next, session.reviewer)
        return RedirectResponse(f"/review/documents/{entry.number}" if entry else "/review/overview", 303)

    async def document(self, request: Request, session: Session) -> Response:
        """Show a document with its suggestions.

        ?q= searches labels to add. ?evidence= is the rank of the suggestion whose evidence is marked.
        """
        number, query = _number(request), _query(request)
        try:
            marked = _digits(request.query_params.get("evidence", ""))
            sheet = await self.review.sheet(number, session.reviewer, marked)
        except KeyError:
            raise Problem(404, _("There is no such document")) from None
        results = await self._search(query)
        return await self._page(request, "document.html", session, sheet=sheet, query=query, results=results)

    async def labels(self, request: Request, session: Session) -> Response:
        """Show labels to add, as a part of the page of a document that a script asks for."""
        query = _query(request)
        content = render(
            "found.html", rows=await self._search(query), query=query, number=_number(request),
            csrf=session.csrf,
        )  # fmt: skip
        return HTMLResponse(content)

    async def decide(self, request: Request, session: Session) -> Response:
        """Store a decision, then redirect to the same document, to the next one, or to the disagreements."""
        number, form = _number(request), await self._checked_form(request, session)
        decision = _decision(form, session.reviewer)
        try:
            await asyncio.to_thread(self.review.decide, number, decision, is_suggested=bool(text_of(form, "suggested")))
        except KeyError:
            raise Problem(404, _("There is no such document or label")) from None
        if decision.action in ("done", "skip"):
            return await self.next(request, session)
        back = "/review/differences" if text_of(form, "back") == "differences" else f"/review/documents/{number}"
        return RedirectResponse(back, 303)

    async def overview(
        self, request: Request, session: Session, message: str = "", problem: str = "", of_records: str = "",
        unwritten: LeftOut | None = None,
    ) -> Response:  # fmt: skip
        """Show the documents, of the state and with the text that the address asks for, statistics, and forms.

        ?q= and ?state= choose documents, see `list_documents`, ?sort= orders them, see `order_rows`, ?from= is the
        number of the first one shown. The forms add documents and train the tagger. of_records: what is wrong with a
        file of records or its codes. unwritten: what of the review could not be written into it.
        """
        review, query, asked = self.review, _query(request), request.query_params
        state, order, first = asked.get("state", ""), asked.get("sort", ""), _digits(asked.get("from", "")) or 1

        def content() -> dict[str, Any]:
            entries, gone = review.documents.entries(), review.gone()
            listed = list_documents(entries, review.decisions, query)
            documents = order_rows((row for row in listed if state in ("", row.state)), order)
            counts, statistics = Counter(row.state for row in listed), review.decisions.statistics()
            shown = {"listed": documents, "counts": counts, "statistics": statistics}
            lost = [(entry, gone[entry.id]) for entry in entries if entry.id in gone]
            return shown | {"gone": lost} | self._trained()

        return await self._page(
            request, "overview.html", session, content, query=query, wanted=state, order=order, first=first,
            depth=DEPTH, fewest=FEWEST, downloads=DOWNLOADS,
            here="/review/overview", message=message, problem=problem, of_records=of_records, unwritten=unwritten,
        )  # fmt: skip

    async def differences(self, request: Request, session: Session) -> Response:
        """Show labels on which reviewers disagree."""
        return await self._page(request, "differences.html", session, lambda: {"differences": self._differences()})

    async def upload(self, request: Request, session: Session) -> Response:
        """Add the documents of all files that can be read, and report the others."""
        form = await self._checked_form(request, session)
        added, changed, problems = 0, list[str](), list[str]()
        for file in form.getlist("files"):
            if isinstance(file, Upload):
                try:
                    documents, _notes = await read_documents(request, file)
                    _ids, new, known = await asyncio.to_thread(self.review.documents.add, documents)
                    added, changed = added + new, changed + known
                except InputError as error:
                    problems.append(translated_error(error))
        message = _("Documents added: %(count)s") % {"count": number(f"{added:,}")}
        if changed:
            said = _("ids known with another text, each text now a document of its own: %(count)s (first: %(first)s)")
            message += "; " + said % {"count": number(f"{len(changed):,}"), "first": changed[0]}
        return await self.overview(request, session, message, "; ".join(problems))

    async def export(self, request: Request, session: Session) -> Response:
        """Send the reviewed documents as a file, in the format that the address names."""
        if (wanted := request.query_params.get("format", "csv")) not in DOWNLOADS:
            raise Problem(404, _("There is no such format"))
        target = await asyncio.to_thread(get_current_request().held.enter_context, scratch_folder()) / "export"
        file, model = self.review.file, self.review.model.snapshot()
        try:
            await asyncio.to_thread(write_export, file, wanted, model.tagger.vocabulary, target)
        except TagwrightError as error:
            problem = translated_error(error) if isinstance(error, InputError) else str(error)
            return await self.overview(request, session, problem=problem)
        _title, name, media = DOWNLOADS[wanted]
        return FileResponse(target, media_type=media, filename=name)

    async def enrich(self, request: Request, session: Session) -> Response:
        """Send back an uploaded file of records with the accepted subjects; what is wrong is said at the form."""
        form = await self._checked_form(request, session)
        records, codes = form.get("records"), (text_of(form, "source").strip(), text_of(form, "agency").strip())
        if not isinstance(records, Upload):
            raise bad_request(_("The form has no file of records"))
        ending = match[0].lower() if (match := re.search(r"\.(?:csv|tsv|xlsx)$", records.name, re.IGNORECASE)) else ""
        if not (ending or codes[0] or self.review.model.tagger.vocabulary.source):
            problem = _("Give the code of the vocabulary, as its ids do not show it; write local if it has none.")
            return await self.overview(request, session, of_records=problem)
        try:
            folder = await asyncio.to_thread(get_current_request().held.enter_context, scratch_folder())
            file, left_out = await run_apart(request, self._enriched, folder, records, *codes, form)
        except (InputError, ConfigError) as error:
            problem = translated_error(error) if isinstance(error, InputError) else str(error)
            held = _("The decisions hold where the text of a record has changed since")
            fields = {option("source"): _("Code of the vocabulary"), option("agency"): _("Code of the library")}
            for name, field in (fields | {option("changed_texts", python="changed_texts=True"): f"“{held}”"}).items():
                problem = problem.replace(name, field)
            return await self.overview(request, session, of_records=problem)
        if (left_out.gone or left_out.changed) and not text_of(form, "anyway"):
            return await self.overview(request, session, of_records=_("Nothing was written yet."), unwritten=left_out)
        with file.open("rb") as content:
            is_xml = content.read(1000).lstrip()[:1] == b"<" and not ending
        media = "application/octet-stream" if ending else "application/xml" if is_xml else "application/marc"
        name = f"enriched{ending or ('.xml' if is_xml else '.mrc')}"
        return FileResponse(file, media_type=media, filename=name)

    def _enriched(self, folder: Path, records: Upload, source: str, agency: str, form: Form) -> tuple[Path, LeftOut]:
        """Return the enriched copy, made by a process of its own, and what of the review is not in it."""
        shown, names = shown_name(records.name), self.review.model.saved_names()
        path, copy = store_upload(folder, shown, records.content), folder / "enriched"
        chosen = {name: bool(text_of(form, name)) for name in ("replace_gone", "changed_texts")}
        paths = {"records": path, "output": copy, "names": names, "reviews": self.review.file.path.resolve()}
        arguments = {**paths, "source": source, "agency": agency, "is_command": is_command(), **chosen}
        sent = json.dumps(arguments, default=str)
        printed, said = run_on(path, shown, ["-c", PROGRAM, sent], 60, 10_000_000)
        for line in said.splitlines()[-10:]:
            _log.warning("%s", line.replace(str(path), shown))
        report = json.loads(printed)
        if report["problem"]:
            raise (
                InputError(report["problem"], shown, report["line"])
                if report["of_file"]
                else ConfigError(report["problem"])
            )
        return copy, LeftOut(**report["left_out"])

    async def training(self, _request: Request, session: Session) -> Response:
        """Show how far the training is, as a part of the overview that a script asks for."""
        trained = await asyncio.to_thread(self._trained)
        return HTMLResponse(render("training.html", csrf=session.csrf, **trained))

    async def refit(self, request: Request, session: Session) -> Response:
        """Start to train the model on the decisions."""
        await self._checked_form(request, session)
        if self.refitter is None:
            raise Problem(403, _("This server does not train its tagger"))
        self.refitter.start()
        return RedirectResponse("/review/overview", 303)

    async def follow(self, request: Request, session: Session) -> Response:
        """Put the version that is named in use, and serve it."""
        form, history = await self._checked_form(request, session), self.review.model.history
        version = text_of(form, "version")
        if not (self.follower and history and version in await asyncio.to_thread(model_names, history)):
            raise bad_request(_("There is no such version"))
        await asyncio.to_thread(put_in_use, history / version)
        await asyncio.to_thread(self.follower.check)
        return RedirectResponse("/review/overview", 303)

    def _trained(self) -> dict[str, Any]:
        """Return the overview's lines on versions and the last training, and the versions that can be changed to.

        newest: the one trained last, before: the one that was in use before the present one; "" for none.
        """
        # asked first: a training that ends while the rest is read is shown as under way, and its outcome the next time
        is_training = self.refitter is not None and self.refitter.is_running
        model = self.review.model.snapshot()
        form = _("In use: %(name)s, version %(version)s.") if model.number else _("In use: %(name)s.")
        found: dict[str, Any] = {
            "refitter": self.refitter,
            "is_training": is_training,
            "in_use": form % {"name": model.id if model.number else model.version, "version": model.number},
        }
        if self.refitter is None:
            return found
        newest = before = ""
        if last := self.refitter.last:
            place = in_use(self.refitter.folder)
            newest = last.version if last.version != place.name else ""
            before = used.blind["besides"] if (used := Trained.of(place)) else ""
        return found | {"outcome": self.refitter.outcome(last), "newest": newest, "before": before}

    async def _search(self, query: str) -> list[Row]:
        return await asyncio.to_thread(self.review.search, query) if query else []

    def _differences(self) -> list[dict[str, Any]]:
        """Return what the page shows of each difference on a known document; labels that are gone by their ids."""
        entries = {entry.id: entry for entry in self.review.documents.entries()}
        vocabulary, language = self.review.model.tagger.vocabulary, get_current_request().language
        return [
            {
                **each._asdict(),
                **entries[each.document]._asdict(),
                "name": vocabulary[each.label].name_in(language) if each.label in vocabulary.index else each.label,
            }
            for each in self.review.decisions.differences()
            if each.document in entries
        ]

    async def _page(
        self, request: Request, template: str, session: Session, large: Callable[[], dict[str, Any]] = dict,
        **content: Any,
    ) -> Response:  # fmt: skip
        """Return a page from a template, with what every page of a session needs. large: content made for it alone."""

        def page() -> Response:
            frame: dict[str, Any] = {"csrf": session.csrf, "progress": self.review.progress()}
            return show(request, template, session, **frame, **large(), **content)

        return await asyncio.to_thread(page)

    async def _checked_form(self, request: Request, session: Session) -> Form:
        """Return the form of a request. Raises Problem unless it comes from a page of this session."""
        check_origin(request)
        form = await read_form(request)
        if not compare_digest(session.csrf.encode(), text_of(form, "csrf").encode()):
            raise Problem(403, _("The form belongs to another session; open the page again and repeat the step"))
        return form


def _decision(form: Form, reviewer: str) -> Decision:
    """Return the decision in a form; `Review.decide` sets the document. Raises Problem if it is not valid."""
    action: Any = text_of(form, "action")
    label = text_of(form, "label") if action in ("accept", "reject") else None
    if action not in get_args(ReviewerAction) or label == "":
        raise bad_request(_("The form has no action, or no label for it"))
    note = clean(text_of(form, "note"))[:2000] if action == "note" else ""
    return Decision(document="", reviewer=reviewer, action=action, label=label, note=note)


def _number(request: Request) -> int:
    """Return the number of the document in the address. Raises Problem for anything else than a number."""
    if (number := _digits(request.path_params["number"])) is None:
        raise Problem(404, _("There is no such document"))
    return number


def _digits(text: str) -> int | None:
    """Return the number that a part of an address is; None for other text, and for more digits than SQLite takes."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _query(request: Request) -> str:
    """Return the text to search for, cleaned, of at most 200 characters; "" without one."""
    return clean(request.query_params.get("q", ""))[:200].strip()
