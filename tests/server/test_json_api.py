from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright.combining.confidence import Curve
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel
from tagwright.types import Label

ZOO = [
    Label("1", ("Animals",)),
    Label(
        "2",
        ("Bees", "Apis"),
        "Flying insects.",
        broader=("1",),
        languages=(("en", "Bees"), ("sv", "Bin")),
        notation="59",
    ),
    Label("3", ("Honey bees",), broader=("2",)),
    Label("4", ("Orchards",)),
]
TEXT = "Honey bees visit orchards. Animals."


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    models = [ServedModel("zoo", word_tagger().with_labels(ZOO), "Zoo"), ServedModel("b", word_tagger(), "Bees")]
    with TestClient(application(models), raise_server_exceptions=False) as client:
        yield client


def suggest(client: TestClient, **content: Any) -> list[str]:
    answer = client.post("/api/suggest", json={"text": TEXT, **content})
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["suggestions"]]


def test_suggestions_with_evidence_and_confidence(client: TestClient) -> None:
    found = client.post("/api/suggest", json={"title": "Bees", "text": "They fly.", "evidence": True}).json()
    best = found["suggestions"][0]
    assert (best["id"], best["name"]) == ("2", "Bees")
    assert best["confidence"] is None or 0 <= best["confidence"] <= 1
    spans = [span for each in best["evidence"] for span in each["spans"]]
    assert {"Bees", "fly"} <= {span["text"] for span in spans}
    assert all(found["text"][span["start"] : span["end"]] == span["text"] for span in spans)
    assert client.post("/api/suggest", json={"id": "", "text": ""}).json() == {
        "id": "document",
        "suggestions": [],
        "version": "zoo",
    }
    plain = client.post("/api/suggest", json={"text": TEXT}).json()
    assert plain.keys() == {"id", "suggestions", "version"}
    assert plain["suggestions"][0].keys() == {"id", "name", "notation", "score", "confidence"}


def test_reasons_add_up_to_the_score_and_their_names_are_explained(client: TestClient) -> None:
    found = client.post("/api/suggest", json={"title": "Bees", "text": "They fly.", "evidence": True}).json()
    best = found["suggestions"][0]
    assert sum(each["added"] for each in best["reasons"]) == pytest.approx(best["score"])
    assert {each["name"] for each in best["reasons"]} == found["meanings"].keys() == {"exact_match", "tfidf"}
    assert found["meanings"]["exact_match"] == "its name in the text"


def test_labels_have_their_notation_and_the_names_of_the_requested_language(client: TestClient) -> None:
    def named(**content: Any) -> dict[str, tuple[str, str]]:
        found = client.post("/api/suggest", json={"text": "Bees in orchards", **content}).json()["suggestions"]
        return {each["id"]: (each["name"], each["notation"]) for each in found}

    assert named() == named(language="") == {"2": ("Bees", "59"), "3": ("Honey bees", ""), "4": ("Orchards", "")}
    assert named(names_in="sv") == {**named(), "2": ("Bin", "59")}
    assert named(names_in="sv", evidence=True, without=["3", "4"]) == {"2": ("Bin", "59")}
    answer = client.post("/api/suggest", json={"text": "Bees", "names_in": "fi"})
    assert (answer.status_code, answer.json()["detail"]) == (400, 'language is "fi", in which no label has a name')
    (document,) = client.post("/api/files?names_in=sv", files={"file": ("a.txt", b"Bees")}).json()["documents"]
    assert {(each["name"], each["language"]) for each in document["suggestions"]} == {("Bin", "sv"), ("Honey bees", "")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"titel": "Bees"}, "unknown field 'titel'; did you mean 'title'?"),
        ({"limit": 2}, "'text' is a required property, or title, abstract or sections"),
        ({"text": 5}, "5 is not of type 'string' - 'text'"),
        ({"title": ["Bees"]}, """["Bees"] is not of type 'string' - 'title'"""),
        ({"text": TEXT, "treshold": 0.5}, "unknown field 'treshold'; did you mean 'threshold'?"),
        ({"sections": [{"headng": "On bees", "paragraphs": ["They fly."]}]},
         "unknown field 'headng' in sections.0; did you mean 'heading'?"),
    ],
)  # fmt: skip
def test_a_request_that_is_not_as_the_schema_says_is_refused(
    client: TestClient, content: dict[str, Any], said: str
) -> None:
    answer = client.post("/api/suggest", json=content)
    assert (answer.status_code, answer.json()["detail"]) == (400, said)
    far = client.post("/api/suggest", json={"qqq": 1}).json()["detail"]
    assert far.startswith("unknown field 'qqq'; known are id, title, abstract, text, sections, model")


@pytest.mark.parametrize(
    ("address", "form", "said"),
    [
        ("", {"fil": "x"}, "unknown field 'fil'; did you mean 'file'?"),
        ("", {"treshold": "0.5"}, "unknown field 'treshold'; known are file"),
        ("", {"limit": "1"}, "'limit' is an option, expected in the address: /api/files?limit="),
        ("?limt=1", {}, "unknown field 'limt'; did you mean 'limit'?"),
        ("?threshold=0.5", {}, "unknown field 'threshold'; known are model, limit, names_in, language, evidence, only, "
         "without, hierarchy, per_branch"),
    ],
)  # fmt: skip
def test_a_field_beside_a_file_that_is_unknown_is_refused(
    client: TestClient, address: str, form: dict[str, str], said: str
) -> None:
    answer = client.post(f"/api/files{address}", data=form, files={"file": ("a.txt", b"Bees")})
    assert (answer.status_code, answer.json()["detail"]) == (400, said)


def test_a_model_is_named_or_the_first_is_taken(client: TestClient) -> None:
    assert suggest(client, model="b", text="Bees") == ["http://x.org/bee"]
    models = client.get("/api/models").json()["models"]
    assert [(each["id"], each["labels"]) for each in models] == [("zoo", 4), ("b", 3)]


@pytest.mark.parametrize(
    "content",
    [
        [], "x", {"limit": 0}, {"limit": -1}, {"limit": 1.5}, {"limit": True}, {"limit": 10**9}, {"threshold": 2},
        {"threshold": "1"},
        {"only": "2"}, {"only": [2]}, {"without": [None]}, {"only": ["branch:nowhere"]}, {"evidence": 1},
        {"sections": "x"}, {"text": {"a": 1}}, {"model": 1},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_a_bad_request(client: TestClient, content: Any) -> None:
    content = {"text": TEXT, **content} if isinstance(content, dict) else content
    answer = client.post("/api/suggest", json=content)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert client.post("/api/suggest", json={"text": "x", "model": "none"}).status_code == 404


HALF = r"\ud800"


@pytest.mark.parametrize(
    ("address", "content", "status"),
    [
        ("/api/suggest", f'{{"text": "Bees", "model": "{HALF}"}}', 404),
        ("/api/suggest", f'{{"text": "Bees", "only": ["{HALF}"]}}', 400),
        ("/api/suggest", f'{{"text": "Bees", "id": {{"{HALF}": 1}}}}', 400),
        ("/api/suggest", f'{{"text": ["{HALF}"]}}', 400),
        ("/api/suggest", f'{{"sections": [{{"heading": "", "level": "{HALF}", "paragraphs": []}}]}}', 400),
        ("/api/suggest", f'{{"text": "Bees", "{HALF}": "{HALF}"}}', 400),
        ("/api/suggest", '{"text": "Bees", "model": "\ud800"}', 400),  # the character itself: that is no UTF-8
        ("/v1/projects/b/suggest-batch", f'{{"documents": "{HALF}"}}', 400),
        ("/v1/detect-language", f'{{"text": "Bees", "languages": ["{HALF}n"]}}', 200),
    ],
)
def test_half_a_character_is_no_mistake_of_the_server(
    client: TestClient, address: str, content: str, status: int
) -> None:
    body = content.encode("utf-8", "surrogatepass")
    assert client.post(address, content=body, headers={"Content-Type": "application/json"}).status_code == status


def test_half_a_character_in_an_answer_is_replaced(client: TestClient) -> None:
    body = f'{{"documents": [{{"text": "Bees", "document_id": "a{HALF}\\ud83d\\udc1d"}}]}}'
    headers = {"Content-Type": "application/json"}
    (found,) = client.post("/v1/projects/b/suggest-batch", content=body, headers=headers).json()
    assert found["document_id"] == "a\ufffd\N{HONEYBEE}"


def test_a_document_or_a_list_that_would_keep_others_waiting_is_refused(client: TestClient) -> None:
    large = "bees " * 1_000_000
    section = {"heading": "", "level": 1, "paragraphs": [large]}
    for content in ({"text": large + "b"}, {"title": "é" * 2_500_001}, {"text": "b", "sections": [section]}):
        answer = client.post("/api/suggest", json=content)
        assert answer.status_code == 413
        detail = r"The document has 5,000,\d+ bytes of text, at most 5,000,000 .*; split it"
        assert re.fullmatch(detail, answer.json()["detail"])
    for key in ("only", "without"):
        answer = client.post("/api/suggest", json={"text": TEXT, key: [str(i) for i in range(10_001)]})
        problem = f"10,001 items, expected at most 10,000 - '{key}'"
        assert (answer.status_code, answer.json()["detail"]) == (400, problem)
        assert client.post("/api/suggest", json={"text": TEXT, key: ["4"] * 10_000}).is_success


def test_a_suggestion_in_python_has_the_same_fields() -> None:
    tagger = replace(word_tagger(), steps=(WeightedSum(), Curve(slope=1.0)))
    with TestClient(application([ServedModel("zoo", tagger, "Zoo")])) as client:
        plain, explained = (
            client.post("/api/suggest", json={"text": TEXT, "evidence": evidence}).json()["suggestions"]
            for evidence in (False, True)
        )
    assert plain == [suggestion.to_dict() for suggestion in tagger.suggest(TEXT)]
    assert explained == [suggestion.to_dict(TEXT) for suggestion in tagger.explain(TEXT)]
    assert {"reasons", "evidence", "estimate"} <= explained[0].keys()


def test_evidence_stays_small_however_often_a_name_occurs(client: TestClient) -> None:
    found = client.post("/api/suggest", json={"text": "Honey bees " * 2000, "evidence": True}).json()["suggestions"]
    assert {each["id"] for each in found} == {"2", "3"}
    assert [max(len(why["spans"]) for why in each["evidence"]) for each in found] == [100, 100]


def test_of_a_long_span_the_beginning_is_repeated() -> None:
    name = "bees " * 250 + "fly"
    model = ServedModel("long", word_tagger().with_labels([Label("1", (name,))]), "Long")
    with TestClient(application([model])) as client:
        answer = client.post("/api/suggest", json={"text": f"The {name}.", "evidence": True}).json()
    (span,) = (why["spans"][0] for why in answer["suggestions"][0]["evidence"] if why["stage"] == "exact_match")
    assert (span["start"], span["end"], span["text"]) == (4, 4 + len(name), name[:1000])


def test_files_are_read(client: TestClient) -> None:
    html = b"<html><title>Bees</title><p>Honey bees.</p></html>"
    answer = client.post("/api/files?limit=1&evidence=true", files={"file": ("bees.html", html)}).json()
    (document,) = answer["documents"]
    assert document["id"].startswith("bees.html")
    assert [each["id"] for each in document["suggestions"]] in (["2"], ["3"])
    broken = client.post("/api/files", files={"file": ("a.pdf", b"%PDF-1.7")})
    assert (broken.status_code, broken.json()["detail"].startswith("a.pdf: ")) == (422, True)
    assert client.post("/api/files", data={"file": "x"}).status_code == 415
    assert client.post("/api/files", files={"other": ("a.txt", b"Bees")}).status_code == 400
    many = b'{"text": "Bees"}\n' * 33
    assert client.post("/api/files", files={"file": ("a.jsonl", many)}).status_code == 422


def test_labels_are_searched(client: TestClient) -> None:
    found = client.get("/api/labels?q=bee").json()["labels"]
    assert found[0] == {
        "id": "2", "name": "Bees", "notation": "59", "path": ["Animals", "Bees"], "description": "Flying insects.",
    }  # fmt: skip
    assert [each["id"] for each in found] == ["2", "3"]
    assert len(client.get("/api/labels?q=bee&limit=1").json()["labels"]) == 1
    assert client.get("/api/labels").status_code == 400
    assert client.get("/api/labels?q=a&limit=x").status_code == 400


def test_metrics_count_answers_by_pattern() -> None:
    with TestClient(application([ServedModel("zoo", word_tagger(), "Zoo")])) as client:
        for _ in range(2):
            client.get("/api/labels?q=bee")
        client.get("/v1/projects/zoo")
        client.get("/nowhere/else")
        client.post("/api/suggest", json={"text": "bees and a tax law"})
        text = client.get("/metrics").text
    assert "# TYPE tagwright_documents_total counter\ntagwright_documents_total 1.0\n" in text
    assert "# TYPE tagwright_suggestions_total counter\ntagwright_suggestions_total 2.0\n" in text
    assert 'tagwright_requests_total{method="GET",path="/api/labels",status="200"} 2' in text
    assert 'tagwright_requests_total{method="GET",path="/v1/projects/{project_id}",status="200"} 1' in text
    assert 'tagwright_requests_total{method="GET",path="other",status="404"} 1' in text
    assert 'tagwright_request_seconds_bucket{le="+Inf",path="/api/labels"} 2' in text
    assert "tagwright_requests_waiting 0" in text


def test_the_description_names_every_address_that_answers(client: TestClient) -> None:
    described = client.get("/api/openapi.json").json()
    project = "/v1/projects/{project_id}"
    assert set(described["paths"]) == {
        "/api/models", "/api/suggest", "/api/files", "/api/labels", "/health", "/ready", "/metrics", "/v1/",
        "/v1/projects",
        "/v1/vocabs", project, f"{project}/suggest", f"{project}/suggest-batch", f"{project}/learn",
        "/v1/detect-language", "/reconcile", "/reconcile/{model}",
        *(f"/reconcile/{{model}}/{part}" for part in (
            "suggest/entity", "suggest/type", "suggest/property", "flyout", "preview",
        )),
    }  # fmt: skip
    operations = [operation for methods in described["paths"].values() for operation in methods.values()]
    assert all(operation["summary"] for operation in operations)
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    assert described["paths"][project]["get"]["parameters"][0]["name"] == "project_id"
    assert set(described["paths"][f"{project}/learn"]["post"]["responses"]) == {"200", "204", "default"}
    suggest = described["paths"]["/api/suggest"]["post"]
    assert suggest["summary"] == "Suggest labels for a document: a text, or title, abstract and sections."
    reference = suggest["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert "only" in described["components"]["schemas"][reference.rpartition("/")[2]]["properties"]
    for path, methods in described["paths"].items():
        for method in methods:
            assert client.request(method, path).status_code != 405
