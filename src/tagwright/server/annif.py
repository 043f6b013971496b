"""Annif's HTTP interface, version 1, for Annif's clients.

Each served model is a project. Scores are confidences from 0 to 1; where a tagger estimates none, its scores are
squashed to that range, and a threshold is compared with these. Beyond Annif, forms may be multipart, and pages of other
sites may post.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.datastructures import ImmutableMultiDict, MultiDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tagwright.core.checked import show
from tagwright.data.texts import to_documents
from tagwright.defaults import MAX_LABELS
from tagwright.server.access import EVERYBODY, Holder, check_origin
from tagwright.server.current_request import get_current_request
from tagwright.server.openapi import (
    LABEL_RULES,
    Operation,
    array,
    check,
    make_nullable,
    object_,
    query,
    schema,
)
from tagwright.server.predictor import SuggestRequest
from tagwright.server.problems import Problem, bad_request, read_each
from tagwright.server.request_bodies import (
    FORM,
    Form,
    check_size,
    label_rules,
    parse_whole_number,
    read_form,
    read_json,
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

_TEXT = schema("string")
_METADATA = {**object_({}), "additionalProperties": _TEXT}
_DOCUMENT = object_({"text": _TEXT, "document_id": _TEXT, "metadata": _METADATA}, ("text",))
_SUBJECTS = array(object_({"uri": _TEXT, "label": _TEXT}, ("uri",)))
_LEARNT = object_({"text": _TEXT, "document_id": _TEXT, "metadata": _METADATA, "subjects": _SUBJECTS}, ())
_LANGUAGES = object_({"text": _TEXT, "languages": array(_TEXT, minItems=1, maxItems=5)})
_OPTIONS = {
    "limit": schema("integer", "The most subjects to suggest.", minimum=0, default=MAX_LABELS),
    "threshold": schema("number", "Least score.", minimum=0, maximum=1, default=0),
    "language": schema("string", "Of the labels; by default that of the project."),
    **LABEL_RULES,
}

Learn = Callable[[ServedModel, Sequence[Mapping[str, Any]], str], Awaitable[None]]
"Stores labelled documents that a client has sent, under the name of the client."


@dataclass(frozen=True)
class AnnifApi:
    """The operations below /v1. store: stores labelled documents of clients; None: they are accepted and dropped."""

    models: Mapping[str, ServedModel]
    store: Learn | None

    def operations(self) -> list[Operation]:
        """Return all operations of this interface, with the schemas of OpenAPI."""
        project, count, score = "/v1/projects/{project_id}", schema("integer"), schema("number")
        vocabulary = object_({"vocab_id": _TEXT, "languages": array(_TEXT), "size": count, "loaded": schema("boolean")})
        described = object_({
            "project_id": _TEXT, "name": _TEXT, "language": _TEXT, "backend": object_({"backend_id": _TEXT}),
            "vocab": vocabulary, "vocab_language": _TEXT, "is_trained": schema("boolean"),
            "modification_time": make_nullable(_TEXT),
        })  # fmt: skip
        results = array(object_({"uri": _TEXT, "label": _TEXT, "notation": make_nullable(_TEXT), "score": score}))
        of_document = object_(
            {"document_id": make_nullable(_TEXT), "results": results, "problem": _TEXT}, ("document_id", "results")
        )
        languages = array(object_({"language": make_nullable(_TEXT), "score": score}))
        return [
            Operation("GET", "/v1/", show_information, object_({"title": _TEXT, "version": _TEXT})),
            Operation("GET", "/v1/projects", self.list_projects, object_({"projects": array(described)})),
            Operation("GET", "/v1/vocabs", self.list_vocabularies, object_({"vocabs": array(vocabulary)})),
            Operation("GET", project, self.show_project, described),
            Operation(
                "POST", f"{project}/suggest", self.suggest_for_text, object_({"results": results}),
                body=object_({"text": _TEXT, **_OPTIONS}, ("text",)), body_type=FORM,
            ),
            Operation(
                "POST", f"{project}/suggest-batch", self.suggest_for_texts, array(of_document),
                parameters=[query(name, option) for name, option in _OPTIONS.items()],
                body=object_({"documents": array(_DOCUMENT, maxItems=LARGEST_BATCH)}),
            ),
            Operation("POST", f"{project}/learn", self.learn_from_documents, None, body=array(_LEARNT)),
            Operation(
                "POST", "/v1/detect-language", detect_languages, object_({"results": languages}), body=_LANGUAGES
            ),
        ]  # fmt: skip

    async def list_projects(self, _: Request) -> Response:
        """The taggers, each as a project."""
        return JSONResponse({"projects": [await in_thread(_project, model) for model in self.models.values()]})

    async def list_vocabularies(self, _: Request) -> Response:
        """The vocabularies of the projects."""
        described = {model.id: await in_thread(_vocabulary, model) for model in self.models.values()}
        return JSONResponse({"vocabs": list(described.values())})

    async def show_project(self, request: Request) -> Response:
        """One project."""
        return JSONResponse(await in_thread(_project, self._model(request)))

    async def suggest_for_text(self, request: Request) -> Response:
        """Suggest subjects for a text."""
        model = self._model(request)
        model.check_room()
        document, fields = await read_form(request, _document_of_form, files=0)
        options = _options(model, fields)
        language = await _language(model, fields)
        (suggested,) = await _suggestions(model, [document], options)
        return JSONResponse({"results": _results(model.named_in(language, suggested))})

    async def suggest_for_texts(self, request: Request) -> Response:
        """Suggest subjects for each of several texts.

        One that cannot be read has a problem in place of subjects.
        """
        model, fields = self._model(request), request.query_params
        model.check_room(LARGEST_BATCH)
        sent = await read_json(request, _documents)
        options = _options(model, fields)
        language = await _language(model, fields)
        documents = [document for _, document in sent if isinstance(document, Document)]
        suggested = iter(await _suggestions(model, documents, options))
        return JSONResponse(
            [
                {"document_id": id_, "results": [], "problem": document.detail}
                if isinstance(document, Problem)
                else {"document_id": id_, "results": _results(model.named_in(language, next(suggested)))}
                for id_, document in sent
            ]
        )

    async def learn_from_documents(self, request: Request) -> Response:
        """Store documents with their subjects, to learn from.

        The answer lists those that are left out, if there are any.
        """
        model = self._model(request)
        if not model.learns:
            detail = f"Project '{model.id}' is not configured to allow learning via API"
            remedy = "start the server with --learn and --reviews FILE.sqlite"
            raise Problem(403, f"{detail}; {remedy}", "Learning not allowed")
        holder: Holder = request.state.holder
        holder.check("admin")
        if holder is EVERYBODY:
            check_origin(request)  # otherwise any web page could send documents to the model of its visitors
        sent = {
            number: document if isinstance(document, Problem) else _find_known_subjects(document, model)
            for number, document in (await read_json(request, _to_learn)).items()
        }
        if self.store is not None:
            labelled = [document for document in sent.values() if not isinstance(document, Problem)]
            if labelled:
                await self.store(model, labelled, get_current_request().token or "client")
        if left_out := [{"index": i, "problem": each.detail} for i, each in sent.items() if isinstance(each, Problem)]:
            return JSONResponse({"left_out": left_out})
        return Response(status_code=204, media_type="application/json")

    def _model(self, request: Request) -> ServedModel:
        project = request.path_params["project_id"]
        if project not in self.models:
            raise Problem(404, f"Project '{project}' not found", "Project not found")
        return self.models[project].for_request()


async def show_information(_: Request) -> Response:
    """The name and version of the server."""
    return JSONResponse({"title": "Tagwright, interface of Annif", "version": __version__})


async def detect_languages(request: Request) -> Response:
    """How likely the text is in each of the languages, and in none of them (null)."""
    languages, shares = await read_json(request, _detect_asked)
    known = {code: shares.get(code, 0.0) for code in dict.fromkeys(languages)}
    scores: list[tuple[str | None, float]] = sorted(known.items(), key=lambda item: -item[1])
    if not any(known.values()):
        scores = []
    rest = max(0.0, 1.0 - sum(score for _, score in scores))
    return JSONResponse({"results": [{"language": code, "score": score} for code, score in (*scores, (None, rest))]})


def _detect_asked(content: Any) -> tuple[list[str], Mapping[str, float]]:
    """The languages that are asked for, and how likely the text is in each language that can be detected."""
    check(content, _LANGUAGES)
    return content["languages"], detect(content["text"])


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


async def _suggestions(
    model: ServedModel, documents: Sequence[Document], options: SuggestOptions | None
) -> list[Suggestions]:
    """Suggestions for each document, recorded; none without options."""
    if options is not None:
        return await model.suggest_and_record([SuggestRequest(document, options) for document in documents])
    suggestions = [Suggestions() for _ in documents]
    get_current_request().count(suggestions)
    return suggestions


def _document(sent: Mapping[str, Any]) -> Document:
    """The document of a text, with its metadata if there are any. Raises Problem (413)."""
    check_size(sent["text"])
    (document,) = to_documents([sent["text"]])
    return replace(document, metadata=sent_metadata(sent))


def sent_metadata(sent: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the metadata of a document, one value a field, without blank values."""
    values = {clean(name): clean(value).strip() for name, value in sent.get("metadata", {}).items()}
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


def _document_of_form(form: Form) -> tuple[Document, MultiDict]:
    """The text of a form, and its fields; `get` gives the first of several values. Raises Problem."""
    if not form:
        raise bad_request("RequestBody is required")
    fields = MultiDict(reversed(form.multi_items()))
    if "text" not in fields:
        raise bad_request("'text' is a required property")
    return _document(fields), fields


def _documents(content: Any) -> list[tuple[str | None, Document | Problem]]:
    """The documents of a batch with their ids, each checked for itself. Raises Problem if all are wrong."""
    check(content, object_({"documents": schema("array", maxItems=LARGEST_BATCH)}))
    sent = content["documents"]

    def read(number: int, each: Any) -> Document:
        check(each, _DOCUMENT, f"documents.{number}")
        return _document(each)

    ids = [document.get("document_id") if isinstance(document, dict) else None for document in sent]
    documents = read_each(enumerate(sent), read).values()
    return list(zip((each if isinstance(each, str) else None for each in ids), documents, strict=True))


def _to_learn(content: Any) -> dict[int, dict[str, Any] | Problem]:
    """The documents to learn from by their numbers, each checked for itself. Raises Problem if all are wrong."""
    check(content, schema("array"))

    def read(number: int, each: Any) -> dict[str, Any]:
        check(each, _LEARNT, str(number))
        check_size(each.get("text", ""))
        if not clean(each.get("text", "")).strip():
            raise bad_request(f"there is no text to learn from - '{number}.text'")
        return dict(each)

    return read_each(enumerate(content), read)


def _find_known_subjects(sent: Mapping[str, Any], model: ServedModel) -> Mapping[str, Any] | Problem:
    """A document to learn from; a Problem where its vocabulary has none of its subjects, so that nothing is learned."""
    uris = [subject["uri"] for subject in sent.get("subjects", ())]
    if uris and not any(uri in model.tagger.vocabulary.index for uri in uris):
        return bad_request(f"none of its subjects is in the vocabulary (first: {show(uris[0])})")
    return sent


def _options(model: ServedModel, fields: ImmutableMultiDict[Any, Any]) -> SuggestOptions | None:
    """The options in a form or an address; None if no label can satisfy them: a limit of 0, a threshold of NaN."""
    limit, threshold = parse_whole_number(fields.get("limit", str(MAX_LABELS))), _number(fields.get("threshold", "0"))
    check(limit, _OPTIONS["limit"], "limit")
    if threshold != threshold:  # NaN
        return None
    check(threshold, _OPTIONS["threshold"], "threshold")
    rules = label_rules(fields)
    check(rules, object_({name: LABEL_RULES[name] for name in ("only", "without")}))  # others: `model.options`
    if not threshold or model.tagger.estimates_confidence:
        return None if limit == 0 else model.options(k=limit, min_confidence=threshold, **rules)
    is_impossible = limit == 0 or threshold == 1  # which no squashed score reaches
    return None if is_impossible else model.options(k=limit, min_score=_least_score(threshold), **rules)


def _least_score(threshold: float) -> float:
    """The score that `squashed` turns into a threshold, minus 1e-9 so that rounding leaves nothing out.

    >>> round(_least_score(0.875), 6), round(_least_score(0.25), 6)
    (3.0, -1.0)
    """
    share = 2 * threshold - 1
    return share / (1 - abs(share)) - 1e-9


def _number(text: str) -> Any:
    """The number of a form, or else the text itself, which the schema does not admit."""
    try:
        return float(text)
    except ValueError:
        return text


async def _language(model: ServedModel, fields: Mapping[str, str]) -> str:
    """The code of the language for the names of labels; "" for preferred names. Raises Problem (400)."""
    language = fields.get("language", "")
    if language and not await in_thread(model.has_language, language):
        raise bad_request(f'language "{language[:40]}" not supported by vocabulary')
    return language
