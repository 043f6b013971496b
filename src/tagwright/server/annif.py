"""Annif's HTTP interface, version 1, for Annif's clients.

Each served model is a project. Scores are confidences from 0 to 1; where a tagger estimates none, its scores are
squashed to that range, and a threshold is compared with these. Beyond Annif, forms may be multipart, and pages of other
sites may post.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field, SkipValidation, field_validator

from tagwright.core.checked import show
from tagwright.data.texts import to_documents
from tagwright.defaults import MAX_LABELS
from tagwright.server.access import EVERYBODY, check_origin
from tagwright.server.current_request import get_current_request
from tagwright.server.deps import JsonRoute, Project, ServedModels, check_json
from tagwright.server.predictor import SuggestRequest
from tagwright.server.problems import Problem, bad_request, read_each
from tagwright.server.request_bodies import check_size, read_form
from tagwright.server.schemas import (
    EXAMPLE,
    PROBLEM,
    FromTexts,
    LabelRules,
    Sent,
    answer,
    checked,
    form_body,
    listed,
    shape,
)
from tagwright.server.served_model import ServedModel, score_from_0_to_1
from tagwright.server.turns import in_thread
from tagwright.tagger import Suggestion, Suggestions
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.text.language import detect
from tagwright.text.words import clean
from tagwright.types import Document
from tagwright.version import __version__

LARGEST_BATCH = 32

Learn = Callable[[ServedModel, Sequence[Mapping[str, Any]], str], Awaitable[None]]
"Stores labelled documents that a client has sent, under the name of the client."


class Options(FromTexts, LabelRules, Sent):
    """The options of a request for suggestions, in a form or an address."""

    limit: int = Field(MAX_LABELS, ge=0, description="The most subjects to suggest.")
    threshold: float | None = Field(0.0, ge=0, le=1, description="Least score.")
    language: str = Field("", description="Of the labels; by default that of the project.")

    @field_validator("threshold", mode="before")
    @classmethod
    def read_threshold(cls, text: Any) -> Any:
        """Return the number, None for NaN, which no score reaches; what is none is refused then."""
        try:
            number = float(text)
        except ValueError:
            return text
        return None if isnan(number) else number


class SuggestForm(Options):
    """A text, and the options of the request for suggestions."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": EXAMPLE}})

    text: str


class BatchDocument(Sent):
    """A document of a batch."""

    text: str
    document_id: str = ""
    metadata: dict[str, str] = Field({})


class Batch(Sent):
    """Documents, each of which is checked for itself."""

    model_config = ConfigDict(json_schema_extra={"example": {"documents": [{"text": EXAMPLE}]}})

    documents: list[SkipValidation[BatchDocument]] = Field(max_length=LARGEST_BATCH)


class Subject(Sent):
    """A subject of a document to learn from."""

    uri: str
    label: str = ""


class Labelled(BatchDocument):
    """A document to learn from."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": EXAMPLE, "subjects": [{"uri": "http://x.org/1"}]}})

    text: str = ""
    subjects: list[Subject] = Field([])


class LanguagesOf(Sent):
    """A text, and the languages that it may be in."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": EXAMPLE, "languages": ["en", "de"]}})

    text: str
    languages: list[str] = Field(min_length=1, max_length=5)


VOCABULARY: Mapping[str, Any] = {"vocab_id": str, "languages": list[str], "size": int, "loaded": bool}
PROJECT: Mapping[str, Any] = {
    **dict.fromkeys(("project_id", "name", "language", "vocab_language"), str),
    "backend": shape("Backend", backend_id=str),
    "vocab": shape("VocabularyInfo", **VOCABULARY),
    "is_trained": bool,
    "modification_time": str | None,
}
RESULT = shape("Result", uri=str, label=str, notation=str | None, score=float)
RESULTS_OF = shape("ResultsOf", results=[RESULT], document_id=str | None, problem=(str, ""))
LANGUAGE = shape("Language", language=str | None, score=float)


async def check_may_learn(model: Project, request: Request) -> None:
    """Raise Problem (403) unless the server stores documents to learn from, and the token of the request is enough."""
    if request.app.state.learn is None:
        detail = f"Project '{model.id}' is not configured to allow learning via API"
        remedy = "start the server with --learn and --reviews FILE.sqlite"
        raise Problem(403, f"{detail}; {remedy}", "Learning not allowed")
    request.state.holder.check("admin")
    if request.state.holder is EVERYBODY:
        check_origin(request)  # otherwise any web page could send documents to the model of its visitors


router = APIRouter(prefix="/v1", route_class=JsonRoute, strict_content_type=False, responses=PROBLEM)
OF_JSON = [Depends(check_json)]


@router.get("/", responses=answer("Information", title=str, version=str))
async def show_information() -> Response:
    """The name and version of the server."""
    return JSONResponse({"title": "Tagwright, interface of Annif", "version": __version__})


@router.get("/projects", responses=answer("Projects", projects=[shape("Project", **PROJECT)]))
async def list_projects(models: ServedModels) -> Response:
    """The taggers, each as a project."""
    return JSONResponse({"projects": [await in_thread(_project, model) for model in models.values()]})


@router.get("/vocabs", responses=answer("Vocabularies", vocabs=[shape("VocabularyOf", **VOCABULARY)]))
async def list_vocabularies(models: ServedModels) -> Response:
    """The vocabularies of the projects."""
    described = {model.id: await in_thread(_vocabulary, model) for model in models.values()}
    return JSONResponse({"vocabs": list(described.values())})


@router.get("/projects/{project_id}", responses=answer("ProjectInfo", **PROJECT))
async def show_project(model: Project) -> Response:
    """One project."""
    return JSONResponse(await in_thread(_project, model))


@router.post(
    "/projects/{project_id}/suggest",
    responses=answer("Results", results=[RESULT]),
    openapi_extra=form_body(SuggestForm.model_json_schema()),
)
async def suggest_for_text(model: Project, request: Request) -> Response:
    """Suggest subjects for a text."""
    model.check_room()
    form = await read_form(request, files=0)
    if not form:
        raise bad_request("RequestBody is required")
    first = dict(reversed(form.multi_items()))  # of several values
    sent = checked(SuggestForm, first | {name: form.getlist(name) for name in ("only", "without")})
    (suggested,) = await _suggestions(model, [_document(sent.text)], sent)
    return JSONResponse({"results": _results(suggested)})


@router.post(
    "/projects/{project_id}/suggest-batch",
    responses={200: {"model": listed([RESULTS_OF])}},
    dependencies=OF_JSON,
)
async def suggest_for_texts(model: Project, batch: Batch, options: Annotated[Options, Query()]) -> Response:
    """Suggest subjects for each of several texts.

    One that cannot be read has a problem in place of subjects.
    """
    model.check_room(len(batch.documents))
    sent = await in_thread(read_each, enumerate(batch.documents), _document_of_batch)
    documents = [document for document in sent.values() if isinstance(document, Document)]
    suggested = iter(await _suggestions(model, documents, options))
    answers = list[dict[str, Any]]()
    for document, raw in zip(sent.values(), list[Any](batch.documents), strict=True):
        id_ = raw.get("document_id") if isinstance(raw, dict) else None
        answer: dict[str, Any] = {"document_id": id_ if isinstance(id_, str) else None, "results": []}
        if isinstance(document, Problem):
            answers.append(answer | {"problem": document.detail})
        else:
            answers.append(answer | {"results": _results(next(suggested))})
    return JSONResponse(answers)


@router.post(
    "/projects/{project_id}/learn", status_code=204, dependencies=[Depends(check_may_learn), *OF_JSON],
    responses={200: {"description": "The documents that were left out", "model": dict[str, Any]}},
)  # fmt: skip
async def learn_from_documents(model: Project, request: Request, documents: list[SkipValidation[Labelled]]) -> Response:
    """Store documents with their subjects, to learn from.

    The answer lists those that are left out, if there are any.
    """
    sent = await in_thread(read_each, enumerate(documents), _to_learn)
    sent = {number: _with_known_subjects(each, model) for number, each in sent.items()}
    labelled = [document for document in sent.values() if not isinstance(document, Problem)]
    if labelled:
        await request.app.state.learn(model, labelled, get_current_request().token or "client")
    if left_out := [{"index": i, "problem": each.detail} for i, each in sent.items() if isinstance(each, Problem)]:
        return JSONResponse({"left_out": left_out})
    return Response(status_code=204, media_type="application/json")


@router.post("/detect-language", responses=answer("Languages", results=[LANGUAGE]), dependencies=OF_JSON)
async def detect_languages(sent: LanguagesOf) -> Response:
    """How likely the text is in each of the languages, and in none of them (null)."""
    shares = await in_thread(detect, sent.text)
    known = {code: shares.get(code, 0.0) for code in dict.fromkeys(sent.languages)}
    scores: list[tuple[str | None, float]] = sorted(known.items(), key=lambda item: -item[1])
    if not any(known.values()):
        scores = []
    rest = max(0.0, 1.0 - sum(score for _, score in scores))
    return JSONResponse({"results": [{"language": code, "score": score} for code, score in (*scores, (None, rest))]})


def _project(model: ServedModel) -> dict[str, Any]:
    return {
        "project_id": model.id,
        "name": model.name,
        "language": model.language.partition("+")[0],
        "backend": {"backend_id": "tagwright"},
        "vocab": _vocabulary(model),
        "vocab_language": model.language,
        "is_trained": True,
        "modification_time": None if model.modified is None else model.modified.isoformat(),
    }


def _vocabulary(model: ServedModel) -> dict[str, Any]:
    """The vocabulary of a project. Its id is the project's up to the first hyphen: so clients derive it."""
    size = len(model.tagger.vocabulary)
    return {"vocab_id": model.id.partition("-")[0], "languages": model.languages, "size": size, "loaded": True}


async def _suggestions(model: ServedModel, documents: Sequence[Document], options: Options) -> list[Suggestions]:
    """Suggestions for each document, named in the language of the options, and counted. Raises Problem."""
    if options.language and not await in_thread(model.has_language, options.language):
        raise bad_request(f'language "{options.language[:40]}" not supported by vocabulary')
    rules = await _rules(model, options)
    if rules is None:
        suggestions = [Suggestions() for _ in documents]
        get_current_request().count(suggestions)
        return suggestions
    suggested = await model.suggest_and_record([SuggestRequest(document, rules) for document in documents])
    return [model.named_in(options.language, each) for each in suggested]


async def _rules(model: ServedModel, options: Options) -> SuggestOptions | None:
    """The options as the tagger takes them; None if no label can satisfy them: a limit of 0, a threshold of NaN."""
    threshold, own = options.threshold, options.model_dump(include={"only", "without", "hierarchy", "per_branch"})
    if threshold is None or options.limit == 0:
        return None
    if not threshold or model.tagger.estimates_confidence:
        return await model.options(k=options.limit, min_confidence=threshold, **own)
    if threshold == 1:  # which no squashed score reaches
        return None
    return await model.options(k=options.limit, min_score=_least_score(threshold), **own)


def _document(text: str, metadata: Mapping[str, str] = {}) -> Document:
    """The document of a text, with its metadata if there are any. Raises Problem (413)."""
    check_size(text)
    (document,) = to_documents([text])
    return replace(document, metadata=sent_metadata(metadata))


def sent_metadata(sent: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the metadata of a document, one value a field, without blank values."""
    values = {clean(name): clean(value).strip() for name, value in sent.items()}
    return {name: (value,) for name, value in values.items() if value}


def _results(suggestions: Sequence[Suggestion]) -> list[dict[str, Any]]:
    """Suggestions as the interface has them."""
    return [
        {
            "uri": suggestion.id, "label": suggestion.name, "notation": suggestion.notation or None,
            "score": score_from_0_to_1(suggestion),
        }
        for suggestion in suggestions
    ]  # fmt: skip


def _document_of_batch(number: int, sent: Any) -> Document:
    """A document of a batch, checked. Raises Problem (400, 413)."""
    document = checked(BatchDocument, sent, f"documents.{number}")
    return _document(document.text, document.metadata)


def _to_learn(number: int, sent: Any) -> dict[str, Any]:
    """A document to learn from, checked. Raises Problem (400, 413)."""
    document = checked(Labelled, sent, str(number))
    check_size(document.text)
    if not clean(document.text).strip():
        raise bad_request(f"there is no text to learn from - '{number}.text'")
    return document.model_dump(exclude_unset=True)


def _with_known_subjects(sent: dict[str, Any] | Problem, model: ServedModel) -> dict[str, Any] | Problem:
    """A document to learn from; a Problem where its vocabulary has none of its subjects, so that nothing is learned."""
    uris = [] if isinstance(sent, Problem) else [subject["uri"] for subject in sent.get("subjects", ())]
    if uris and not any(uri in model.tagger.vocabulary.index for uri in uris):
        return bad_request(f"none of its subjects is in the vocabulary (first: {show(uris[0])})")
    return sent


def _least_score(threshold: float) -> float:
    """The score that `squashed` turns into a threshold, minus 1e-9 so that rounding leaves nothing out.

    >>> round(_least_score(0.875), 6), round(_least_score(0.25), 6)
    (3.0, -1.0)
    """
    share = 2 * threshold - 1
    return share / (1 - abs(share)) - 1e-9
