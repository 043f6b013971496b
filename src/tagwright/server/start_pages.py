"""The pages at / and /api: suggestions for a text or a file, and the description of the API."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tagwright.catalogues.subjects import mnemonic, subject_field
from tagwright.core.display import escape_formula
from tagwright.data.subjects import recognise_source
from tagwright.defaults import MAX_LABELS
from tagwright.errors import InputError
from tagwright.readers.documents.sections import one_line
from tagwright.review.recall import SHOWN_FROM
from tagwright.server.access import Access, Session, check_origin
from tagwright.server.entrance import Entrance
from tagwright.server.json_api import sent_document, suggestions
from tagwright.server.languages import _, translated_error
from tagwright.server.pages import show
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import JSON, MULTIPART, Form, Upload, read_documents, read_form, text_of
from tagwright.server.rows import highlight, strongest_spans, suggested_row
from tagwright.server.schemas import AddressOptions, SentDocument, checked
from tagwright.server.served_model import model_named
from tagwright.server.turns import in_thread
from tagwright.tagger import Suggestion
from tagwright.types import Document
from tagwright.version import __version__

_EMPTY: Mapping[str, str] = {"text": "", "model": "", "language": "", "limit": str(MAX_LABELS), "source": ""}
"The fields of the form, as they are before anything is typed."


def routes(access: Access) -> list[Route]:
    """Return the routes of the pages and of their login; Annif's address /v1/ui leads here.

    Where tokens are needed, people log in first, as for the review.
    """
    entrance = Entrance(access, "/enter", "/", "suggest", named=False)
    return [
        entrance.route(),
        Route("/", entrance.page(start), methods=["GET"]),
        Route("/", entrance.page(suggest), methods=["POST"]),
        Route("/api", entrance.page(interface), methods=["GET"]),
        *(Route(f"/v1/ui{end}", RedirectResponse("/", 307), methods=["GET"]) for end in ("", "/")),
    ]


async def start(request: Request, session: Session | None) -> Response:
    """The form for a text or a file."""
    return await _start(request, session, _EMPTY)


async def suggest(request: Request, session: Session | None) -> Response:
    """The form again, with the suggestions or what is wrong."""
    fields = dict(_EMPTY)
    try:
        check_origin(request)
        form = await read_form(request, files=1)
        sent = {name: text_of(form, name).replace("\r\n", "\n") for name in _EMPTY}  # browsers send CRLF
        fields |= {name: text for name, text in sent.items() if text}
        content = await _suggested(request, form, fields)
    except Problem as problem:
        return await _start(request, session, fields, problem.status_code, problem.headers, problem=problem.detail)
    return await _start(request, session, fields, **content)


async def interface(request: Request, session: Session | None) -> Response:
    """The description of the API for people, with an example of each operation."""
    models, is_open = request.app.state.models, request.app.state.access.is_open
    described = request.app.openapi()
    groups: dict[str, list[dict[str, Any]]] = {"api": [], "v1": [], "reconcile": [], "": []}
    model = next(iter(models.values()))
    label = model.tagger.vocabulary[0]
    known = {"q": label.name, "prefix": label.name, "id": label.id, "model": model.id, "project_id": model.id}
    curl = partial(example, base=str(request.base_url), known=known, token=not is_open)
    for path, operations in described["paths"].items():
        first = path.split("/")[1]
        group = groups[first if first in groups else ""]
        for method, operation in operations.items():
            schemas = described["components"]["schemas"]
            group.append(described_call(method.upper(), path, operation, schemas, curl))
    return show(
        request, "api.html", session, models=models.values(), version=__version__, groups=groups, is_open=is_open
    )


async def _suggested(request: Request, form: Form, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the suggestions for a form, as the page shows them. Raises Problem."""
    document, others = await _document(request, form, fields["text"])
    rules = {"model": fields["model"] or None, "names_in": fields["language"], "limit": fields["limit"]}
    options = checked(AddressOptions, {**rules, "evidence": "1"})
    model = model_named(options.model, request.app.state.models)
    (suggested,) = await suggestions(model, [document], options)
    tagger, language, marked = model.tagger, fields["language"], text_of(form, "marked")

    def is_less_likely(rank: int, each: Suggestion) -> bool:
        return rank > 1 and each.confidence is not None and each.confidence < SHOWN_FROM

    def shown() -> dict[str, Any]:
        ranked = list(enumerate(suggested, 1))
        spans = {rank: strongest_spans(document.text, suggestion.evidence) for rank, suggestion in ranked}
        likely = [each for rank, each in ranked if not is_less_likely(rank, each)]
        return {
            "document": document, "others": others, "text": highlight(document, spans),
            "rows": [
                suggested_row(tagger, document, each, rank, language)._replace(is_folded=is_less_likely(rank, each))
                for rank, each in ranked
            ],
            "fits_none": suggested.none, "is_text": _file(form) is None,
            "marked": next((rank for rank in spans if str(rank) == marked), 1),
            "copies": copies(likely, fields["source"].strip()),
        }  # fmt: skip

    return await in_thread(shown)


async def _document(request: Request, form: Form, text: str) -> tuple[Document, int]:
    """The first document of the file, or else that of the text; how many more the file holds. Raises Problem."""
    file = _file(form)
    if file is None:
        if not text.strip():
            raise bad_request(_("Paste a text or choose a file."))
        return await in_thread(sent_document, SentDocument(text=text)), 0
    try:
        documents, _notes = await read_documents(request, file)
    except InputError as error:
        raise Problem(422, translated_error(error)) from None
    if not documents:
        raise Problem(422, _("%(file)s: holds no text") % {"file": file.name})
    return documents[0], len(documents) - 1


async def _start(
    request: Request, session: Session | None, fields: Mapping[str, str], status: int = 200,
    headers: Mapping[str, str] | None = None, **more: Any,
) -> Response:  # fmt: skip
    """The page with the form. more: what stands beneath it."""
    models = list(request.app.state.models.values())

    def page() -> Response:
        languages = {model.id: model.languages for model in models}
        content = {"problem": "", "document": None, "given": fields, "initial": _EMPTY, "models": models, **more}
        return show(request, "start.html", session, status, headers, languages=languages, **content)

    return await in_thread(page)  # it repeats the text


def inlined(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with those that it refers to in place, and without null, as the page shows it."""
    whole = dict(schema)
    if "$ref" in schema:
        whole = schemas[schema["$ref"].rpartition("/")[2]] | {"description": ""} | whole
    if kinds := [inlined(each, schemas) for each in whole.get("anyOf", ()) if each.get("type") != "null"]:
        whole = kinds[0] | whole | {"type": [kind["type"] for kind in kinds]}
    if "properties" in whole:
        whole["properties"] = {name: inlined(value, schemas) for name, value in whole["properties"].items()}
    return whole | ({"items": inlined(whole["items"], schemas)} if "items" in whole else {})


def described_call(
    method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any], curl: Callable[..., str]
) -> dict[str, Any]:
    """Return what the page shows of an operation. curl: writes an example, see `example`."""
    bodies = operation.get("requestBody", {}).get("content", {})
    results = operation["responses"].get("200", {}).get("content", {})
    sent = {kind: inlined(content["schema"], schemas) for kind, content in bodies.items()}
    return {
        "method": method, "path": path, "summary": operation["summary"],
        "anchor": re.sub(r"\W+", "-", f"{method} {path}").strip("-").lower(),
        "parameters": [
            {**each, "schema": inlined(each["schema"], schemas)} for each in operation.get("parameters", ())
        ],
        "bodies": sent, "curl": curl(path, operation.get("parameters", ()), sent),
        "answers": {kind: inlined(content["schema"], schemas) for kind, content in results.items()},
    }  # fmt: skip


def example(
    path: str, parameters: Sequence[Any], bodies: Mapping[str, Any], *, base: str, known: Mapping[str, str], token: bool
) -> str:
    """Return a call with curl. base: the address of the server. known: values of parameters. token: whether needed."""
    needed = {each["name"]: known[each["name"]] for each in parameters if each["required"] and each["in"] == "query"}
    address = base + re.sub(r"{(\w+)}", lambda found: quote(known[found[1]]), path[1:])
    query = f"?{urlencode(needed)}" if needed else ""
    words = ["curl", address + query, *(["-H", "Authorization: Bearer TOKEN"] if token else [])]
    for kind, schema in bodies.items():
        sent: Any = [schema["items"]["example"]] if "items" in schema else schema["example"]
        if kind == JSON:
            words += ["--json", json.dumps(sent, ensure_ascii=False)]
        else:
            flag = "-F" if kind == MULTIPART else "--data-urlencode"
            words += [word for name, value in sent.items() for word in (flag, f"{name}={value}")]
    return shlex.join(words)


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
