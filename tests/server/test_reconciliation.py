from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server import reconciliation_schemas as schemas
from tests.server.conftest import word_tagger
from tests.server.reconciliation_schemas import check

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.reconciliation import CONCEPT
from tagwright.server.served_model import ServedModel
from tagwright.tagger import zero_shot
from tagwright.types import Label

BASE = "http://x.org/zoo/"
PLACE, ANIMAL = "http://x.org/types#Place", "http://x.org/types#Animal"
ZOO = Vocabulary(
    [
        Label(f"{BASE}bees", ("Bees", "Apis"), "Insects that make honey.", notation="595.79", types=(ANIMAL,)),
        Label(f"{BASE}honeybees", ("Honey bees",), broader=(f"{BASE}bees",), types=(ANIMAL,)),
        Label(f"{BASE}turkey-bird", ("Turkey",), types=(ANIMAL,)),
        Label(f"{BASE}turkey-land", ("Turkey",), types=(PLACE,), schemes=("http://x.org/places",)),
        Label(f"{BASE}zurich", ("Zürich", "Apis <b>"), types=(PLACE,)),
        Label(f"{BASE}tax", ("Tax law",), languages=(("en", "Tax law"), ("sv", "Skatterätt"))),
    ]
)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    tagger = zero_shot.fit(ZOO, zero_shot.Config(stages=("exact_match", "tfidf"), language="english"))
    models = [ServedModel("zoo-en", tagger, "Zoo"), ServedModel("bees-en", word_tagger(), "Bees and taxes")]
    with TestClient(application(models)) as client:
        yield client


def ask(client: TestClient, path: str = "/reconcile", **queries: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The candidates of each query, by form and by address alike."""
    text = json.dumps(check(queries, schemas.QUERIES))
    answer = client.post(path, data={"queries": text})
    assert answer.status_code == 200
    assert client.get(path, params={"queries": text}).json() == answer.json()
    found = check(answer.json(), schemas.RESULTS)
    for each in found.values():
        scores = [one["score"] for one in each["result"]]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 100 for score in scores)
    return {key: each["result"] for key, each in found.items()}


def short(candidates: list[dict[str, Any]], count: int = 1) -> list[tuple[str, float, bool]]:
    return [(each["id"].removeprefix(BASE), each["score"], each["match"]) for each in candidates[:count]]


def test_the_manifest(client: TestClient) -> None:
    manifest = check(client.get("/reconcile").json(), schemas.MANIFEST)
    assert manifest["versions"] == ["0.2"]
    assert (manifest["identifierSpace"], manifest["schemaSpace"]) == (BASE, CONCEPT)
    assert manifest["view"] == {"url": "{{id}}"}
    assert manifest["suggest"]["entity"] == {
        "service_url": "http://testserver/reconcile/zoo-en",
        "service_path": "/suggest/entity",
        "flyout_service_url": "http://testserver/reconcile/zoo-en",
        "flyout_service_path": "/flyout?id=${id}",
    }
    assert "authentication" not in manifest
    assert client.get("/reconcile/zoo-en").json() == manifest
    other = check(client.get("/reconcile/bees-en").json(), schemas.MANIFEST)
    assert other["name"] == "Bees and taxes (Tagwright)"
    assert other["identifierSpace"] == "http://testserver/reconcile/bees-en#"
    assert other["view"]["url"] == other["preview"]["url"] == "http://testserver/reconcile/bees-en/preview?id={{id}}"


def test_a_batch_of_queries(client: TestClient) -> None:
    found = ask(
        client,
        q0={"query": "Bees", "type": ANIMAL, "limit": 3, "properties": [{"pid": "notation", "v": "595.79"}]},
        q1={"query": "Tax law", "type_strict": "should"},
        q2={"query": "Honey bees", "limit": 1, "properties": [{"pid": "broader", "v": [{"id": f"{BASE}bees"}, "x"]}]},
        q3={"query": "Honey bees", "properties": [{"pid": "broader", "v": ["Bees", "x"]}]},
        q4={"query": "Honey bees", "properties": [{"pid": "broader", "v": "Tax law"}]},
    )
    assert {key: short(each) for key, each in found.items()} == {
        "q0": [("bees", 100, True)],
        "q1": [("tax", 100, True)],
        "q2": [("honeybees", 100, True)],
        "q3": [("honeybees", 100, True)],
        "q4": [("honeybees", 50, False)],
    }
    assert found["q0"][0] == {
        "id": f"{BASE}bees", "name": "Bees", "description": "595.79; Insects that make honey.", "score": 100,
        "match": True, "type": [{"id": ANIMAL, "name": "Animal"}],
        "features": [{"id": "name_similarity", "value": 1.0}],
    }  # fmt: skip
    assert found["q1"][0]["type"] == [{"id": CONCEPT, "name": "Concept"}]
    assert len(found["q2"]) == 1
    assert found["q2"][0]["description"] == "Bees"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Bees", [("bees", 100, True)]),
        ("  Honey  bees ", [("honeybees", 100, True)]),
        ("Apis", [("bees", 99, True)]),
        ("bees", [("bees", 95, False)]),
        ("APIS", [("bees", 94, False)]),
        ("zurich", [("zurich", 95, False)]),
        ("Turkey", [("turkey-bird", 100, False), ("turkey-land", 100, False)]),
        (f"{BASE}tax", [("tax", 100, True)]),
        ("Skatterätt", [("tax", 99, True)]),  # in a language that is not searched
    ],
)
def test_names(client: TestClient, query: str, expected: list[tuple[str, float, bool]]) -> None:
    """A match is one exact name that no other label has, or the id."""
    assert short(ask(client, q={"query": query})["q"], len(expected)) == expected


def test_a_part_of_a_name_and_near_names(client: TestClient) -> None:
    """ "Honey" is in the name; of "laws on taxes" the tagger knows the words."""
    [(label, score, match)] = short(ask(client, q={"query": "Honey be"})["q"])
    assert (label, match) == ("honeybees", False)
    assert 49 < score <= 90
    [(label, score, match)] = short(ask(client, q={"query": "laws on taxes"})["q"])
    assert (label, match) == ("tax", False)
    assert 0 < score <= 49
    assert ask(client, q={"query": "Quantum"}) == {"q": []}


def test_types_are_kept_apart(client: TestClient) -> None:
    found = ask(
        client,
        place={"query": "Turkey", "type": [PLACE]},
        any={"query": "Turkey", "type": [PLACE, ANIMAL]},
        concept={"query": "Turkey", "type": CONCEPT},
        none={"query": "Turkey", "type": "http://x.org/types#Thing"},
    )
    assert {key: [each["id"].removeprefix(f"{BASE}turkey-") for each in one] for key, one in found.items()} == {
        "place": ["land"], "any": ["bird", "land"], "concept": ["bird", "land"], "none": [],
    }  # fmt: skip


def test_properties_that_disagree_halve_the_score(client: TestClient) -> None:
    scheme = [{"pid": "scheme", "v": "http://x.org/places"}]
    assert short(ask(client, q={"query": "Turkey", "properties": scheme})["q"], 2) == [
        ("turkey-land", 100, False), ("turkey-bird", 50, False)
    ]  # fmt: skip
    wrong = [{"pid": "notation", "v": 595.79}, {"pid": "broader", "v": "Bees"}, {"pid": "unknown", "v": True}]
    assert short(ask(client, q={"query": "Bees", "properties": wrong})["q"]) == [("bees", 50, False)]


def test_properties_alone(client: TestClient) -> None:
    found = ask(client, q={"properties": [{"pid": "notation", "v": "595.79"}]})["q"]
    assert [each["id"] for each in found] == [f"{BASE}bees"]


def test_limits(client: TestClient) -> None:
    assert len(ask(client, q={"query": "e", "limit": 2})["q"]) <= 2
    assert len(ask(client, q={"query": "Turkey", "limit": 1.0})["q"]) == 1
    assert len(ask(client, q={"query": "Turkey", "limit": 10**9})["q"]) >= 2
    batch = {f"q{number}": {"query": "Bees"} for number in range(51)}
    refused = client.post("/reconcile", data={"queries": json.dumps(batch)})
    assert (refused.status_code, refused.json()["detail"]) == (413, "The batch has 51 queries, at most 50 are accepted")


@pytest.mark.parametrize(
    ("queries", "detail"),
    [
        ("[]", "queries is no JSON object"),
        ("{", "Expecting property name"),
        ('{"q": "Bees"}', "queries is no JSON object"),
        ('{"q": {}}', "neither 'query' nor 'properties' - 'queries.q'"),
        ('{"q": {"query": 7}}', "7 is not of type 'string' - 'queries.q.query'"),
        ('{"q": {"query": "Bees", "limit": 0}}', "0 is less than the minimum of 1.0 - 'queries.q.limit'"),
        ('{"q": {"query": "Bees", "limit": true}}', "true is not of type 'number'"),
        ('{"q": {"query": "Bees", "limit": 1e999}}', "Infinity is not of type 'number'"),
        ('{"q": {"query": "Bees", "type": [1]}}', "1 is not of type 'string' - 'queries.q.type.0'"),
        (
            '{"q": {"query": "Bees", "properties": [{"pid": "notation"}]}}',
            "'v' is a required property",
        ),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_queries_that_are_none(client: TestClient, queries: str, detail: str) -> None:
    answer = client.post("/reconcile", data={"queries": queries})
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert detail in answer.json()["detail"]


def test_a_query_that_cannot_be_answered_costs_no_other(client: TestClient) -> None:
    """OpenRefine sends a blank query for an empty cell; one that is wrong says so beside its empty result."""
    batch = {"q0": {"query": "Bees"}, "q1": {"query": ""}, "q2": {"query": 7}, "q3": {"query": "b" * 10_001}}
    found = client.post("/reconcile", data={"queries": json.dumps(batch)}).json()
    check(found, schemas.RESULTS)
    assert short(found.pop("q0")["result"]) == [("bees", 100, True)]
    assert found == {
        "q1": {"result": []},
        "q2": {"result": [], "error": "7 is not of type 'string' - 'queries.q2.query'"},
        "q3": {"result": [], "error": "10,001 characters, expected at most 10,000 - 'queries.q3.query'"},
    }
    alone = client.post("/reconcile", data={"queries": '{"q": {"query": " "}}'})
    assert alone.json() == {"q": {"result": []}}


def test_requests_that_are_none(client: TestClient) -> None:
    assert client.post("/reconcile", data={"x": "y"}).json()["detail"] == "'queries' is a required property"
    assert client.post("/reconcile", json={"queries": {}}).status_code == 415
    assert client.get("/reconcile/other").status_code == 404
    assert client.post("/reconcile/other", data={"queries": "{}"}).status_code == 404
    assert client.post("/reconcile", data={"queries": "{}"}).json() == {}


def test_entities_types_and_properties_are_suggested(client: TestClient) -> None:
    def suggested(kind: str, prefix: str, **more: int) -> list[str]:
        answer = client.get(f"/reconcile/zoo-en/suggest/{kind}", params={"prefix": prefix, **more})
        return [each["id"].removeprefix(BASE) for each in check(answer.json(), schemas.SUGGESTED)["result"]]

    assert suggested("entity", "bee") == ["bees", "honeybees"]
    assert suggested("entity", "bee", cursor=1) == ["honeybees"]
    assert suggested("entity", f"{BASE}tax") == ["tax"]
    assert suggested("type", "pla") == [PLACE]
    assert suggested("type", "") == [CONCEPT, ANIMAL, PLACE]
    assert suggested("property", "nota") == ["notation"]
    assert client.get("/reconcile/zoo-en/suggest/entity").status_code == 400
    assert client.get("/reconcile/zoo-en/suggest/type?prefix=a&cursor=-1").status_code == 400


def test_flyout_and_preview_show_a_label_and_run_nothing(client: TestClient) -> None:
    """A name with markup stays a text; other sites may show the preview in a frame, and no other page."""
    answer = check(client.get("/reconcile/zoo-en/flyout", params={"id": f"{BASE}zurich"}).json(), schemas.FLYOUT)
    assert answer["id"] == f"{BASE}zurich"
    assert "<strong>Zürich</strong>" in answer["html"]
    assert "Apis &lt;b&gt;" in answer["html"]
    page = client.get("/reconcile/zoo-en/preview", params={"id": f"{BASE}honeybees"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<strong>Honey bees</strong>" in page.text
    assert "<p>Bees</p>" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert page.headers["content-security-policy"].endswith("frame-ancestors *")
    assert "frame-ancestors 'none'" in client.get("/reconcile").headers["content-security-policy"]
    for path in ("flyout", "preview"):
        assert client.get(f"/reconcile/zoo-en/{path}").status_code == 400
        assert client.get(f"/reconcile/zoo-en/{path}?id=nothing").status_code == 404


def test_the_manifest_says_that_a_token_is_needed() -> None:
    access = Access.of("a long enough token")
    with TestClient(application([ServedModel("b", word_tagger(), "B")], access=access)) as client:
        assert client.get("/reconcile").status_code == 401
        assert client.post("/reconcile", data={"queries": "{}"}).status_code == 401
        manifest = client.get("/reconcile", headers={"Authorization": "Bearer a long enough token"}).json()
        assert check(manifest, schemas.MANIFEST)["authentication"]["name"] == "Authorization"
