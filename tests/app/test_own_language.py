"""The language of a text is its own: what lies beside it, and the way by which it is asked for, change no digit."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.app.conftest import Command, write
from tests.app.test_same_answer import _in_this_process

import tagwright as tw
from tagwright.app.arguments import Chosen
from tagwright.app.commands.serve import models_to_serve
from tagwright.batch import ArrowTagger
from tagwright.combining.confidence import squash_score
from tagwright.server.application import application
from tagwright.server.predictor import Workers
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import shortest

TEXTS = {
    "finnish": "Kirjat ja kalastus: tietoa kirjoista, joita kirjastossa luetaan paljon.",
    "swedish": "Böcker och fiske: allt om fiske på svenska för människor som läser mycket om böcker.",
    "english": "Books and numbers: all that people read about fishing in the library.",
    "german": "Bücher und Zahlen: was Menschen in der Bibliothek über das Angeln lesen.",
    "unclear": "1984 tal",
}
NAMES = {"1": ("books", "kirjat", "böcker"), "2": ("numbers", "luvut", "tal"), "3": ("fishing", "kalastus", "fiske")}
WORDS = ("--set", 'stages=["exact_match", "tfidf"]')

Answer: TypeAlias = list[tuple[str, float]]


def thirty() -> dict[str, str]:
    """The texts, and 25 of words of all of them."""
    rng, words = np.random.default_rng(0), " ".join(TEXTS.values()).split()
    drawn = {f"drawn{place:02}": " ".join(rng.choice(words, int(rng.integers(3, 30)))) for place in range(25)}
    return {**TEXTS, **drawn}


@pytest.fixture(autouse=True)
def files(desk: Path) -> None:
    """The labels with names in three languages; the texts in a folder, and in a file."""
    codes = ("en", "fi", "sv")
    write("several.jsonl", [
        {"id": id_, "names": {code: [name] for code, name in zip(codes, names, strict=True)}}
        for id_, names in NAMES.items()
    ])  # fmt: skip
    write("thirty.jsonl", [{"id": id_, "text": text} for id_, text in thirty().items()])
    (desk / "folder").mkdir()
    for id_, text in thirty().items():
        (desk / "folder" / f"{id_}.txt").write_text(text, encoding="utf-8")


def by_id(lines: str) -> dict[str, Answer]:
    found = map(json.loads, lines.splitlines())
    return {Path(each["id"]).stem: [(one["label"], one["score"]) for one in each["suggestions"]] for each in found}


def alone(tagger: Tagger) -> dict[str, Answer]:
    """The answer to each text by itself."""
    return {id_: [(one.id, one.score) for one in tagger.suggest(text)] for id_, text in thirty().items()}


@pytest.fixture
def tagger(desk: Path) -> Tagger:
    """The zero-shot method in Python, for a file."""
    return tw.zero_shot("several.jsonl", stages=["exact_match", "tfidf"])


def test_each_text_has_the_same_answer_in_python_saved_and_beside_others(tagger: Tagger, desk: Path) -> None:
    expected, texts = alone(tagger), list(thirty().values())
    assert {id_: [label for label, _ in expected[id_]] for id_ in TEXTS} == {
        "finnish": ["1", "3"], "swedish": ["1", "3"], "english": ["1", "2", "3"], "german": [], "unclear": ["2"],
    }  # fmt: skip
    tagger.save("M")
    trained = tw.train("zero_shot", texts, "several.jsonl", stages=["exact_match", "tfidf"])
    for other in (tagger, tw.load("M"), trained, pickle.loads(pickle.dumps(tagger)), served("several.jsonl")):
        assert alone(other) == expected
        together = other.suggest(texts)
        assert [[(one.id, one.score) for one in row] for row in together] == list(expected.values())


@pytest.mark.parametrize("given", [("--labels", "several.jsonl", *WORDS), ("--model", "M")])
def test_each_text_has_the_same_answer_by_each_command(
    given: tuple[str, ...], tagger: Tagger, run: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagwright.batch.batch.in_processes", _in_this_process)
    tagger.save("M")
    expected, quiet = alone(tagger), ("--quiet", "--format", "jsonl")
    assert by_id(run("suggest", "thirty.jsonl", *given, *quiet).out) == expected
    assert "kalastus" in run("suggest", "folder/finnish.txt", *given).out  # names are shown in the language of the text
    folder = by_id(run("suggest", "folder", *given, *quiet).out)
    assert len(folder) == 30
    for id_ in TEXTS:
        assert by_id(run("suggest", f"folder/{id_}.txt", *given, *quiet).out) == {id_: folder[id_]}
    beside = [f"folder/{id_}.txt" for id_ in ("german", "unclear", "finnish", "swedish")]
    assert by_id(run("suggest", *beside, *given, *quiet).out).items() <= folder.items()
    if given[0] == "--model":
        assert run("batch", "thirty.jsonl", *given, "--quiet", "--output", "B", "--processes", "1").code == 0
        assert by_id((desk / "B" / "shard-000000.jsonl").read_text(encoding="utf-8")) == expected


def test_each_text_has_the_same_answer_from_columns(tagger: Tagger) -> None:
    pa = pytest.importorskip("pyarrow")
    tagger.save("M")
    rows = ArrowTagger("M")(pa.table({"id": list(thirty()), "text": list(thirty().values())})).to_pylist()
    found = {
        row["id"]: list(zip(row["labels"], shortest(np.array(row["scores"], np.float32)), strict=True)) for row in rows
    }
    assert found == alone(tagger)


@pytest.mark.parametrize("workers", [0, 1])
def test_each_text_has_the_same_answer_over_http(tagger: Tagger, desk: Path, workers: int) -> None:
    expected, texts = alone(tagger), thirty()
    model = ServedModel("m", served("several.jsonl"), "M")
    if workers:
        model.use_workers(Workers(workers))
    with TestClient(application([model])) as client:
        assert over_http(client, texts) == expected
        sent = [{"document_id": id_, "text": text} for id_, text in texts.items()]
        rows = client.post("/v1/projects/m/suggest-batch", json={"documents": sent}).json()
        assert {row["document_id"]: [each["uri"] for each in row["results"]] for row in rows} == {
            id_: [label for label, _ in row] for id_, row in expected.items()
        }
        for id_, text in TEXTS.items():
            results = client.post("/v1/projects/m/suggest", data={"text": text}).json()["results"]
            sure = [
                squash_score(one.score) if one.confidence is None else one.confidence for one in tagger.suggest(text)
            ]
            assert [each["score"] for each in results] == sure
            assert [each["uri"] for each in results] == [label for label, _ in expected[id_]]
    if model.workers:
        model.workers.close()


def over_http(client: TestClient, texts: Mapping[str, str], **options: Any) -> dict[str, Answer]:
    """What /api answers."""
    answers = {
        id_: client.post("/api/suggest", json={"text": text, **options}).json()["suggestions"]
        for id_, text in texts.items()
    }
    return {id_: [(each["id"], each["score"]) for each in row] for id_, row in answers.items()}


def served(labels: str) -> Tagger:
    """The tagger that `tagwright serve --labels` and `tagwright mcp --labels` make."""
    (model,), _ = models_to_serve([], Chosen(Path(labels), settings=[WORDS[1]]), SuggestOptions())
    return model.tagger


def test_few_names_have_the_language_of_each_text_by_every_way(run: Command) -> None:
    """These names alone are taken for English; "kalastusta" is found by its Finnish stem, in a Finnish text."""
    Path("few.txt").write_text("auto\nkalastus\n", encoding="utf-8")
    text = "Kirjastossa luetaan paljon, ja moni kirja kertoo siitä, miten kalastusta harrastetaan."
    write("docs.jsonl", [{"id": "fi", "text": text}, {"id": "en", "text": "All that people read of kalastusta."}])
    expected = [[(one.id, one.score) for one in row] for row in tw.zero_shot("few.txt", stages=["exact_match", "tfidf"])
                .suggest(Path("docs.jsonl"))]  # fmt: skip
    assert [label for label, _ in expected[0]][:1] == ["kalastus"]
    found = by_id(run("suggest", "docs.jsonl", "--labels", "few.txt", "--quiet", "--format", "jsonl", *WORDS).out)
    assert list(found.values()) == expected
    assert [[(one.id, one.score) for one in row] for row in served("few.txt").suggest(Path("docs.jsonl"))] == expected


def test_a_language_that_has_no_effect_on_a_served_tagger_is_said(
    tagger: Tagger, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagwright.server.serving.serve", lambda *_, **__: None)
    tagger.save("M")
    assert "--language" not in run("serve", "--model", "M").err
    said = run("serve", "--model", "M", "--language", "de").err
    assert "--language de has no effect on a saved tagger (--model), which recognises" in said


def test_a_request_may_say_the_language_of_its_text() -> None:
    """Swedish "tal" (numbers) is no word of a text that is said to be Finnish."""
    with TestClient(application([ServedModel("m", served("several.jsonl"), "M")])) as client:
        found = {
            language: [id_ for id_, _ in over_http(client, {"x": "tal"}, language=language, names_in="en")["x"]]
            for language in ("sv", "fi")
        }
        refused = client.post("/api/suggest", json={"text": "tal", "names_in": "en", "language": "xx"})
    assert found == {"sv": ["2"], "fi": []}
    assert (refused.status_code, refused.json()["detail"][:16]) == (400, 'no language "xx"')


def test_what_a_record_says_of_its_language_is_believed(run: Command) -> None:
    write("said.jsonl", [{"id": code, "title": "tal", "metadata": {"language": [code]}} for code in ("swe", "fin")])
    found = by_id(run("suggest", "said.jsonl", "--labels", "several.jsonl", "--quiet", "--format", "jsonl", *WORDS).out)
    assert ([id_ for id_, _ in found["swe"]], found["fin"]) == (["2"], [])
