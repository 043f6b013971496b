"""The pages at / and /api: suggestions for a text or a file, and the description of the API."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tagwright.catalogues.subjects import mnemonic, subject_field
from tagwright.core.display import escape_formula
from tagwright.data.subjects import recognise_source
from tagwright.defaults import MAX_LABELS
from tagwright.errors import InputError
from tagwright.readers.documents.sections import one_line
from tagwright.server.access import Session, check_origin
from tagwright.server.entrance import Entrance, Sessions
from tagwright.server.examples import by_interface, example
from tagwright.server.json_api import JsonApi, options_of, sent_document
from tagwright.server.languages import _, translated_error
from tagwright.server.openapi import Operation, describe_operations
from tagwright.server.pages import show
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import Form, Upload, parse_whole_number, read_documents, read_form, text_of
from tagwright.server.rows import highlight, strongest_spans, suggested_row
from tagwright.server.served_model import model_named
from tagwright.server.turns import in_thread
from tagwright.tagger import Suggestion
from tagwright.types import Document
from tagwright.version import __version__

_EMPTY: Mapping[str, str] = {"text": "", "model": "", "language": "", "limit": str(MAX_LABELS), "source": ""}
"The fields of the form, as they are before anything is typed."


@dataclass(frozen=True)
class StartPages:
    """The pages. Where tokens are needed, people log in first, as for the review.

    operations: to be described. show_from: the least confidence of what is shown at once and copied, but for the best.
    """

    api: JsonApi
    operations: Sequence[Operation]
    sessions: Sessions
    show_from: float = 0.0

    def routes(self) -> list[Route]:
        """Return the routes of the pages and of their login; Annif's address /v1/ui leads here."""
        entrance = Entrance(self.sessions, "/enter", "/", "suggest", named=False)
        return [
            entrance.route(),
            Route("/", entrance.page(self.start), methods=["GET"]),
            Route("/", entrance.page(self.suggest), methods=["POST"]),
            Route("/api", entrance.page(self.interface), methods=["GET"]),
            *(Route(f"/v1/ui{end}", RedirectResponse("/", 307), methods=["GET"]) for end in ("", "/")),
        ]

    async def start(self, request: Request, session: Session | None) -> Response:
        """The form for a text or a file."""
        return await self._start(request, session, _EMPTY)

    async def suggest(self, request: Request, session: Session | None) -> Response:
        """The form again, with the suggestions or what is wrong."""
        fields = dict(_EMPTY)
        try:
            check_origin(request)
            form = await read_form(request, lambda form: form, files=1)
            sent = {name: text_of(form, name).replace("\r\n", "\n") for name in _EMPTY}  # browsers send CRLF
            fields |= {name: text for name, text in sent.items() if text}
            content = await self._suggested(request, form, fields)
        except Problem as problem:
            return await self._start(request, session, fields, problem.status, problem.headers, problem=problem.detail)
        return await self._start(request, session, fields, **content)

    async def interface(self, request: Request, session: Session | None) -> Response:
        """The description of the API for people, with an example of each operation."""
        model, is_open = next(iter(self.api.models.values())), self.sessions.access.is_open

        def call(operation: Operation) -> dict[str, Any]:
            anchor = re.sub(r"\W+", "-", f"{operation.method} {operation.path}").strip("-").lower()
            called = example(operation, model, str(request.base_url), token=not is_open)
            return {"operation": operation, "anchor": anchor, "example": called}

        groups = {name: [call(operation) for operation in group] for name, group in by_interface(self.operations)}
        return show(
            request, "api.html", session, models=self.api.models.values(), version=__version__, groups=groups,
            paths=describe_operations(self.operations)["paths"], is_open=is_open,
        )  # fmt: skip

    async def _suggested(self, request: Request, form: Form, fields: Mapping[str, str]) -> dict[str, Any]:
        """Return the suggestions for a form, as the page shows them. Raises Problem."""
        document, others = await self._document(request, form, fields["text"])
        rules = {"model": fields["model"] or None, "names_in": fields["language"] or None}
        options = options_of({**rules, "limit": parse_whole_number(fields["limit"]), "evidence": True})
        model = model_named(rules["model"], self.api.models)
        (suggestions,) = await self.api.suggestions(model, [document], options)
        tagger, language, marked = model.tagger, fields["language"], parse_whole_number(text_of(form, "marked"))

        def is_less_likely(rank: int, each: Suggestion) -> bool:
            return rank > 1 and each.confidence is not None and each.confidence < self.show_from

        def shown() -> dict[str, Any]:
            ranked = list(enumerate(suggestions, 1))
            spans = {rank: strongest_spans(document.text, suggestion.evidence) for rank, suggestion in ranked}
            likely = [each for rank, each in ranked if not is_less_likely(rank, each)]
            return {
                "document": document, "others": others, "text": highlight(document, spans),
                "rows": [
                    suggested_row(tagger, document, each, rank, language)._replace(is_folded=is_less_likely(rank, each))
                    for rank, each in ranked
                ],
                "fits_none": suggestions.none, "is_text": _file(form) is None,
                "marked": marked if marked in spans else 1,
                "copies": copies(likely, fields["source"].strip()),
            }  # fmt: skip

        return await in_thread(shown)

    async def _document(self, request: Request, form: Form, text: str) -> tuple[Document, int]:
        """The first document of the file, or else that of the text; how many more the file holds. Raises Problem."""
        file = _file(form)
        if file is None:
            if not text.strip():
                raise bad_request(_("Paste a text or choose a file."))
            return await in_thread(sent_document, {"text": text}), 0
        try:
            documents = await read_documents(request, file)
        except InputError as error:
            raise Problem(422, translated_error(error)) from None
        if not documents:
            raise Problem(422, _("%(file)s: holds no text") % {"file": file.name})
        return documents[0], len(documents) - 1

    async def _start(
        self, request: Request, session: Session | None, fields: Mapping[str, str], status: int = 200,
        headers: Mapping[str, str] | None = None, **more: Any,
    ) -> Response:  # fmt: skip
        """The page with the form. more: what stands beneath it."""
        models = list(self.api.models.values())

        def page() -> Response:
            languages = {model.id: model.languages for model in models}
            content = {"problem": "", "document": None, "given": fields, "initial": _EMPTY, "models": models, **more}
            return show(request, "start.html", session, status, headers, languages=languages, **content)

        return await in_thread(page)  # it repeats the text


def _file(form: Form) -> Upload | None:
    """The file of a form, if one was chosen."""
    file = form.get("file")
    return file if isinstance(file, Upload) and file.name else None


def copies(suggestions: Sequence[Suggestion], source: str) -> dict[str, str]:
    r"""Return suggestions as texts to paste elsewhere: names, a table, ids, fields of MARC.

    source: MARC's code of the vocabulary; "" to recognise it by the ids, or else "local".

    >>> bees = Suggestion("http://x.org/1", "Bees", 2.5, confidence=0.75, notation="595.79")
    >>> for text in copies([bees], "gnd").values():
    ...     print(text.expandtabs(1))
    Bees (595.79)
    id notation name score confidence
    http://x.org/1 595.79 Bees 2.5 0.750
    http://x.org/1
    =650  \7$aBees$0http://x.org/1$2gnd
    >>> print(copies([Suggestion("http://d-nb.info/gnd/4006216-6", "Bees", 1.0)], "")["MARC"])
    =650  \7$aBees$0(DE-588)4006216-6$2gnd
    """
    names = (one_line(each.name) + (f" ({each.notation})" if each.notation else "") for each in suggestions)
    table = ["\t".join(("id", "notation", "name", "score", "confidence")), *map(_cells, suggestions)]
    code = source or recognise_source(suggestion.id for suggestion in suggestions)[0] or "local"
    return {
        _("Text"): "\n".join(names),
        "TSV": "\n".join(table),
        "URI": "\n".join(one_line(suggestion.id) for suggestion in suggestions),
        "MARC": "\n".join(mnemonic(subject_field(suggestion.id, suggestion.name, code)) for suggestion in suggestions),
    }


def _cells(each: Suggestion) -> str:
    texts = [escape_formula(one_line(text)) for text in (each.id, each.notation, each.name)]
    return "\t".join([*texts, f"{each.score:.6g}", "" if each.confidence is None else f"{each.confidence:.3f}"])
