"""The language of a text is its own: what lies beside it, and the way by which it is asked for, change no digit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.app.conftest import Command, write
from tests.app.test_same_answer import _in_this_process

import tagwright as tw
from tagwright.app import inputs
from tagwright.app.arguments import Chosen
from tagwright.combining.confidence import squashed
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.types import Document

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
    """Scores have 32 bits: `batch` writes the digits that tell them apart, others those of 64 bits."""
    found = map(json.loads, lines.splitlines())
    return {
        Path(each["id"]).stem: [(one["label"], float(np.float32(one["score"]))) for one in each["suggestions"]]
        for each in found
    }


def test_a_saved_tagger_answers_alike_by_every_way(run: Command, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.batch.batch.in_processes", _in_this_process)
    tw.zero_shot("several.jsonl", stages=["exact_match", "tfidf"]).save("M")
    tagger, texts = tw.load("M"), thirty()
    alone = {id_: [(one.id, one.score) for one in tagger.suggest(text)] for id_, text in texts.items()}
    assert [id_ for id_ in TEXTS if not alone[id_]] == ["german"]
    together = tagger.suggest(list(texts.values()))
    assert [[(one.id, one.score) for one in row] for row in together] == list(alone.values())
    given = ("--model", "M", "--quiet")
    assert by_id(run("suggest", "thirty.jsonl", *given, "--format", "jsonl").out) == alone
    assert run("batch", "thirty.jsonl", *given, "--output", "B", "--processes", "1").code == 0
    assert by_id((desk / "B" / "shard-000000.jsonl").read_text(encoding="utf-8")) == alone
    with TestClient(application([ServedModel("m", tagger, "M")])) as client:
        assert over_http(client, texts) == alone
        for id_, text in texts.items():
            results = client.post("/v1/projects/m/suggest", data={"text": text}).json()["results"]
            sure = [squashed(one.score) if one.confidence is None else one.confidence for one in tagger.suggest(text)]
            assert [each["score"] for each in results] == sure
            assert [each["uri"] for each in results] == [label for label, _ in alone[id_]]


def over_http(client: TestClient, texts: Mapping[str, str], **options: Any) -> dict[str, Answer]:
    """What /api answers."""
    answers = {
        id_: client.post("/api/suggest", json={"text": text, **options}).json()["suggestions"]
        for id_, text in texts.items()
    }
    return {id_: [(each["id"], each["score"]) for each in row] for id_, row in answers.items()}


def served(labels: str) -> Tagger:
    """The tagger that `tagwright serve --labels` makes without --reviews."""
    return inputs.tagger(Chosen(Path(labels), settings=[WORDS[1]]), [Document("")])


def test_labels_of_a_file_are_found_alike_alone_among_thirty_and_served(run: Command) -> None:
    given = ("--labels", "several.jsonl", "--quiet", "--format", "jsonl", *WORDS)
    folder = by_id(run("suggest", "folder", *given).out)
    assert len(folder) == 30
    for id_ in TEXTS:
        assert by_id(run("suggest", f"folder/{id_}.txt", *given).out) == {id_: folder[id_]}
    beside = [f"folder/{id_}.txt" for id_ in ("german", "unclear", "finnish", "swedish")]
    assert by_id(run("suggest", *beside, *given).out).items() <= folder.items()
    with TestClient(application([ServedModel("m", served("several.jsonl"), "M")])) as client:
        assert over_http(client, thirty()) == by_id(run("suggest", "thirty.jsonl", *given).out)


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
