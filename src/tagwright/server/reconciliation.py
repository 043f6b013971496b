"""A reconciliation service, for OpenRefine and other clients of the Reconciliation Service API, version 0.2.

Each served model is a service: clients send words, and get the labels of its vocabulary that the words may mean.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import quote
from weakref import WeakKeyDictionary

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.label_search import fold_text
from tagwright.server.openapi import Operation, array, object_, query, schema
from tagwright.server.pages import render
from tagwright.server.problems import Problem, bad_request, read_each
from tagwright.server.request_bodies import FORM, Form, parse_json, parse_whole_number, read_form, text_of
from tagwright.server.served_model import ServedModel, model_named, score_from_0_to_1
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

PROPERTIES: Mapping[str, str] = {
    "notation": "Notation",
    "broader": "Broader label, by id or name",
    "scheme": "Concept scheme, by id",
}
"Properties of labels that a query may name, and what they are."

_PROPERTIES: Mapping[str, Callable[[Label], Iterable[str]]] = {
    "notation": lambda label: [label.notation],
    "broader": lambda label: label.broader,
    "scheme": lambda label: label.schemes,
}

Resolve: TypeAlias = Callable[[str], int | None]

_TEXT = schema("string")


@dataclass(frozen=True)
class Query:
    """A query of a client. text: may be blank if there are properties. limit: number of candidates.

    types: URIs, of which a label has one; empty for all. properties: names and the values of which a label has one.
    """

    text: str
    limit: int
    types: frozenset[str]
    properties: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Reconciliation:
    """The operations below /reconcile; without the id of a model, of the first one. needs_token: for the manifest."""

    models: Mapping[str, ServedModel]
    needs_token: bool = False
    _types: WeakKeyDictionary[Vocabulary, list[dict[str, str]]] = field(default_factory=WeakKeyDictionary, init=False)

    def operations(self) -> list[Operation]:
        """Return all operations of this interface, with the schemas of OpenAPI."""
        service, prefix = "/reconcile/{model}", query("prefix", _TEXT, required=True)
        kind, id_ = object_({"id": _TEXT, "name": _TEXT}), query("id", _TEXT, required=True)
        named = {"id": _TEXT, "name": _TEXT, "description": _TEXT}
        candidate = object_({
            **named, "score": schema("number", minimum=0, maximum=100), "match": schema("boolean"), "type": array(kind),
            "features": array(object_({"id": _TEXT, "value": schema("number")})),
        })  # fmt: skip
        results = {**object_({}), "additionalProperties": object_({"result": array(candidate)})}
        suggested = object_({"result": array(object_({**named, "notable": array(kind)}, ("id", "name")))})
        of_kind, size = object_({"service_url": _TEXT, "service_path": _TEXT}), schema("integer")
        manifest = object_(
            {
                "versions": array(_TEXT), "name": _TEXT, "identifierSpace": _TEXT, "schemaSpace": _TEXT,
                "serviceVersion": _TEXT, "batchSize": size, "defaultTypes": array(kind),
                "view": object_({"url": _TEXT}), "preview": object_({"url": _TEXT, "width": size, "height": size}),
                "suggest": object_({"entity": of_kind, "type": of_kind, "property": of_kind}),
                "authentication": object_({"type": _TEXT, "name": _TEXT, "in": _TEXT}),
            },
            ("versions", "name", "identifierSpace", "schemaSpace"),
        )  # fmt: skip
        asked, typed = (query("queries", _TEXT),), (prefix, query("cursor", schema("integer", minimum=0)))
        form = object_({"queries": _TEXT})
        return [
            Operation("GET", "/reconcile", self.describe_first, manifest, asked),
            Operation("POST", "/reconcile", self.reconcile_first, results, body=form, body_type=FORM),
            Operation("GET", service, self.describe, manifest, asked),
            Operation("POST", service, self.reconcile, results, body=form, body_type=FORM),
            Operation("GET", f"{service}/suggest/entity", self.suggest_entities, suggested, typed),
            Operation("GET", f"{service}/suggest/type", self.suggest_types, suggested, typed),
            Operation("GET", f"{service}/suggest/property", self.suggest_properties, suggested, typed),
            Operation("GET", f"{service}/flyout", self.flyout, object_({"id": _TEXT, "html": _TEXT}), (id_,)),
            Operation("GET", f"{service}/preview", self.preview, _TEXT, (id_,), answer_type="text/html"),
        ]

    async def describe_first(self, request: Request) -> Response:
        """The manifest of the service of the first tagger, or, with queries, their candidates."""
        return await self.describe(request)

    async def reconcile_first(self, request: Request) -> Response:
        """Candidates for the queries in a form, of the first tagger."""
        return await self.reconcile(request)

    async def describe(self, request: Request) -> Response:
        """The manifest of the service of a tagger, or, with queries, their candidates."""
        model = self._model(request)
        if (queries := request.query_params.get("queries")) is not None:
            return await self._answered(request, model, await in_thread(_queries, queries))
        return JSONResponse(await in_thread(self._manifest, model, str(request.base_url).rstrip("/")))

    async def reconcile(self, request: Request) -> Response:
        """Candidates for the queries in a form: labels that each may mean, scored from 0 to 100."""
        model = self._model(request)
        queries = await read_form(request, _queries_of_form, kinds=(FORM,), most=8_000_000)
        return await self._answered(request, model, queries)

    async def suggest_entities(self, request: Request) -> Response:
        """Labels by the beginning or a part of a name, alternative name or id."""
        model, (prefix, cursor) = self._model(request), _prefix(request)
        search = await in_thread(model.search)
        positions = await in_thread(search, prefix, cursor + LIMIT)
        vocabulary = model.tagger.vocabulary
        labels = [vocabulary[position] for position in positions[cursor:]]
        return JSONResponse(
            {"result": [{**_describe_entity(label, vocabulary), "notable": _types(label)} for label in labels]}
        )

    async def suggest_types(self, request: Request) -> Response:
        """Types of the labels, by a part of a name or id."""
        vocabulary = self._model(request).tagger.vocabulary
        if vocabulary not in self._types:  # reads all labels
            self._types[vocabulary] = await in_thread(_all_types, vocabulary)
        return _answer_matching(request, self._types[vocabulary])

    async def suggest_properties(self, request: Request) -> Response:
        """Properties that a query may name, by a part of a name or id."""
        self._model(request)
        return _answer_matching(request, [{"id": id_, "name": name} for id_, name in PROPERTIES.items()])

    async def flyout(self, request: Request) -> Response:
        """A small HTML view of a label, in JSON."""
        label, content = self._shown(request)
        return JSONResponse({"id": label.id, "html": render("label.html", **content)})

    async def preview(self, request: Request) -> Response:
        """An HTML page of a label."""
        _, content = self._shown(request)
        policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors *"  # in pages of clients
        return HTMLResponse(render("preview.html", **content), headers={"Content-Security-Policy": policy})

    async def _answered(self, request: Request, model: ServedModel, queries: Mapping[str, Query | Problem]) -> Response:
        """Answer queries, one in a turn while the client is there.

        One that is not valid has no candidates but its problem, and costs the others nothing.
        """
        valid = [query for query in queries.values() if isinstance(query, Query)]
        unnamed = await in_thread(_without_name, model, valid)
        options = SuggestOptions(k=max((query.limit for query in unnamed), default=1))
        suggested = await model.suggest([query.text for query in unnamed], options)
        scores = {
            query: {suggestion.id: score_from_0_to_1(suggestion) for suggestion in suggestions}
            for query, suggestions in zip(unnamed, suggested, strict=True)
        }
        answers, resolve = dict[str, dict[str, Any]](), cache(model.tagger.vocabulary.resolve)
        for key, asked in queries.items():
            if await request.is_disconnected():
                raise ClientDisconnect
            if isinstance(asked, Problem):
                answers[key] = {"result": [], "error": asked.detail}
            else:
                candidates = await in_thread(_candidates, model, asked, scores.get(asked, {}), resolve)
                answers[key] = {"result": candidates}
        return await in_thread(JSONResponse, answers)

    def _manifest(self, model: ServedModel, base: str) -> dict[str, Any]:
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
            **(token if self.needs_token else {}),
        }  # fmt: skip

    def _model(self, request: Request) -> ServedModel:
        return model_named(request.path_params.get("model"), self.models)

    def _shown(self, request: Request) -> tuple[Label, dict[str, Any]]:
        """The label that is asked for, and what templates show of it. Raises Problem (400, 404)."""
        vocabulary = self._model(request).tagger.vocabulary
        label_id = request.query_params.get("id")
        if label_id is None:
            raise bad_request("'id' is a required parameter")
        if label_id not in vocabulary.index:
            raise Problem(404, f"There is no label '{label_id[:100]}'")
        position = vocabulary.index[label_id]
        return vocabulary[position], {"label": vocabulary[position], "path": vocabulary.path(position)[:-1]}


def _queries_of_form(form: Form) -> dict[str, Query | Problem]:
    if "queries" not in form:
        raise bad_request("'queries' is a required property")
    return _queries(text_of(form, "queries"))


def _queries(text: str) -> dict[str, Query | Problem]:
    """The queries of a batch by their keys, each checked. Raises Problem if all are wrong: that of the first."""
    batch = parse_json(text.encode())
    if not isinstance(batch, dict) or not all(isinstance(sent, dict) for sent in batch.values()):
        raise bad_request("queries is no JSON object of queries by their keys")
    if len(batch) > BATCH:
        raise Problem(413, f"The batch has {len(batch)} queries, at most {BATCH} are accepted")
    return read_each(batch.items(), _query)


def _query(key: str, sent: Mapping[str, Any]) -> Query:
    """Check a query; a blank text is valid, as OpenRefine sends it for an empty cell. Raises Problem (400)."""
    text, limit, types = sent.get("query", ""), sent.get("limit", LIMIT), sent.get("type") or []
    types = [types] if isinstance(types, str) else types
    place = f" - 'queries.{key[:100]}'"
    if not isinstance(text, str):
        raise bad_request(f"query is no text{place}")
    if len(text) > 10_000:
        raise bad_request(f"query has {len(text):,} characters, at most 10,000 are accepted{place}")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 1 <= limit < float("inf"):
        raise bad_request(f"limit is no number from 1 on{place}")
    if not isinstance(types, list) or not all(isinstance(uri, str) for uri in types):
        raise bad_request(f"type is no text and no list of texts{place}")
    properties = sent.get("properties") or []
    if not isinstance(properties, list) or not all(map(_is_property, properties)):
        raise bad_request(f"properties is no list of objects with pid and v{place}")
    if "query" not in sent and not properties:
        raise bad_request(f"a query has neither 'query' nor 'properties'{place}")
    named = tuple((property_["pid"], tuple(_values(property_["v"]))) for property_ in properties)
    if (count := sum(len(values) for _, values in named)) > 1000:
        raise bad_request(f"the query has {count:,} values of properties, at most 1000 are accepted{place}")
    return Query(text, min(int(limit), 100), frozenset(types), named)


def _is_property(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("pid"), str) and "v" in value


def _values(value: Any) -> list[str]:
    """The values of a property as texts; of an entity, its id."""
    values = value if isinstance(value, list) else [value]
    texts = (each.get("id", "") if isinstance(each, dict) else each for each in values)
    return [clean(str(text)).strip() for text in texts]


def _without_name(model: ServedModel, queries: Sequence[Query]) -> list[Query]:
    """The distinct queries that no label is named by: for these, the tagger suggests labels that are near."""
    return [query for query in dict.fromkeys(queries) if query.text.strip() and not _is_named(model, query.text)]


def _is_named(model: ServedModel, text: str) -> bool:
    """Whether a text is the name or id of a label, up to case and accents."""
    name = fold_text(text[:LONGEST])
    labels = (model.tagger.vocabulary[position] for position in model.search()(name, 1))
    return any(name in map(fold_text, (label.id, *label.all_names)) for label in labels)


def _candidates(
    model: ServedModel, query: Query, suggested: Mapping[str, float], resolve: Resolve
) -> list[dict[str, Any]]:
    """The best candidates of a query, best first, scored from 0 to 100: half for each property that a label lacks.

    A label matches if the query is its id, or a name that no other label has. suggested: scores from 0 to 1 of the
    labels that the tagger suggests for the text, by id. resolve: see `Vocabulary.resolve`.
    """
    if not query.text.strip() and not query.properties:
        return []
    vocabulary, candidates = model.tagger.vocabulary, list[dict[str, Any]]()
    text = " ".join(clean(query.text[:LONGEST]).split())
    wanted = [
        (_PROPERTIES[name], {vocabulary.ids[at] for at in map(resolve, values) if at is not None}
         if name == "broader" else {*values})
        for name, values in query.properties if name in PROPERTIES
    ]  # fmt: skip
    labels = [vocabulary[position] for position in _positions(model, text, query, suggested, resolve)]
    exact = [label.id for label in labels if text and (text == label.id or text in _fold_names(label.names))]
    exact = exact or [label.id for label in labels if text in _fold_names(label.all_names)]
    for label in labels:
        if query.types and not query.types & {CONCEPT, *label.types}:
            continue
        lacking = sum(values.isdisjoint(of_label(label)) for of_label, values in wanted)
        similarity = _similarity(label, text)
        score = _score(label, text, suggested.get(label.id, 0.0), similarity)
        candidates.append({
            **_describe_entity(label, vocabulary), "score": round(score * 0.5**lacking, 1),
            "match": exact == [label.id] and not lacking, "type": _types(label),
            "features": [{"id": "name_similarity", "value": round(similarity, 3)}],
        })  # fmt: skip
    return sorted(candidates, key=lambda candidate: -candidate["score"])[: query.limit]


def _positions(model: ServedModel, text: str, query: Query, suggested: Iterable[str], resolve: Resolve) -> list[int]:
    """Labels to score: those with the text as id or in a name, suggested ones; without a text, those of properties."""
    vocabulary, search = model.tagger.vocabulary, model.search()
    positions = [vocabulary.index[text]] if text in vocabulary.index else []
    positions += search(text, max(50, query.limit))  # enough that types, properties and namesakes hide none
    positions += (vocabulary.index[label_id] for label_id in suggested)
    values = [] if text else [value for _, values in query.properties for value in values]
    positions += (position for value in values if (position := resolve(value)) is not None)
    return [each for each in dict.fromkeys(positions) if search.allowed is None or search.allowed[each]]


def _describe_entity(label: Label, vocabulary: Vocabulary) -> dict[str, Any]:
    """A label with what tells it from namesakes: its notation, and the labels above it or else its description."""
    above = " > ".join(vocabulary.path(vocabulary.index[label.id])[:-1])
    description = "; ".join(part for part in (label.notation, above or label.description[:LONGEST]) if part)
    return {"id": label.id, "name": label.name, "description": description}


def _all_types(vocabulary: Vocabulary) -> list[dict[str, str]]:
    """The types of all labels, the generic one first."""
    uris = sorted({uri for label in vocabulary for uri in label.types})
    return [_type(uri) for uri in dict.fromkeys([CONCEPT, *uris])]


def _types(label: Label) -> list[dict[str, str]]:
    return [_type(uri) for uri in label.types or (CONCEPT,)]


def _type(uri: str) -> dict[str, str]:
    """A type, named after the last part of its URI."""
    return {"id": uri, "name": re.split("[/#]", uri.rstrip("/#"))[-1] or uri}


def _prefix(request: Request) -> tuple[str, int]:
    """Return the text typed by a user, and how many suggestions to pass over. Raises Problem (400)."""
    parameters = request.query_params
    cursor = parse_whole_number(parameters.get("cursor") or "0")
    if "prefix" not in parameters:
        raise bad_request("'prefix' is a required parameter")
    if not isinstance(cursor, int) or not 0 <= cursor <= 1000:
        raise bad_request("cursor is no whole number from 0 to 1000")
    return clean(parameters["prefix"])[:LONGEST], cursor


def _answer_matching(request: Request, entries: Sequence[dict[str, str]]) -> Response:
    """Answer with the entries whose name or id contains what was typed."""
    prefix, cursor = _prefix(request)
    matching = [entry for entry in entries if prefix.casefold() in f"{entry['name']} {entry['id']}".casefold()]
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
