from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import learn_nothing, word_tagger

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.application import application
from tagwright.server.predictor import SuggestRequest
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Suggestion, Tagger
from tagwright.types import Document

RECORDED_ANSWERS = json.loads((Path(__file__).parents[1] / "recorded" / "annif-1.4.3.json").read_text(encoding="utf-8"))
"What Annif 1.4.3 with its dummy backend answered: status, media type, and the shape of JSON (see `shape`)."
JSON = {"content-type": "application/json"}
TEXT = "Honey bees visit apple orchards. Bees."


def suggest(client: TestClient, **fields: Any) -> Any:
    return client.post("/v1/projects/bees-en/suggest", data={"text": TEXT, **fields})


def test_suggestions_are_best_first_with_scores_from_0_to_1(client: TestClient) -> None:
    results = suggest(client).json()["results"]
    assert [each["label"] for each in results] == ["Bees", "Orchards"]
    assert results[0]["uri"] == "http://x.org/bee"
    assert 1 >= results[0]["score"] >= results[1]["score"] >= 0
    assert [set(each) for each in results] == [{"uri", "label", "notation", "score"}] * 2


def test_a_threshold_cuts_scores_as_they_are_shown_where_there_are_no_confidences(client: TestClient) -> None:
    raw = [each["score"] for each in client.post("/api/suggest", json={"text": TEXT}).json()["suggestions"]]
    scores = [each["score"] for each in suggest(client).json()["results"]]
    assert scores == pytest.approx([(1 + score / (1 + abs(score))) / 2 for score in raw])
    assert scores[0] > scores[1] if raw[0] > raw[1] else scores[0] == scores[1]
    assert suggest(client, threshold="0.0").status_code == 200
    documents = {"documents": [{"text": TEXT}]}
    for threshold in ("0.1", str(scores[1]), str(scores[0]), "0.999", "1"):
        expected = [score for score in scores if score >= float(threshold)]
        assert [each["score"] for each in suggest(client, threshold=threshold).json()["results"]] == expected
        batch = client.post(f"/v1/projects/bees-en/suggest-batch?threshold={threshold}", json=documents).json()
        assert [each["score"] for each in batch[0]["results"]] == expected
    assert suggest(client, text=" ", threshold="0.1").json() == {"results": []}


def test_limit_and_threshold_cut(client: TestClient) -> None:
    assert len(suggest(client, limit=1).json()["results"]) == 1
    assert suggest(client, limit=0).json() == {"results": []}
    assert suggest(client, threshold="nan").json() == {"results": []}
    assert suggest(client, text=" ").json() == {"results": []}


def test_forms_come_in_parts_unescaped_and_with_other_fields(client: TestClient) -> None:
    address, expected = "/v1/projects/bees-en/suggest", suggest(client).json()
    assert client.post(address, files={"text": (None, TEXT), "x": (None, "y")}).json() == expected
    form = {"content-type": "application/x-www-form-urlencoded; charset=UTF-8"}
    assert client.post(address, content=f"text={TEXT}&language=&project_id=x", headers=form).json() == expected
    chunks = iter([b"text=Honey bees visit apple", b" orchards. Bees."])
    assert client.post(address, content=chunks, headers=form).json() == expected


def test_a_batch_is_answered_in_its_order(client: TestClient) -> None:
    documents = [{"text": "Tax law", "document_id": "d1"}, {"text": "Bees"}, {"text": ""}]
    found = client.post("/v1/projects/bees-en/suggest-batch?limit=1", json={"documents": documents}).json()
    assert [each["document_id"] for each in found] == ["d1", None, None]
    assert [[one["label"] for one in each["results"]] for each in found] == [["Tax law"], ["Bees"], []]


def test_metadata_of_a_batch_are_those_of_its_documents(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Document] = []

    async def remember(_: ServedModel, requests: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        read.extend(each.document for each in requests)
        return [[] for _ in requests]

    monkeypatch.setattr(ServedModel, "suggest_all", remember)
    documents = [{"text": "Bees", "metadata": {"author": " A. Low ", "note": " "}}, {"text": "Tax law"}]
    assert client.post("/v1/projects/bees-en/suggest-batch", json={"documents": documents}).status_code == 200
    found = [
        (each.text, each.metadata) for each in read if each.text != "Bees" or each.metadata
    ]  # not the first answer
    assert found == [("Bees", {"author": ("A. Low",)}), ("Tax law", {})]
    documents = [{"text": "Bees", "metadata": {"author": 1}}]
    answer = client.post("/v1/projects/bees-en/suggest-batch", json={"documents": documents})
    assert answer.json()["detail"] == "1 is not of type 'string' - 'documents.0.metadata.author'"


def test_what_is_to_be_learnt_is_handed_over(client: TestClient, learnt: list[tuple[str, Any]]) -> None:
    documents = [{"text": "Bees", "subjects": [{"uri": "http://x.org/bee", "label": "Bees"}]}]
    answer = client.post("/v1/projects/bees-en/learn", json=documents)
    assert (answer.status_code, answer.content) == (204, b"")
    assert learnt == [("bees-en", documents)]


@pytest.mark.parametrize("content", [{}, {"text": ""}, {"text": " \n\x00"}])
def test_a_document_without_text_is_not_learnt_and_costs_no_other(
    client: TestClient, learnt: list[tuple[str, Any]], content: dict[str, str]
) -> None:
    bad = {**content, "subjects": [{"uri": "http://x.org/bee"}]}
    refused = client.post("/v1/projects/bees-en/learn", json=[bad, bad])
    assert (refused.status_code, refused.json()["detail"]) == (400, "there is no text to learn from - '0.text'")
    assert learnt == []
    answer = client.post("/v1/projects/bees-en/learn", json=[{"text": "Bees", "subjects": []}, bad])
    problem = {"index": 1, "problem": "there is no text to learn from - '1.text'"}
    assert (answer.status_code, answer.json()) == (200, {"left_out": [problem]})
    assert learnt == [("bees-en", [{"text": "Bees", "subjects": []}])]


def test_a_document_whose_subjects_are_all_unknown_is_left_out_and_that_is_said(
    client: TestClient, learnt: list[tuple[str, Any]]
) -> None:
    """Annif drops it and answers 204; its clients need no more than a status of success."""
    unknown = {"text": "Zebras", "subjects": [{"uri": "http://x.org/zebra"}, {"uri": "http://x.org/zoo"}]}
    half = {"text": "Bees", "subjects": [{"uri": "http://x.org/zebra"}, {"uri": "http://x.org/bee"}]}
    problem = 'none of its subjects is in the vocabulary (first: "http://x.org/zebra")'
    answer = client.post("/v1/projects/bees-en/learn", json=[unknown])
    assert (answer.status_code, answer.json()) == (200, {"left_out": [{"index": 0, "problem": problem}]})
    assert learnt == []
    answer = client.post("/v1/projects/bees-en/learn", json=[half, unknown])
    assert answer.json() == {"left_out": [{"index": 1, "problem": problem}]}
    assert learnt == [("bees-en", [half])]


def test_a_document_of_a_batch_that_cannot_be_read_costs_no_other(client: TestClient) -> None:
    documents = [{"text": 7, "document_id": "d1"}, {"text": "Tax law", "document_id": "d2"}, 5]
    found = client.post("/v1/projects/bees-en/suggest-batch?limit=1", json={"documents": documents})
    assert found.status_code == 200
    assert [(each["document_id"], [one["label"] for one in each["results"]]) for each in found.json()] == [
        ("d1", []), ("d2", ["Tax law"]), (None, []),
    ]  # fmt: skip
    assert [each.get("problem") for each in found.json()] == [
        "7 is not of type 'string' - 'documents.0.text'", None, "5 is not of type 'object' - 'documents.2'",
    ]  # fmt: skip
    alone = client.post("/v1/projects/bees-en/suggest-batch", json={"documents": documents[:1]})
    assert (alone.status_code, alone.json()["detail"]) == (400, "7 is not of type 'string' - 'documents.0.text'")


def test_a_document_with_more_text_than_an_upload_may_have_is_refused() -> None:
    large = "bees " * 1_000_001
    models = [ServedModel("bees-en", word_tagger(), "Bees")]
    with TestClient(application(models, learn=learn_nothing)) as client:
        for operation, content in (
            ("suggest", {"data": {"text": large}}),
            ("suggest-batch", {"json": {"documents": [{"text": large}]}}),
            ("learn", {"json": [{"text": large, "subjects": []}]}),
        ):
            answer = client.post(f"/v1/projects/bees-en/{operation}", **content)
            assert (answer.status_code, answer.json()["detail"]) == (
                413, "The document has 5,000,005 bytes of text, at most 5,000,000 are accepted; split it"
            )  # fmt: skip


def test_languages_are_recognised(client: TestClient) -> None:
    text = "The quick brown fox jumped over the lazy dog"
    found = client.post("/v1/detect-language", json={"text": text, "languages": ["fi", "en"]}).json()["results"]
    assert next(each["language"] for each in found) == "en"
    assert {each["language"] for each in found} == {"en", "fi", None}


def test_a_page_of_another_site_may_post(client: TestClient) -> None:
    headers = {"Origin": "http://x.org", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "content-type"}  # fmt: skip
    answer = client.options("/v1/projects/bees-en/suggest", headers=headers)
    assert answer.status_code == 200
    assert "POST" in answer.headers["access-control-allow-methods"]


def test_a_body_that_is_too_large_is_refused_with_or_without_its_length(client: TestClient) -> None:
    address, form = "/v1/projects/bees-en/suggest", {"content-type": "application/x-www-form-urlencoded"}
    for body in (b"text=" + b"a" * 5000, iter([b"text=" + b"a" * 3000, b"b" * 3000])):
        answer = client.post(address, content=body, headers=form)
        assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")
        assert answer.json().keys() == client.get("/v1/projects/none").json().keys()  # the shape of every other problem
        assert (answer.json()["status"], answer.json()["detail"][:8]) == (413, "The body")


@pytest.mark.parametrize("base", ["/v1", "/v1/"])
def test_a_client_that_joins_its_base_and_a_name_finds_every_address(client: TestClient, base: str) -> None:
    """The requests of annif-client 0.5.0, whose base is written with or without a slash at its end."""
    assert client.get(base).json()["title"].startswith("Tagwright")
    (project, _) = client.get(f"{base}projects").json()["projects"]
    assert client.get(f"{base}projects/{project['project_id']}").json() == project
    answer = client.post(f"{base}projects/bees-en/suggest", data={"text": TEXT, "limit": 1})
    assert [each["label"] for each in answer.json()["results"]] == ["Bees"]
    documents = {"documents": [{"text": TEXT, "document_id": "1"}]}
    (found,) = client.post(f"{base}projects/bees-en/suggest-batch", params={"limit": 1}, json=documents).json()
    assert found["document_id"] == "1"
    learnt = [{"text": TEXT, "subjects": [{"uri": "o", "label": "Orchards"}]}]
    assert client.post(f"{base}projects/bees-en/learn", json=learnt).status_code == 204
    languages = client.post(f"{base}detect-language", json={"text": TEXT, "languages": ["en", "fi"]})
    assert languages.json()["results"][0]["language"] == "en"
    assert client.get(f"{base}projects/nope").json()["detail"] == "Project 'nope' not found"


ANIMALS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix e: <http://e/> .
e:bees a skos:Concept ; skos:notation "595.79" ; skos:prefLabel "Bees"@en, "Bin"@sv ; skos:altLabel "Apis"@sv .
e:owls a skos:Concept ; skos:notation "598.9" ; skos:prefLabel "Owls"@en-gb .
e:orchards a skos:Concept ; skos:prefLabel "Orchards"@en, "Fruktträdgårdar"@sv .
"""


@pytest.fixture
def animals(tmp_path: Path) -> Iterator[TestClient]:
    """A saved model whose labels have names in English and Swedish, and notations, but for one each."""
    (tmp_path / "animals.ttl").write_text(ANIMALS, encoding="utf-8")
    tagger = word_tagger().with_labels(Vocabulary.read(tmp_path / "animals.ttl", language="en"))
    tagger.save(tmp_path / "saved")
    with TestClient(application([ServedModel("animals", Tagger.load(tmp_path / "saved"), "Animals")])) as client:
        yield client


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("", {"Bees", "Owls", "Orchards"}),
        ("en", {"Bees", "Owls", "Orchards"}),
        ("en-us", {"Bees", "Owls", "Orchards"}),
        ("sv", {"Bin", "Owls", "Fruktträdgårdar"}),  # owls have no Swedish name
    ],
)
def test_subjects_have_their_notation_and_the_names_of_the_requested_language(
    animals: TestClient, language: str, names: set[str]
) -> None:
    text, notations = "Bees, owls, orchards", {"http://e/bees": "595.79", "http://e/owls": "598.9"}
    one = animals.post("/v1/projects/animals/suggest", data={"text": text, "language": language}).json()["results"]
    assert {each["label"] for each in one} == names
    assert {each["uri"]: each["notation"] for each in one} == {**notations, "http://e/orchards": None}
    address = f"/v1/projects/animals/suggest-batch?language={language}"
    (many,) = animals.post(address, json={"documents": [{"text": text}]}).json()
    assert many["results"] == one


def test_the_languages_of_names_are_those_of_the_vocabulary_and_others_are_refused(animals: TestClient) -> None:
    assert animals.get("/v1/projects/animals").json()["vocab"]["languages"] == ["en", "en-gb", "sv"]
    assert animals.get("/v1/vocabs").json()["vocabs"][0]["languages"] == ["en", "en-gb", "sv"]
    refused = {"detail": 'language "fi" not supported by vocabulary', "status": 400}
    answer = animals.post("/v1/projects/animals/suggest", data={"text": "Bees", "language": "fi"})
    assert answer.json().items() >= refused.items()
    batch = animals.post("/v1/projects/animals/suggest-batch?language=fi", json={"documents": [{"text": "Bees"}]})
    assert batch.json() == answer.json()


# The requests that were sent to Annif, by the names under which its answers were recorded.
S, B, L = "/v1/projects/P/suggest", "/v1/projects/P/suggest-batch", "/v1/projects/P/learn"
RECORDED: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "GET /v1": ("GET", "/v1", {}),
    "GET /v1/": ("GET", "/v1/", {}),
    "GET /v1/projects": ("GET", "/v1/projects", {}),
    "GET project": ("GET", "/v1/projects/P", {}),
    "GET private": ("GET", "/v1/projects/nope", {}),
    "GET vocabs": ("GET", "/v1/vocabs", {}),
    "suggest ok": ("POST", S, {"data": {"text": "Bees"}}),
    "suggest lang empty": ("POST", S, {"data": {"text": "Bees", "limit": "10", "language": ""}}),
    "suggest lang xx": ("POST", S, {"data": {"text": "Bees", "language": "xx"}}),
    "suggest no text": ("POST", S, {"data": {"limit": "3"}}),
    "suggest empty text": ("POST", S, {"data": {"text": ""}}),
    "suggest no body": ("POST", S, {}),
    "suggest limit abc": ("POST", S, {"data": {"text": "a", "limit": "abc"}}),
    "suggest limit empty": ("POST", S, {"data": {"text": "a", "limit": ""}}),
    "suggest limit 10.0": ("POST", S, {"data": {"text": "a", "limit": "10.0"}}),
    "suggest limit -1": ("POST", S, {"data": {"text": "a", "limit": "-1"}}),
    "suggest limit 0": ("POST", S, {"data": {"text": "a", "limit": "0"}}),
    "suggest threshold 2": ("POST", S, {"data": {"text": "a", "threshold": "2"}}),
    "suggest threshold nan": ("POST", S, {"data": {"text": "Bees", "threshold": "nan"}}),
    "suggest query params (ignored?)": ("POST", S + "?limit=0&language=en", {"data": {"text": "Bees"}}),
    "suggest json": ("POST", S, {"json": {"text": "a"}}),
    "suggest text twice": ("POST", S, {"data": {"text": ["Bees", "b"]}}),
    "suggest GET": ("GET", S + "?text=a", {}),
    "suggest 404": ("POST", "/v1/projects/nope/suggest", {"data": {"text": "a"}}),
    "nowhere": ("GET", "/v1/nowhere", {}),
    "batch ok": ("POST", B + "?limit=5&language=en", {"json": {"documents": [
        {"text": "Bees", "document_id": "d1", "metadata": {"score": "0.3"}}, {"text": "Bees"}]}}),
    "batch extra doc field": ("POST", B, {"json": {"documents": [{"text": "Bees", "title": "x"}], "z": 1}}),
    "batch int id": ("POST", B, {"json": {"documents": [{"text": "a", "document_id": 5}]}}),
    "batch null id": ("POST", B, {"json": {"documents": [{"text": "a", "document_id": None}]}}),
    "batch empty": ("POST", B, {"json": {"documents": []}}),
    "batch no docs": ("POST", B, {"json": {}}),
    "batch no text": ("POST", B, {"json": {"documents": [{"document_id": "a"}]}}),
    "batch bad json": ("POST", B, {"content": '{"documents":', "headers": JSON}),
    "batch limit abc": ("POST", B + "?limit=abc", {"json": {"documents": [{"text": "a"}]}}),
    "batch unknown query": ("POST", B + "?foo=1", {"json": {"documents": [{"text": "Bees"}]}}),
    "batch form": ("POST", B, {"data": {"documents": "a"}}),
    "batch 33": ("POST", B, {"json": {"documents": [{"text": "a"}] * 33}}),
    "detect": ("POST", "/v1/detect-language", {"json": {"text": "The quick fox", "languages": ["en", "fi", "sv"]}}),
    "detect empty": ("POST", "/v1/detect-language", {"json": {"text": "", "languages": ["en"]}}),
    "detect none": ("POST", "/v1/detect-language", {"json": {"text": "x", "languages": []}}),
    "detect six": ("POST", "/v1/detect-language", {"json": {"text": "x", "languages": ["en"] * 6}}),
    "detect unk": ("POST", "/v1/detect-language", {"json": {"text": "x", "languages": ["xx"]}}),
    "learn": ("POST", L, {"json": [{"text": "a", "subjects": [{"uri": "http://x.org/bee", "label": "none"}]}]}),
    "learn 404": ("POST", "/v1/projects/nope/learn", {"json": []}),
    "learn object": ("POST", L, {"json": {}}),
    "learn no subjects": ("POST", L, {"json": [{"text": "a"}]}),
}  # fmt: skip


def shape(value: Any) -> Any:
    """Keys and types; of a list the shape of its first entry. An integer is a number too, and null fits all."""
    if isinstance(value, Mapping):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, str):
        return "text"
    if isinstance(value, Sequence):
        return [shape(each) for each in value[:1]]
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "null"


@pytest.mark.parametrize("name", RECORDED)
def test_answers_have_status_type_and_shape_of_the_recorded_ones(client: TestClient, name: str) -> None:
    method, address, content = RECORDED[name]
    recorded = RECORDED_ANSWERS[name]
    answer = client.request(method, address.replace("/P", "/bees-en", 1), follow_redirects=False, **content)
    kind = answer.headers.get("content-type", "").partition(";")[0]
    assert (answer.status_code, kind) == (recorded["status"], recorded["type"])
    if "shape" in recorded:
        assert shape(answer.json()) == recorded["shape"]


def test_a_project_that_does_not_learn_says_which_options_would_let_it() -> None:
    with TestClient(application([ServedModel("fixed-en", word_tagger(), "Bees")])) as client:
        answer = client.post("/v1/projects/fixed-en/learn", json=[])
    said = "Project 'fixed-en' is not configured to allow learning via API"
    remedy = "start the server with --learn and --reviews FILE.sqlite"
    assert (answer.status_code, answer.json()["detail"]) == (403, f"{said}; {remedy}")
    assert shape(answer.json()) == RECORDED_ANSWERS["learn nolearn"]["shape"]


@pytest.mark.parametrize("body", ["[" * 100_000, '{"documents": [NaN]}', '"a"', "null", b"\xff", '{"documents": [[]]}'])
def test_json_that_makes_no_sense_is_a_bad_request(client: TestClient, body: Any) -> None:
    answer = client.post("/v1/projects/bees-en/suggest-batch", content=body[:3900], headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["title"] == "Bad Request"


@pytest.mark.parametrize(
    "address", ["/v1/detect-language", "/v1/projects/bees-en/suggest-batch", "/v1/projects/bees-en/learn"]
)
def test_a_body_that_does_not_say_of_which_kind_it_is_is_taken_for_json_and_an_empty_one_is_a_bad_request(
    client: TestClient, address: str
) -> None:
    for headers in ({}, {"content-type": ""}, JSON, {"content-type": "text/plain"}):
        answer = client.post(address, headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (400, "RequestBody is required")  # as Annif 1.4.3 does
    content = b'{"text": "Bees", "languages": ["en"], "documents": []}' if "learn" not in address else b"[]"
    assert client.post(address, content=content).status_code in (200, 204)
    assert client.post(address, content=content, headers={"content-type": "text/plain"}).status_code == 415


def test_what_cannot_be_answered_soon_is_refused() -> None:
    model = ServedModel("bees-en", word_tagger(), "Bees")
    model.queues[0].most = 1
    with TestClient(application([model])) as client:
        answer = client.post("/v1/projects/bees-en/suggest-batch", json={"documents": [{"text": "Bees"}] * 2})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.post("/v1/projects/bees-en/suggest", data={"text": "Bees"}).status_code == 200
