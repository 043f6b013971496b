"""The server's own JSON interface: suggestions with confidence and evidence for documents and files, and searches.

Each `Operation` holds the function that answers at an address, and the schemas of its parameters, body and answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tagwright.core.checked import show
from tagwright.defaults import MAX_LABELS
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.records import SHAPES, to_document
from tagwright.readers.lines import Place
from tagwright.server.counters import Counters
from tagwright.server.languages import Text
from tagwright.server.openapi import (
    LABEL_RULES,
    Operation,
    Schema,
    array,
    check,
    check_names,
    close_schema,
    make_nullable,
    object_,
    query,
    schema,
)
from tagwright.server.predictor import SuggestRequest
from tagwright.server.problems import Problem, ask_later, bad_request
from tagwright.server.request_bodies import (
    MULTIPART,
    Form,
    ReadDocuments,
    Upload,
    check_size,
    label_rules,
    parse_whole_number,
    read_documents,
    read_form,
    read_json,
)
from tagwright.server.served_model import ServedModel, model_named
from tagwright.server.turns import in_thread
from tagwright.tagger import Suggestions
from tagwright.tagger.reasons import meanings
from tagwright.text.language import in_language, parse
from tagwright.text.words import clean
from tagwright.types import Document

_TEXT, _NUMBER, _COUNT = schema("string"), schema("number"), schema("integer")
_DOCUMENT = {
    "id": _TEXT,
    "title": _TEXT,
    "abstract": _TEXT,
    "text": _TEXT,
    "sections": array(object_({"heading": _TEXT, "level": _COUNT, "paragraphs": array(_TEXT)})),
}
OPTIONS: Mapping[str, Schema] = {
    "model": schema("string", "Id of the tagger; by default the first."),
    "limit": schema("integer", "The most labels to suggest.", minimum=1, maximum=1000, default=MAX_LABELS),
    "threshold": schema("number", "Least confidence; above 0 where it is estimated.", minimum=0, maximum=1, default=0),
    "min_score": schema("number", "Least score, on the tagger's own scale."),
    "best_cut": schema("boolean", "As many labels as have the greatest expected F1, by their confidences."),
    "thresholds": schema("boolean", "Only labels as sure as their own thresholds ask for, if the tagger has these."),
    **LABEL_RULES,
    "names_in": schema("string", "Of the names, a code such as sv; without one, or a name in it: preferred names."),
    "language": schema("string", "Language of the text; recognised by default."),
    "evidence": schema("boolean", "Say why: reasons by what they add, and stage by stage, with positions in the text."),
}
"Options of a request for suggestions."
_REQUEST = close_schema(object_({**_DOCUMENT, **OPTIONS}, ()))
_ADDRESS = {name: OPTIONS[name] for name in ("model", "limit", "names_in", "language", "evidence", *LABEL_RULES)}
_FORM = close_schema(object_({"file": {"type": "string", "format": "binary"}}))


@dataclass(frozen=True)
class JsonApi:
    """The operations below /api, /health, /ready and /metrics."""

    models: Mapping[str, ServedModel]
    counters: Counters

    def operations(self) -> list[Operation]:
        """Return all operations of this interface, with the schemas of OpenAPI."""
        span = object_({"start": _COUNT, "end": _COUNT, "text": _TEXT, "weight": _NUMBER})
        evidence = object_({"stage": _TEXT, "rank": _COUNT, "score": _NUMBER, "spans": array(span)})
        reason = object_({"name": _TEXT, "added": _NUMBER, "rank": _COUNT, "remark": _TEXT}, ("name",))
        suggestion = object_(
            {
                "id": _TEXT,
                "name": _TEXT,
                "notation": schema("string", "Place in a classification, such as 595.79; empty where there is none."),
                "score": _NUMBER,
                "confidence": make_nullable(_NUMBER),
                "reasons": array(
                    reason, "Stages, or features of a learned combiner: what raises the score most comes first."
                ),
                "evidence": array(evidence),
                "estimate": object_({"by": _TEXT, "features": {**object_({}), "additionalProperties": _NUMBER}}),
                "translated": array(_TEXT, "Translated names by which texts find the label too."),
                "language": schema("string", "With names_in, of the name; empty where nothing says it."),
            },
            required=("id", "name", "notation", "score", "confidence"),
        )
        none = schema("number", "Probability that no label of the vocabulary fits; missing where it is not estimated.")
        version = schema("string", "The tagger that answered and its version, as in the header X-Model-Version.")
        meanings = {**object_({}), "additionalProperties": _TEXT, "description": "What the names of the reasons mean."}
        suggested = object_(
            {
                "id": _TEXT,
                "none": none,
                "suggestions": array(suggestion),
                "text": _TEXT,
                "meanings": meanings,
                "version": version,
            },
            required=("id", "suggestions", "version"),
        )
        model = object_({"id": _TEXT, "name": _TEXT, "language": _TEXT, "labels": _COUNT, "version": _TEXT})
        label = object_({"id": _TEXT, "name": _TEXT, "notation": _TEXT, "path": array(_TEXT), "description": _TEXT})
        search = query("q", _TEXT, required=True), query("model", _TEXT), query("limit", OPTIONS["limit"])
        options = [query(name, option) for name, option in _ADDRESS.items()]
        status = object_({"status": _TEXT})
        return [
            Operation("GET", "/api/models", self.list_models, object_({"models": array(model)})),
            Operation("POST", "/api/suggest", self.suggest, suggested, body=_REQUEST),
            Operation(
                "POST", "/api/files", self.suggest_for_file,
                object_({"documents": array(suggested), "notes": array(_TEXT)}), options,
                body=_FORM, body_type=MULTIPART,
            ),
            Operation(
                "GET", "/api/labels", self.search_labels, object_({"labels": array(label), "version": version}), search
            ),
            Operation("GET", "/health", self.health, status),
            Operation("GET", "/ready", self.ready, status),
            Operation("GET", "/metrics", self.metrics, _TEXT, answer_type="text/plain"),
        ]  # fmt: skip

    async def list_models(self, _: Request) -> Response:
        """The taggers that are served."""
        models = [
            {
                "id": model.id, "name": model.name, "language": model.language.partition("+")[0],
                "labels": len(model.tagger.vocabulary), "version": model.version,
            }
            for model in self.models.values()
        ]  # fmt: skip
        return JSONResponse({"models": models})

    async def suggest(self, request: Request) -> Response:
        """Suggest labels for a document: a text, or title, abstract and sections."""
        document, options = await read_json(request, document_and_options)
        return await self._answered([document], options, lambda answers: answers[0])

    async def suggest_for_file(self, request: Request) -> Response:
        """Suggest labels for the documents of a file, of any format that `tagwright read` reads."""
        check_names(dict(request.query_params), close_schema(object_(_ADDRESS)))
        options = _options_of_address(request.query_params)
        file = await read_form(request, _file, kinds=(MULTIPART,), files=1)
        try:
            documents = await read_documents(request, file)
        except InputError as error:
            raise Problem(422, str(error), "File cannot be read") from None
        if len(documents) > 32:
            raise Problem(422, f"the file holds {len(documents)} documents, at most 32 are accepted")
        notes = list(documents.notes) if isinstance(documents, ReadDocuments) else []
        return await self._answered(documents, options, lambda answers: {"documents": answers, "notes": notes})

    async def search_labels(self, request: Request) -> Response:
        """Find labels by the beginning or a part of a name, alternative name, notation or id."""
        parameters = request.query_params
        if "q" not in parameters:
            raise bad_request("'q' is a required parameter")
        options = _options_of_address(parameters)
        model = model_named(options.get("model"), self.models)
        return JSONResponse(await self.found(model, parameters["q"], options["limit"]))

    async def found(self, model: ServedModel, query: str, limit: int) -> dict[str, Any]:
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

    async def health(self, _: Request) -> Response:
        """Whether the server answers."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Whether requests should be sent here: the taggers are loaded."""
        if not request.app.state.ready:
            raise ask_later(503, "The models are being loaded")
        return JSONResponse({"status": "ready"})

    async def metrics(self, _: Request) -> Response:
        """Numbers for Prometheus."""
        text = await in_thread(self.counters.text)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def suggestions(
        self, model: ServedModel, documents: Sequence[Document], options: Mapping[str, Any]
    ) -> list[Suggestions]:
        """Suggest labels, named in the language of the options, see `options_of`. Raises Problem."""
        language = options.get("names_in", "")
        if language and not await in_thread(model.has_language, language):
            form = "language is %(language)s, in which no label has a name"
            raise bad_request(Text(form, language=show(language)))
        rules = model.options(
            k=options.get("limit", MAX_LABELS),
            min_confidence=options.get("threshold", 0),
            **{name: options.get(name) for name in ("min_score", "best_cut", "thresholds", *LABEL_RULES)},
        )
        if options.get("language"):
            documents = [in_language(document, _code(options["language"])) for document in documents]
        requests = [SuggestRequest(document, rules, options.get("evidence", False)) for document in documents]
        return [model.named_in(language, row) for row in await model.suggest_and_record(requests)]

    async def answers(
        self, model: ServedModel, documents: Sequence[Document], options: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Suggest labels, as `suggestions` does, and return what is answered for each document. Raises Problem."""
        suggested = await self.suggestions(model, documents, options)
        stages = model.tagger.meanings if options.get("evidence") else None

        def answered() -> list[dict[str, Any]]:
            pairs = zip(documents, suggested, strict=True)
            answers = [{**_answer(document, each, stages), "version": model.version} for document, each in pairs]
            if names_in := options.get("names_in"):
                for suggestion in chain.from_iterable(one["suggestions"] for one in answers):
                    suggestion["language"] = model.label(suggestion["id"]).named_in(names_in)[1]
            return answers

        return await in_thread(answered)

    async def _answered(
        self, documents: Sequence[Document], options: Mapping[str, Any], shape: Callable[[list[dict[str, Any]]], Any]
    ) -> Response:
        answers = await self.answers(model_named(options.get("model"), self.models), documents, options)
        # with evidence it repeats the text
        return await in_thread(lambda: JSONResponse(shape(answers)))


def _code(language: str) -> str:
    try:
        return parse(language).code
    except ConfigError as error:
        raise bad_request(str(error)) from None


def options_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in the fields of a request, checked, without those that are null. Raises Problem (400)."""
    options = {key: content[key] for key in OPTIONS if content.get(key) is not None}
    check(options, object_(OPTIONS, ()))
    return options


def _options_of_address(fields: QueryParams) -> dict[str, Any]:
    """The options in an address, checked. Raises Problem (400)."""
    texts = {name: fields.get(name) for name in ("model", "names_in", "language")}
    evidence, limit = fields.get("evidence") in ("1", "true"), parse_whole_number(fields.get("limit", str(MAX_LABELS)))
    return options_of({**texts, **label_rules(fields), "limit": limit, "evidence": evidence})


def document_and_options(content: Any) -> tuple[Document, dict[str, Any]]:
    """Return the document of a request for suggestions and its options, checked. Raises Problem (400, 413)."""
    if not isinstance(content, dict):
        raise bad_request("expected an object")
    check_names(content, _REQUEST)
    if not {"title", "abstract", "text", "sections"} & content.keys():
        raise bad_request("'text' is a required property, or title, abstract or sections")
    options = options_of(content)
    return sent_document(content), options


def _file(form: Form) -> Upload:
    """The file in a form, which may hold nothing else. Raises Problem (400)."""
    for name in form:
        if name in _ADDRESS:
            raise bad_request(f"'{name}' is an option, expected in the address: /api/files?{name}=")
    check_names(dict(form), _FORM)
    file = form.get("file")
    if not isinstance(file, Upload):
        raise bad_request("'file' is a required part")
    return file


def sent_document(fields: Mapping[str, Any]) -> Document:
    """Return the document in the fields of a request. Raises Problem (400, 413)."""
    content = {key: fields[key] for key in _DOCUMENT if fields.get(key)}
    check_size(content)  # before it is read, which takes seconds for 20 MB
    check({name: content[name] for name in ("title", "abstract", "text") if name in content}, object_(_DOCUMENT, ()))
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
