"""A reconciliation service, for OpenRefine and other clients of the Reconciliation Service API, version 0.2.

Each served model is a service: clients send words, and get the labels of its vocabulary that these may mean.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from tagwright import __version__
from tagwright.combining.confidence import squashed
from tagwright.data.vocabulary import Vocabulary
from tagwright.server.label_search import LabelSearch, folded
from tagwright.server.openapi import Operation, array, object_, query, schema
from tagwright.server.pages import render
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import FORM, Form, parse_json, read_form, text_of, whole
from tagwright.server.served_model import ServedModel, model_named
from tagwright.tagger import Suggestion
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.text.words import clean
from tagwright.types import Label

BATCH = 50
"Queries in one request."

LONGEST_QUERY, LONGEST, VALUES = 10_000, 200, 1000
"Characters of a query, those of them that are compared, since names are shorter, and values of its properties."

LIMIT, LARGEST_LIMIT = 10, 100
"Candidates of a query: by default, and at most."

CONCEPT = "http://www.w3.org/2004/02/skos/core#Concept"
"The type that every label has."

PROPERTIES: Mapping[str, str] = {
    "notation": "Notation",
    "broader": "Broader label, by id or name",
    "scheme": "Concept scheme, by id",
}
"Properties of labels that a query may name, and what they are."

_TEXT = schema("string")


@dataclass(frozen=True)
class Query:
    """What is looked for. text: may be blank if there are properties; types: URIs, empty for all."""

    text: str
    limit: int = 10
    types: frozenset[str] = frozenset()
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class NameMatcher:
    """Finds candidates in a vocabulary."""

    vocabulary: Vocabulary
    search: LabelSearch

    def candidates(self, query: Query, near: Mapping[str, float]) -> list[dict[str, Any]]:
        """The best candidates of a query, best first. near: ids of labels that a tagger suggests, from 0 to 1."""
        text = " ".join(clean(query.text[:LONGEST]).split())
        labels = [self.vocabulary[position] for position in self._positions(text, query, near)]
        exact = [label for label in labels if text and (text == label.id or text in _plain(label.names))]
        exact = exact or [label for label in labels if text in _plain(label.all_names)]
        fitting = [label for label in labels if not query.types or query.types & {CONCEPT, *label.types}]
        names = [label.id for label in exact]
        rated = [self._candidate(label, text, near.get(label.id, 0.0), names, query.properties) for label in fitting]
        return sorted(rated, key=lambda each: -each["score"])[: query.limit]

    def is_named(self, text: str) -> bool:
        """Whether the query is a name or id of a label, up to case and accents."""
        wanted = folded(text[:LONGEST])
        labels = (self.vocabulary[position] for position in self.search(wanted, 1))
        return any(wanted in map(folded, (label.id, *label.all_names)) for label in labels)

    @cached_property
    def types(self) -> list[str]:
        """The types of all labels, the generic one first."""
        return list(dict.fromkeys([CONCEPT, *sorted({each for label in self.vocabulary for each in label.types})]))

    def _positions(self, text: str, query: Query, near: Iterable[str]) -> list[int]:
        """Labels to look at: of an id, with names like the text, near ones, and those of properties without a text."""
        index = self.vocabulary.index
        named = [index[text]] if text in index else []
        searched = self.search(text, max(50, query.limit))  # so that filters and namesakes hide none
        values = [] if text else [value for _, values in query.properties for value in values]
        resolved = (self.vocabulary.resolve(value) for value in values)
        every = [*named, *searched, *(index[each] for each in near), *(each for each in resolved if each is not None)]
        allowed = self.search.allowed
        return [each for each in dict.fromkeys(every) if allowed is None or allowed[each]]

    def _candidate(
        self,
        label: Label,
        text: str,
        near: float,
        exact: Sequence[str],
        properties: Iterable[tuple[str, Sequence[str]]],
    ) -> dict[str, Any]:
        """A label that a query may mean, scored from 0 to 100: half as high for each property that it does not have.

        near: how near a tagger finds it; exact: ids of the labels that have the name exactly. It matches if the query
        is its id, or a name that it has and no other label.
        """
        similarity = _similarity(label, text)
        wrong = sum(not self._has(label, name, values) for name, values in properties if name in PROPERTIES)
        return {
            **_named(label), "description": _description(label, self.vocabulary),
            "score": round(_score(label, text, near, similarity) * 0.5**wrong, 1),
            "match": exact == [label.id] and not wrong, "type": _types(label),
            "features": [{"id": "name_similarity", "value": round(similarity, 3)}],
        }  # fmt: skip

    def _has(self, label: Label, name: str, values: Sequence[str]) -> bool:
        if name == "notation":
            return label.notation in values
        if name == "scheme":
            return not {*label.schemes}.isdisjoint(values)
        above = (self.vocabulary.resolve(value) for value in values)
        return any(each is not None and self.vocabulary[each].id in label.broader for each in above)


@dataclass(frozen=True)
class Reconciliation:
    """The addresses below /reconcile; without the id of a model, the first one. needs_token: said in the manifest."""

    models: Mapping[str, ServedModel]
    needs_token: bool = False
    _matchers: dict[str, NameMatcher] = field(default_factory=dict)

    def operations(self) -> list[Operation]:
        """All operations of this interface."""
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
        """The manifest of the service of the first model, or, with queries, their candidates."""
        return await self.describe(request)

    async def reconcile_first(self, request: Request) -> Response:
        """Candidates for the queries in a form, of the first model."""
        return await self.reconcile(request)

    async def describe(self, request: Request) -> Response:
        """The manifest of the service of a model, or, with queries, their candidates."""
        model = self._model(request)
        if (queries := request.query_params.get("queries")) is not None:
            return await self._answered(model, await asyncio.to_thread(_queries, queries))
        return JSONResponse(await asyncio.to_thread(self._manifest, model, str(request.base_url).rstrip("/")))

    async def reconcile(self, request: Request) -> Response:
        """Candidates for the queries in a form: labels that each may mean, scored from 0 to 100."""
        model = self._model(request)
        return await self._answered(model, await read_form(request, _queries_of_form, kinds=(FORM,), most=8_000_000))

    async def suggest_entities(self, request: Request) -> Response:
        """Labels by the beginning or a part of a name, alternative name or id."""
        model, (prefix, cursor) = self._model(request), _prefix(request)
        matcher = await asyncio.to_thread(self._matcher, model)
        positions = await asyncio.to_thread(matcher.search, prefix, cursor + LIMIT)
        labels = [matcher.vocabulary[position] for position in positions[cursor:]]
        result = [
            {**_named(label), "description": _description(label, matcher.vocabulary), "notable": _types(label)}
            for label in labels
        ]
        return JSONResponse({"result": result})

    async def suggest_types(self, request: Request) -> Response:
        """Types of the labels, by a part of a name or id."""
        model = self._model(request)
        matcher = await asyncio.to_thread(self._matcher, model)
        types = await asyncio.to_thread(lambda: matcher.types)
        return _page(request, list(map(_type, types)))

    async def suggest_properties(self, request: Request) -> Response:
        """Properties that a query may name, by a part of a name or id."""
        self._model(request)
        return _page(request, [{"id": each, "name": name} for each, name in PROPERTIES.items()])

    async def flyout(self, request: Request) -> Response:
        """A small HTML view of a label, in JSON."""
        label, content = self._shown(request)
        return JSONResponse({"id": label.id, "html": render("label.html", **content)})

    async def preview(self, request: Request) -> Response:
        """An HTML page of a label."""
        _, content = self._shown(request)
        policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors *"  # in pages of clients
        return HTMLResponse(render("preview.html", **content), headers={"Content-Security-Policy": policy})

    async def _answered(self, model: ServedModel, queries: Mapping[str, Query | Problem]) -> Response:
        """A query that cannot be answered has no candidates, and costs the others nothing."""
        wanted = {key: each for key, each in queries.items() if isinstance(each, Query)}
        matcher = await asyncio.to_thread(self._matcher, model)
        unnamed = await asyncio.to_thread(_without_name, matcher, list(wanted.values()))
        options = SuggestOptions(k=max((each.limit for each in unnamed), default=1))
        near = dict(zip(unnamed, await model.suggest([each.text for each in unnamed], options), strict=True))

        def answer() -> Response:
            return JSONResponse({
                key: {"result": [], "error": each.detail} if isinstance(each, Problem)
                else {"result": _result(each, near.get(each, ()), matcher)}
                for key, each in queries.items()
            })  # fmt: skip

        return await asyncio.to_thread(answer)

    def _manifest(self, model: ServedModel, base: str) -> dict[str, Any]:
        """base: the address of the server, as the client has it."""
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

    def _matcher(self, model: ServedModel) -> NameMatcher:
        """The matcher over the present vocabulary of a model."""
        matcher = self._matchers.get(model.id)
        if matcher is None or matcher.vocabulary is not model.tagger.vocabulary:
            matcher = self._matchers[model.id] = NameMatcher(model.tagger.vocabulary, model.search())
        return matcher

    def _shown(self, request: Request) -> tuple[Label, dict[str, Any]]:
        """The label that is asked for, and what a template shows of it. Raises Problem."""
        vocabulary = self._model(request).tagger.vocabulary
        wanted = request.query_params.get("id")
        if wanted is None:
            raise bad_request("'id' is a required parameter")
        if wanted not in vocabulary.index:
            raise Problem(404, f"There is no label '{wanted[:100]}'")
        position = vocabulary.index[wanted]
        return vocabulary[position], {"label": vocabulary[position], "path": vocabulary.path(position)[:-1]}


def _result(query: Query, near: Sequence[Suggestion], matcher: NameMatcher) -> list[dict[str, Any]]:
    """The candidates of a query. near: what the tagger suggests for its text."""
    if not query.text.strip() and not query.properties:
        return []
    scores = {each.id: squashed(each.score) if each.confidence is None else each.confidence for each in near}
    return matcher.candidates(query, scores)


def _queries_of_form(form: Form) -> dict[str, Query | Problem]:
    if "queries" not in form:
        raise bad_request("'queries' is a required property")
    return _queries(text_of(form, "queries"))


def _queries(text: str) -> dict[str, Query | Problem]:
    """The queries of a batch by their keys, or what is wrong with one. Raises Problem: that of the first if all are."""
    batch = parse_json(text.encode())
    if not isinstance(batch, dict) or not all(isinstance(each, dict) for each in batch.values()):
        raise bad_request("queries is no JSON object of queries by their keys")
    if len(batch) > BATCH:
        raise Problem(413, f"The batch has {len(batch)} queries, at most {BATCH} are accepted")
    found, problems = dict[str, Query | Problem](), list[Problem]()
    for key, each in batch.items():
        try:
            found[key] = _query(each, key)
        except Problem as problem:
            found[key] = problem
            problems.append(problem)
    if problems and len(problems) == len(found):
        raise problems[0]
    return found


def _query(sent: Mapping[str, Any], key: str) -> Query:
    """Check a query; one of a blank text is right, as OpenRefine sends it for an empty cell. Raises Problem."""
    text, limit, types = sent.get("query", ""), sent.get("limit", LIMIT), sent.get("type") or []
    types = [types] if isinstance(types, str) else types
    place = f" - 'queries.{key[:100]}'"
    if not isinstance(text, str):
        raise bad_request(f"query is no text{place}")
    if len(text) > LONGEST_QUERY:
        raise bad_request(f"query has {len(text):,} characters, at most {LONGEST_QUERY:,} are accepted{place}")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 1 <= limit < float("inf"):
        raise bad_request(f"limit is no number from 1 on{place}")
    if not isinstance(types, list) or not all(isinstance(each, str) for each in types):
        raise bad_request(f"type is no text and no list of texts{place}")
    properties = sent.get("properties") or []
    if not isinstance(properties, list) or not all(_is_property(each) for each in properties):
        raise bad_request(f"properties is no list of objects with pid and v{place}")
    if "query" not in sent and not properties:
        raise bad_request(f"a query has neither 'query' nor 'properties'{place}")
    named = tuple((each["pid"], tuple(_values(each["v"]))) for each in properties)
    if (count := sum(len(values) for _, values in named)) > VALUES:
        raise bad_request(f"the query has {count:,} values of properties, at most {VALUES} are accepted{place}")
    return Query(text, min(int(limit), LARGEST_LIMIT), frozenset(types), named)


def _is_property(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("pid"), str) and "v" in value


def _values(value: Any) -> list[str]:
    """The values of a property as texts; of an entity, its id."""
    values = value if isinstance(value, list) else [value]
    texts = (each.get("id", "") if isinstance(each, dict) else each for each in values)
    return [clean(str(each)).strip() for each in texts]


def _without_name(matcher: NameMatcher, queries: Sequence[Query]) -> list[Query]:
    """The distinct queries that are no name of a label: the tagger then says what is near."""
    return [each for each in dict.fromkeys(queries) if each.text.strip() and not matcher.is_named(each.text)]


def _named(label: Label) -> dict[str, Any]:
    return {"id": label.id, "name": label.name}


def _description(label: Label, vocabulary: Vocabulary) -> str:
    """What tells namesakes apart: the notation, the labels above, or else what the label means."""
    above = " > ".join(vocabulary.path(vocabulary.index[label.id])[:-1])
    return "; ".join(part for part in (label.notation, above or label.description[:LONGEST]) if part)


def _types(label: Label) -> list[dict[str, str]]:
    return [_type(each) for each in label.types or (CONCEPT,)]


def _type(uri: str) -> dict[str, str]:
    """A type under its last part, as a name."""
    return {"id": uri, "name": re.split("[/#]", uri.rstrip("/#"))[-1] or uri}


def _prefix(request: Request) -> tuple[str, int]:
    """What a client has typed, and how many suggestions to pass over. Raises Problem."""
    given = request.query_params
    cursor = whole(given.get("cursor") or "0")
    if "prefix" not in given:
        raise bad_request("'prefix' is a required parameter")
    if not isinstance(cursor, int) or not 0 <= cursor <= 1000:
        raise bad_request("cursor is no whole number from 0 to 1000")
    return clean(given["prefix"])[:LONGEST], cursor


def _page(request: Request, every: Sequence[dict[str, str]]) -> Response:
    """Those with a name or id that holds what was typed."""
    prefix, cursor = _prefix(request)
    fitting = [each for each in every if prefix.casefold() in f"{each['name']} {each['id']}".casefold()]
    return JSONResponse({"result": fitting[cursor : cursor + LIMIT]})


def _common_start(ids: Sequence[str]) -> str:
    """The address at the beginning of all ids, "" where they are no addresses.

    >>> _common_start(["http://x.org/a/1", "http://x.org/a/12"]), _common_start(["17", "18"])
    ('http://x.org/a/', '')
    """
    first, last = min(ids), max(ids)  # of sorted texts, these two have in common what all have
    size = next((place for place, signs in enumerate(zip(first, last, strict=False)) if len({*signs}) > 1), len(first))
    address = re.match(r"https?://[^/]+/(?:.*[/#=])?", first[:size])
    return address[0] if address else ""


def _score(label: Label, text: str, near: float, similarity: float) -> float:
    """How well the best name of a label fits. near: how near a tagger finds it."""
    names = _plain(label.all_names)
    others = [folded(name) for name in names]
    if text in (names[0], label.id):
        return 100.0
    if text in names:
        return 99.0
    if folded(text) in others:  # up to case or accents
        return 95.0 if folded(text) == others[0] else 94.0
    if near and folded(text) not in " ".join(others):
        return 49 * max(near, similarity)
    return 49 + 41 * similarity


def _plain(names: Iterable[str]) -> list[str]:
    return [" ".join(name.split()) for name in names]


def _similarity(label: Label, text: str) -> float:
    """The greatest similarity of a name to the text, from 0 to 1: the share of characters in common runs."""
    wanted = folded(text)
    return max(SequenceMatcher(None, wanted, folded(name[:LONGEST])).ratio() for name in label.all_names[:20])
