"""The server's own JSON interface: suggestions with confidence and evidence for documents and files, and searches."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from tagwright.core.checked import show
from tagwright.defaults import MAX_LABELS
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.records import SHAPES, to_document
from tagwright.readers.lines import Place
from tagwright.server.deps import JsonRoute, NamedModel, ServedModels, check_json
from tagwright.server.languages import Text
from tagwright.server.predictor import SuggestRequest
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import (
    MULTIPART,
    Form,
    Upload,
    check_size,
    read_documents,
    read_form,
)
from tagwright.server.schemas import (
    PROBLEM,
    SUGGESTIONS,
    AddressOptions,
    Asked,
    FileForm,
    LabelRules,
    SentDocument,
    SuggestFor,
    answer,
    checked,
    form_body,
    shape,
)
from tagwright.server.served_model import ServedModel, model_named
from tagwright.server.turns import in_thread
from tagwright.tagger import Suggestions
from tagwright.tagger.suggestions import meanings
from tagwright.text.language import in_language, parse
from tagwright.text.words import clean
from tagwright.types import Document

router = APIRouter(route_class=JsonRoute, strict_content_type=False, responses=PROBLEM)


MODEL = shape("Model", id=str, name=str, language=str, labels=int, version=str)
LABEL = shape("FoundLabel", id=str, name=str, notation=str, path=list[str], description=str)
STATUS = answer("Status", status=str)


@router.get("/api/models", responses=answer("Models", models=[MODEL]))
async def list_models(models: ServedModels) -> Response:
    """The taggers that are served."""
    described = [
        {
            "id": model.id, "name": model.name, "language": model.language.partition("+")[0],
            "labels": len(model.tagger.vocabulary), "version": model.version,
        }
        for model in models.values()
    ]  # fmt: skip
    return JSONResponse({"models": described})


@router.post("/api/suggest", responses=answer("Answer", **SUGGESTIONS), dependencies=[Depends(check_json)])
async def suggest(sent: SuggestFor, models: ServedModels) -> Response:
    """Suggest labels for a document: a text, or title, abstract and sections."""
    document = await in_thread(sent_document, sent)
    found = await answers(model_named(sent.model, models), [document], sent)
    return await in_thread(JSONResponse, found[0])  # with evidence it repeats the text


@router.post(
    "/api/files",
    responses=answer("Answers", documents=[shape("AnswerOfFile", **SUGGESTIONS)], notes=list[str]),
    openapi_extra=form_body(FileForm.model_json_schema(), MULTIPART),
)
async def suggest_for_file(
    request: Request, models: ServedModels, options: Annotated[AddressOptions, Query()]
) -> Response:
    """Suggest labels for the documents of a file, of any format that `tagwright read` reads."""
    file = _file(await read_form(request, kinds=(MULTIPART,), files=1))
    try:
        documents, notes = await read_documents(request, file)
    except InputError as error:
        raise Problem(422, str(error), "File cannot be read") from None
    if len(documents) > 32:
        raise Problem(422, f"the file holds {len(documents)} documents, at most 32 are accepted")
    found = await answers(model_named(options.model, models), documents, options)
    return await in_thread(JSONResponse, {"documents": found, "notes": notes})


@router.get("/api/labels", responses=answer("FoundLabels", labels=[LABEL], version=str))
async def search_labels(
    model: NamedModel, q: str, limit: Annotated[int, Query(ge=1, le=1000)] = MAX_LABELS
) -> Response:
    """Find labels by the beginning or a part of a name, alternative name, notation or id."""
    return JSONResponse(await found_labels(model, q, limit))


@router.get("/health", responses=STATUS)
async def health() -> Response:
    """Whether the server answers."""
    return JSONResponse({"status": "ok"})


@router.get("/ready", responses=STATUS)
async def ready(request: Request) -> Response:
    """Whether requests should be sent here: the taggers are loaded."""
    if not request.app.state.ready:
        raise Problem(503, "The models are being loaded", headers={"Retry-After": "1"})
    return JSONResponse({"status": "ready"})


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    text, kind = await in_thread(request.app.state.metrics.answer)
    return Response(text, media_type=kind)


async def found_labels(model: ServedModel, query: str, limit: int) -> dict[str, Any]:
    """Return at most `limit` labels that fit the query, best first, and the version of the model."""
    search = await in_thread(model.search)
    positions = await in_thread(search, clean(query)[:200], limit)
    vocabulary = model.tagger.vocabulary
    labels = [
        {
            "id": label.id, "name": label.name, "notation": label.notation,
            "path": vocabulary.path(position), "description": label.description,
        }
        for position, label in ((position, vocabulary[position]) for position in positions)
    ]  # fmt: skip
    return {"labels": labels, "version": model.version}


async def suggestions(model: ServedModel, documents: Sequence[Document], options: Asked) -> list[Suggestions]:
    """Suggest labels, named in the language of the options. Raises Problem."""
    language = options.names_in or ""
    if language and not await in_thread(model.has_language, language):
        form = "language is %(language)s, in which no label has a name"
        raise bad_request(Text(form, language=show(language)))
    chosen = options.model_dump(include={*LabelRules.model_fields, "min_score", "best_cut", "thresholds"})
    least = options.threshold if isinstance(options, SuggestFor) else None
    rules = await model.options(k=options.limit or MAX_LABELS, min_confidence=least, **chosen)
    if options.language:
        documents = [in_language(document, _code(options.language)) for document in documents]
    requests = [SuggestRequest(document, rules, bool(options.evidence)) for document in documents]
    return [model.named_in(language, row) for row in await model.suggest_and_record(requests)]


async def answers(model: ServedModel, documents: Sequence[Document], options: Asked) -> list[dict[str, Any]]:
    """Suggest labels, as `suggestions` does, and return what is answered for each document. Raises Problem."""
    suggested = await suggestions(model, documents, options)
    stages = model.tagger.meanings if options.evidence else None

    def answered() -> list[dict[str, Any]]:
        pairs = zip(documents, suggested, strict=True)
        rows = [{**_answer(document, each, stages), "version": model.version} for document, each in pairs]
        if names_in := options.names_in:
            for suggestion in chain.from_iterable(row["suggestions"] for row in rows):
                suggestion["language"] = model.label(suggestion["id"]).named_in(names_in)[1]
        return rows

    return await in_thread(answered)


def _code(language: str) -> str:
    try:
        return parse(language).code
    except ConfigError as error:
        raise bad_request(str(error)) from None


def _file(form: Form) -> Upload:
    """The file in a form, which may hold nothing else. Raises Problem (400)."""
    for name in form:
        if name in AddressOptions.model_fields:
            raise bad_request(f"'{name}' is an option, expected in the address: /api/files?{name}=")
    checked(FileForm, dict(form))
    file = form.get("file")
    if not isinstance(file, Upload):
        raise bad_request("'file' is a required part")
    return file


def sent_document(sent: SentDocument) -> Document:
    """Return the document that a client has sent. Raises Problem (400, 413)."""
    fields = sent.model_dump(include={*SentDocument.model_fields}, warnings=False)  # of what is checked below
    content = {name: value for name, value in fields.items() if value}
    check_size(content)  # before it is read, which takes seconds for 20 MB
    try:
        return to_document({"id": "document", **content}, SHAPES["jsonl"], Place("request", 1))
    except InputError as error:
        raise bad_request(error.problem) from None


def _answer(document: Document, suggestions: Suggestions, stages: Mapping[str, str] | None) -> dict[str, Any]:
    """The answer for a document. stages: their meanings, see `Tagger.meanings`; None without evidence."""
    head = {"id": document.id} | ({} if suggestions.none is None else {"none": suggestions.none})
    if stages is None:
        return {**head, "suggestions": [suggestion.to_dict() for suggestion in suggestions]}
    explained = [suggestion.to_dict(document.text) for suggestion in suggestions]
    known = meanings((reason for suggestion in suggestions for reason in suggestion.reasons), stages)
    return {**head, "suggestions": explained, "text": document.text, "meanings": known}
