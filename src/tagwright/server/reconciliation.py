"""A reconciliation service, for OpenRefine and other clients of the Reconciliation Service API, version 0.2.

Each served model is a service: clients send words, and get the labels of its vocabulary that the words may mean.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Annotated, Any, Self, TypeAlias
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi import Query as QueryParameter
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from starlette.requests import ClientDisconnect

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.deps import JsonRoute, NamedModel, named_model
from tagwright.server.label_search import fold_text
from tagwright.server.pages import render
from tagwright.server.problems import Problem, bad_request, read_each
from tagwright.server.request_bodies import FORM, parse_json, read_form, text_of
from tagwright.server.schemas import PROBLEM, Sent, checked, form_body
from tagwright.server.served_model import ServedModel, score_from_0_to_1
from tagwright.server.turns import in_thread
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.text.words import clean
from tagwright.types import Label
from tagwright.version import __version__

BATCH = 50
"Queries that one request may hold."

LONGEST = 200
"Characters of a query that are compared: names are shorter."

LIMIT = 10
"Candidates of a query that names no other number, and labels that complete what is being typed."

CONCEPT = "http://www.w3.org/2004/02/skos/core#Concept"
"The type that every label has."

PROPERTIES: Mapping[str, tuple[str, Callable[[Label], Iterable[str]]]] = {
    "notation": ("Notation", lambda label: [label.notation]),
    "broader": ("Broader label, by id or name", lambda label: label.broader),
    "scheme": ("Concept scheme, by id", lambda label: label.schemes),
}
"Properties of labels that a query may name: what they are, and their values."

Resolve: TypeAlias = Callable[[str], int | None]


def _values(value: Any) -> list[str]:
    """The values of a property as texts; of an entity, its id."""
    values = value if isinstance(value, list) else [value]
    texts = (each.get("id", "") if isinstance(each, dict) else each for each in values)
    return [clean(str(text)).strip() for text in texts]


class Property(Sent):
    """A property of a query. v: the values of which a label has one."""

    pid: str
    v: Annotated[list[str], BeforeValidator(_values)]


class Query(Sent):
    """A query of a client; a blank text is valid, as OpenRefine sends it for an empty cell.

    type: URIs, of which a label has one; empty for all.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    query: str = Field("", max_length=10_000)
    limit: float = Field(LIMIT, ge=1)
    type: list[str] = Field([])
    properties: list[Property] = Field([])

    @property
    def most(self) -> int:
        """The number of candidates."""
        return int(min(self.limit, 100))

    @field_validator("type", "properties", mode="before")
    @classmethod
    def list_values(cls, value: Any) -> Any:
        """One value is a list of it, and none is an empty one."""
        return [value] if isinstance(value, str) else value or []

    @model_validator(mode="after")
    def check_content(self) -> Self:
        """Refuse a query of nothing, and one of too many values."""
        problem, count = "", sum(len(each.v) for each in self.properties)
        if "query" not in self.model_fields_set and not self.properties:
            problem = "a query has neither 'query' nor 'properties'"
        elif count > 1000:
            problem = f"the query has {count:,} values of properties, at most 1000 are accepted"
        if problem:
            raise PydanticCustomError("content", "{problem}", {"problem": problem})
        return self


QUERIES_FORM = {
    "type": "object",
    "properties": {"queries": {"type": "string"}},
    "required": ["queries"],
    "example": {"queries": '{"q0": {"query": "Bees"}}'},
}
"The form of a batch: JSON with queries by their keys."

router = APIRouter(prefix="/reconcile", route_class=JsonRoute, responses=PROBLEM)

Typed = Annotated[str, QueryParameter(alias="prefix")]
Cursor = Annotated[int, QueryParameter(ge=0, le=1000)]


@router.get("", name="describe_first")
@router.get("/{model}")
async def describe(request: Request, model: NamedModel, queries: str | None = None) -> Response:
    """The manifest of the service of a tagger, or, with queries, their candidates."""
    if queries is not None:
        return await _answered(request, model, await in_thread(_queries, queries))
    needs_token = not request.app.state.access.is_open
    return JSONResponse(await in_thread(_manifest, model, str(request.base_url).rstrip("/"), needs_token))


@router.post("", name="reconcile_first", openapi_extra=form_body(QUERIES_FORM))
@router.post("/{model}", openapi_extra=form_body(QUERIES_FORM))
async def reconcile(request: Request, model: NamedModel) -> Response:
    """Candidates for the queries in a form: labels that each may mean, scored from 0 to 100."""
    form = await read_form(request, kinds=(FORM,), most=8_000_000)
    if "queries" not in form:
        raise bad_request("'queries' is a required property")
    return await _answered(request, model, await in_thread(_queries, text_of(form, "queries")))


@router.get("/{model}/suggest/entity")
async def suggest_entities(model: NamedModel, typed: Typed, cursor: Cursor = 0) -> Response:
    """Labels by the beginning or a part of a name, alternative name or id."""
    search = await in_thread(model.search)
    positions = await in_thread(search, clean(typed)[:LONGEST], cursor + LIMIT)
    vocabulary = model.tagger.vocabulary
    labels = [vocabulary[position] for position in positions[cursor:]]
    return JSONResponse(
        {"result": [{**_describe_entity(label, vocabulary), "notable": _types(label)} for label in labels]}
    )


@router.get("/{model}/suggest/type")
async def suggest_types(model: NamedModel, typed: Typed, cursor: Cursor = 0) -> Response:
    """Types of the labels, by a part of a name or id."""
    return _answer_matching(await in_thread(_all_types, model.tagger.vocabulary), typed, cursor)


@router.get("/{model}/suggest/property", dependencies=[Depends(named_model)])
async def suggest_properties(typed: Typed, cursor: Cursor = 0) -> Response:
    """Properties that a query may name, by a part of a name or id."""
    return _answer_matching([{"id": id_, "name": name} for id_, (name, _) in PROPERTIES.items()], typed, cursor)


@router.get("/{model}/flyout")
async def flyout(model: NamedModel, id: str) -> Response:  # noqa: A002  # the name in the address
    """A small HTML view of a label, in JSON."""
    return JSONResponse({"id": id, "html": render("label.html", **_shown(model, id))})


@router.get("/{model}/preview", response_class=HTMLResponse)
async def preview(model: NamedModel, id: str) -> Response:  # noqa: A002
    """An HTML page of a label."""
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors *"  # in pages of clients
    page = render("preview.html", **_shown(model, id))
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})


async def _answered(request: Request, model: ServedModel, queries: Mapping[str, Query | Problem]) -> Response:
    """Answer queries, one in a turn while the client is there.

    One that is not valid has no candidates but its problem, and costs the others nothing.
    """
    valid = [query for query in queries.values() if isinstance(query, Query)]
    # for queries that no label is named by, the tagger suggests labels that are near
    unnamed = await in_thread(lambda: [each for each in valid if not _is_named(model, each.query)])
    options, texts = SuggestOptions(k=max((each.most for each in unnamed), default=1)), {each.query for each in unnamed}
    suggested = await model.suggest(sorted(texts), options)
    scores = {
        text: {suggestion.id: score_from_0_to_1(suggestion) for suggestion in suggestions}
        for text, suggestions in zip(sorted(texts), suggested, strict=True)
    }
    answers, resolve = dict[str, dict[str, Any]](), cache(model.tagger.vocabulary.resolve)
    for key, asked in queries.items():
        if await request.is_disconnected():
            raise ClientDisconnect
        if isinstance(asked, Problem):
            answers[key] = {"result": [], "error": asked.detail}
        else:
            answers[key] = {"result": await in_thread(_candidates, model, asked, scores.get(asked.query, {}), resolve)}
    return await in_thread(JSONResponse, answers)


def _manifest(model: ServedModel, base: str, needs_token: bool) -> dict[str, Any]:
    """Describe the service to a client. base: the address of the server, as the client has it."""
    service = f"{base}/reconcile/{quote(model.id, safe='')}"
    flyout = {"flyout_service_url": service, "flyout_service_path": "/flyout?id=${id}"}
    kinds = {"entity": flyout, "type": {}, "property": {}}
    preview, space = f"{service}/preview?id={{{{id}}}}", _common_start(model.tagger.vocabulary.ids)
    token = {"authentication": {"type": "apiKey", "name": "Authorization", "in": "header"}}
    return {
        "versions": ["0.2"], "name": f"{model.name} (Tagwright)",
        "identifierSpace": space or f"{service}#", "schemaSpace": CONCEPT,
        "serviceVersion": __version__, "batchSize": BATCH, "defaultTypes": [_type(CONCEPT)],
        "view": {"url": "{{id}}" if space else preview},
        "preview": {"url": preview, "width": 420, "height": 240},
        "suggest": {
            kind: {"service_url": service, "service_path": f"/suggest/{kind}", **more}
            for kind, more in kinds.items()
        },
        **(token if needs_token else {}),
    }  # fmt: skip


def _shown(model: ServedModel, label_id: str) -> dict[str, Any]:
    """What templates show of a label. Raises Problem (404)."""
    vocabulary = model.tagger.vocabulary
    if label_id not in vocabulary.index:
        raise Problem(404, f"There is no label '{label_id[:100]}'")
    position = vocabulary.index[label_id]
    return {"label": vocabulary[position], "path": vocabulary.path(position)[:-1]}


def _queries(text: str) -> dict[str, Query | Problem]:
    """The queries of a batch by their keys, each checked. Raises Problem if all are wrong: that of the first."""
    batch = parse_json(text.encode())
    if not isinstance(batch, dict) or not all(isinstance(sent, dict) for sent in batch.values()):
        raise bad_request("queries is no JSON object of queries by their keys")
    if len(batch) > BATCH:
        raise Problem(413, f"The batch has {len(batch)} queries, at most {BATCH} are accepted")
    return read_each(batch.items(), _query)


def _query(key: str, sent: Mapping[str, Any]) -> Query:
    """A query, checked. Raises Problem (400)."""
    return checked(Query, sent, f"queries.{key[:100]}")


def _is_named(model: ServedModel, text: str) -> bool:
    """Whether a text is blank, or the name or id of a label, up to case and accents."""
    name = fold_text(text[:LONGEST])
    labels = (model.tagger.vocabulary[position] for position in model.search()(name, 1))
    return not name or any(name in map(fold_text, (label.id, *label.all_names)) for label in labels)


def _candidates(
    model: ServedModel, query: Query, suggested: Mapping[str, float], resolve: Resolve
) -> list[dict[str, Any]]:
    """The best candidates of a query, best first, scored from 0 to 100: half for each property that a label lacks.

    A label matches if the query is its id, or a name that no other label has. suggested: scores from 0 to 1 of the
    labels that the tagger suggests for the text, by id. resolve: see `Vocabulary.resolve`.
    """
    if not query.query.strip() and not query.properties:
        return []
    vocabulary, candidates = model.tagger.vocabulary, list[dict[str, Any]]()
    text = " ".join(clean(query.query[:LONGEST]).split())
    wanted = [
        (PROPERTIES[each.pid][1], {vocabulary.ids[at] for at in map(resolve, each.v) if at is not None}
         if each.pid == "broader" else {*each.v})
        for each in query.properties if each.pid in PROPERTIES
    ]  # fmt: skip
    labels = [vocabulary[position] for position in _positions(model, text, query, suggested, resolve)]
    exact = [label.id for label in labels if text and (text == label.id or text in _fold_names(label.names))]
    exact = exact or [label.id for label in labels if text in _fold_names(label.all_names)]
    for label in labels:
        if query.type and {CONCEPT, *label.types}.isdisjoint(query.type):
            continue
        lacking = sum(values.isdisjoint(of_label(label)) for of_label, values in wanted)
        similarity = _similarity(label, text)
        score = _score(label, text, suggested.get(label.id, 0.0), similarity)
        candidates.append({
            **_describe_entity(label, vocabulary), "score": round(score * 0.5**lacking, 1),
            "match": exact == [label.id] and not lacking, "type": _types(label),
            "features": [{"id": "name_similarity", "value": round(similarity, 3)}],
        })  # fmt: skip
    return sorted(candidates, key=lambda candidate: -candidate["score"])[: query.most]


def _positions(model: ServedModel, text: str, query: Query, suggested: Iterable[str], resolve: Resolve) -> list[int]:
    """Labels to score: those with the text as id or in a name, suggested ones; without a text, those of properties."""
    vocabulary, search = model.tagger.vocabulary, model.search()
    positions = [vocabulary.index[text]] if text in vocabulary.index else []
    positions += search(text, max(50, query.most))  # enough that types, properties and namesakes hide none
    positions += (vocabulary.index[label_id] for label_id in suggested)
    values = [] if text else [value for each in query.properties for value in each.v]
    positions += (position for value in values if (position := resolve(value)) is not None)
    return [each for each in dict.fromkeys(positions) if search.allowed is None or search.allowed[each]]


def _describe_entity(label: Label, vocabulary: Vocabulary) -> dict[str, Any]:
    """A label with what tells it from namesakes: its notation, and the labels above it or else its description."""
    above = " > ".join(vocabulary.path(vocabulary.index[label.id])[:-1])
    description = "; ".join(part for part in (label.notation, above or label.description[:LONGEST]) if part)
    return {"id": label.id, "name": label.name, "description": description}


@lru_cache(8)
def _all_types(vocabulary: Vocabulary) -> list[dict[str, str]]:
    """The types of all labels, the generic one first."""
    uris = sorted({uri for label in vocabulary for uri in label.types})
    return [_type(uri) for uri in dict.fromkeys([CONCEPT, *uris])]


def _types(label: Label) -> list[dict[str, str]]:
    return [_type(uri) for uri in label.types or (CONCEPT,)]


def _type(uri: str) -> dict[str, str]:
    """A type, named after the last part of its URI."""
    return {"id": uri, "name": re.split("[/#]", uri.rstrip("/#"))[-1] or uri}


def _answer_matching(entries: Sequence[dict[str, str]], typed: str, cursor: int) -> Response:
    """Answer with the entries whose name or id contains what was typed."""
    part = clean(typed)[:LONGEST].casefold()
    matching = [entry for entry in entries if part in f"{entry['name']} {entry['id']}".casefold()]
    return JSONResponse({"result": matching[cursor : cursor + LIMIT]})


def _common_start(ids: Sequence[str]) -> str:
    """The address that all ids begin with, cut after a separator; "" if they are no addresses or share none.

    >>> _common_start(["http://x.org/a/1", "http://x.org/a/12"]), _common_start(["17", "18"])
    ('http://x.org/a/', '')
    """
    first, last = min(ids), max(ids)  # all ids share what these two share
    size = next((place for place, signs in enumerate(zip(first, last, strict=False)) if len({*signs}) > 1), len(first))
    address = re.match(r"https?://[^/]+/(?:.*[/#=])?", first[:size])
    return address[0] if address else ""


def _score(label: Label, text: str, suggested: float, similarity: float) -> float:
    """Score a label by its best name, from 0 to 100. suggested, similarity: from 0 to 1.

    94 and more: a name is the text. 49 to 90: names are like it. Up to 49: the tagger suggests it, no name holds it.
    """
    names = _fold_names(label.all_names)
    others = [fold_text(name) for name in names]
    if text in (names[0], label.id):
        return 100.0
    if text in names:
        return 99.0
    if fold_text(text) in others:  # up to case or accents
        return 95.0 if fold_text(text) == others[0] else 94.0
    if suggested and fold_text(text) not in " ".join(others):
        return 49 * max(suggested, similarity)
    return 49 + 41 * similarity


def _fold_names(names: Iterable[str]) -> list[str]:
    return [" ".join(name.split()) for name in names]


def _similarity(label: Label, text: str) -> float:
    """The greatest similarity of a name to the text, from 0 to 1: the share of characters in common runs."""
    name = fold_text(text)
    return max(SequenceMatcher(None, name, fold_text(other[:LONGEST])).ratio() for other in label.all_names[:20])
