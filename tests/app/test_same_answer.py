"""The same question gets the same answer, or the same refusal, on the command line, in Python and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.app.conftest import Command

from tagwright import ConfigError, zero_shot
from tagwright.batch.local_processes import Tagged
from tagwright.batch.output_folder import BatchOptions
from tagwright.batch.shard_tagging import ShardTagger
from tagwright.batch.shards import Shard
from tagwright.combining.confidence import squashed
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel
from tagwright.sklearn import TaggerClassifier
from tagwright.tagger import Tagger

TEXT = "Bees and more bees make honey. Honey, bees, flowers. The bank of a river: bees."
WORDS = zero_shot(["Bees", "Honey", "Flowers", "Banks", "Rivers"], stages=["exact_match", "tfidf"], language="en")
TAGGERS = {
    "with confidences": replace(WORDS, combiner=WeightedSum(confidence="fitted", curve=(1.0, 0.0))),
    "without": WORDS,
}

REFUSED = "refused"
Answer: TypeAlias = list[str] | str
"The ids of the labels, best first; or that there is none, and why."

Question: TypeAlias = Mapping[str, Any]
"""Options by their names in Python."""

CONFIDENCES: list[Question] = [
    {"min_confidence": 0.3},
    {"min_confidence": 0.5, "k": 4},
    {"min_confidence": 1.0},
    {"min_confidence": 0.5, "k": 1},
]
QUESTIONS: list[Question] = [{}, {"k": 1}, {"k": 3}, {"k": 1000}, {"min_confidence": 0.0}, *CONFIDENCES]
OWN_QUESTIONS: list[Question] = [
    {"best_cut": True},
    {"best_cut": True, "k": 2, "min_confidence": 0.4},
    {"min_score": 1.0},
    {"min_score": -1e9, "k": 2},
    {"min_score": 1e9},
]
"What Annif's interface cannot ask."

IMPOSSIBLE: list[Question] = [{"min_confidence": 1.5}, {"min_confidence": -0.1}, {"k": -1}]


@pytest.fixture(scope="module", params=list(TAGGERS))
def tagger(request: pytest.FixtureRequest) -> Tagger:
    return TAGGERS[request.param]


@pytest.fixture(scope="module")
def model(tagger: Tagger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    tagger.save(folder)
    return folder


@pytest.fixture(scope="module")
def client(tagger: Tagger) -> Iterator[TestClient]:
    with TestClient(application([ServedModel("m", tagger, "Model")])) as found:
        yield found


def in_this_process(shards: Iterable[Shard], folder: Path, _: str, options: BatchOptions, __: int) -> Iterator[Tagged]:
    """Tag shards as processes do: that these write the same bytes is a test of batches."""
    tagger = ShardTagger.load(folder, options)
    for shard in shards:
        target = shard.path.with_suffix(".suggestions")
        yield Tagged(shard, target, tagger.write(shard.path, target))


@pytest.fixture
def ask(
    tagger: Tagger, model: Path, client: TestClient, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Question], Answer]:
    """Ask one way."""
    monkeypatch.setattr("tagwright.batch.batch.in_processes", in_this_process)
    (tmp_path / "one.jsonl").write_text(json.dumps({"id": "1", "text": TEXT}), encoding="utf-8")

    def flags(question: Question) -> list[str]:
        texts = {f"--{name.replace('_', '-')}": value for name, value in question.items() if name != "k"}
        named = [part for flag, value in texts.items() for part in ([flag] if value is True else [f"{flag}={value}"])]
        return [*named, *(["-k", str(question["k"])] if "k" in question else [])]

    def suggest(question: Question) -> Answer:
        found = run("suggest", "one.jsonl", "--model", str(model), "--format", "jsonl", "--quiet", *flags(question))
        return _ids(found.out) if found.code == 0 else _refused(found.code == 2, found.err)

    def batch(question: Question) -> Answer:
        output = tmp_path / "batch"
        given = ("--model", str(model), "--output", str(output), "--processes", "1", "--quiet", *flags(question))
        found = run("batch", "one.jsonl", *given)
        return (
            _ids((output / "shard-000000.jsonl").read_text())
            if not found.code
            else _refused(found.code == 2, found.err)
        )

    def python(question: Question) -> Answer:
        try:
            return [each.id for each in tagger.suggest(TEXT, **question)]
        except ConfigError as error:
            return _refused(True, str(error))

    def classifier(question: Question) -> Answer:
        names = {"k": "max_labels"}
        given: dict[str, Any] = {names.get(name, name): value for name, value in question.items()}
        fitted = TaggerClassifier(**{"max_labels": 10, **given})
        fitted.tagger_, fitted.classes_ = tagger, np.array(tagger.vocabulary.ids)
        try:
            predicted = {tagger.vocabulary.ids[label] for label in np.flatnonzero(fitted.predict([TEXT])[0]).tolist()}
        except ConfigError as error:
            return _refused(True, str(error))
        return [each.id for each in tagger.suggest(TEXT, k=len(WORDS.vocabulary)) if each.id in predicted]

    def api(question: Question) -> Answer:
        names = {"k": "limit", "min_confidence": "threshold"}
        content = {names.get(name, name): value for name, value in question.items()}
        answer = client.post("/api/suggest", json={"text": TEXT, **content})
        return _over_http(answer, "suggestions", "id")

    def annif(question: Question) -> Answer:
        names = {"k": "limit", "min_confidence": "threshold"}
        content = {names[name]: str(value) for name, value in question.items()}
        return _over_http(client.post("/v1/projects/m/suggest", data={"text": TEXT, **content}), "results", "uri")

    ways = {
        "suggest": suggest, "batch": batch, "python": python, "classifier": classifier, "api": api, "annif": annif,
    }  # fmt: skip
    return lambda way, question: ways[way](question)


def _ids(line: str) -> list[str]:
    return [each["label"] for each in json.loads(line)["suggestions"]]


def _refused(rightly: bool, why: str) -> str:
    assert rightly, why
    return f"{REFUSED}: {why}"


def _over_http(answer: Any, key: str, id_: str) -> Answer:
    if answer.status_code == 200:
        return [each[id_] for each in answer.json()[key]]
    right = answer.status_code == 400 and answer.headers["content-type"] == "application/problem+json"
    return _refused(right, answer.json()["detail"])


def _expected(tagger: Tagger, question: Question) -> list[str]:
    """Worked out from all suggestions by the meaning of each option."""
    found = tagger.suggest(TEXT, k=100)[: question.get("k", 10)]
    if question.get("best_cut"):
        surest = sorted((each.confidence or 0.0 for each in found), reverse=True)
        f1 = [2 * sum(surest[:size]) / (size + sum(surest)) for size in range(1, len(surest) + 1)]
        least = surest[f1.index(max(f1))]
        found = [each for each in found if (each.confidence or 0.0) >= least]
    enough = [each for each in found if each.score >= question.get("min_score", -np.inf)]
    least = question.get("min_confidence", 0.0)
    return [each.id for each in enough if not least or (each.confidence or 0.0) >= least]


OWN_WAYS = ["suggest", "python", "classifier", "api"]


@pytest.mark.parametrize(
    ("way", "question"),
    [
        *((way, question) for question in QUESTIONS for way in [*OWN_WAYS, "annif"]),
        *((way, question) for question in OWN_QUESTIONS for way in OWN_WAYS),
        *(("batch", question) for question in (QUESTIONS[1], CONFIDENCES[1], *OWN_QUESTIONS[1:3])),
    ],
    ids=str,
)
def test_the_same_question_gets_the_same_answer(
    ask: Callable[[str, Question], Answer], tagger: Tagger, way: str, question: Question
) -> None:
    answer = ask(way, question)
    asks_for_confidences = bool(question.get("min_confidence") or question.get("best_cut"))
    if way == "annif" and asks_for_confidences and tagger is TAGGERS["without"]:
        shown = {each.id: squashed(each.score) for each in tagger.suggest(TEXT, k=100)}
        rest = {name: value for name, value in question.items() if name != "min_confidence"}
        assert answer == [id_ for id_ in _expected(tagger, rest) if shown[id_] >= question["min_confidence"]]
    elif asks_for_confidences and tagger is TAGGERS["without"]:
        assert "this tagger does not estimate confidences (zero_shot does with the stage dense" in answer
    else:
        assert answer == _expected(tagger, question)


@pytest.mark.parametrize("way", [*OWN_WAYS, "annif"])
@pytest.mark.parametrize("question", IMPOSSIBLE, ids=str)
def test_what_cannot_be_is_refused_by_every_way(
    ask: Callable[[str, Question], Answer], way: str, question: Question
) -> None:
    assert str(ask(way, question)).startswith(REFUSED)


def test_the_questions_tell_the_labels_apart() -> None:
    found = {tuple(_expected(TAGGERS["with confidences"], question)) for question in [*QUESTIONS, *OWN_QUESTIONS]}
    assert len(found) >= 5
