"""The same question gets the same answer, or the same refusal, on the command line, in Python and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.app.conftest import Command, write
from tests.unsure import without_confidences
from tests.whole_vocabulary import ENGLISH, SKOS

import tagwright as tw
from tagwright.batch.shard_tagging import tag_shard
from tagwright.combining.confidence import LIKELY, Curve, squash_score
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.thresholds import Thresholds
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.errors import ConfigError
from tagwright.server.application import application
from tagwright.server.options import ServerOptions
from tagwright.server.review.page import ReviewPages
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import open_review
from tagwright.sklearn import TaggerClassifier
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import SuggestOptions

Question: TypeAlias = Mapping[str, Any]
"Options by their names in Python."

Ways: TypeAlias = dict[str, Callable[[Question], list[str]]]
"Name of a way -> the ids of the labels, best first. Raises ConfigError where it refuses."

OWN_WAYS = ["suggest", "python", "classifier", "api"]
CONDITIONAL = ["suggest", "python", "api"]
"A classifier is given the labels that fulfil conditions instead."

WORDS = ("--set", 'stages=["exact_match", "tfidf"]')

CASES: list[tuple[Question, str]] = [
    ({}, "1235"),
    ({"only": ["notation:598*"]}, "25"),
    ({"only": ["branch:http://e/2", "http://e/3", "http://e/5"]}, "5"),
    ({"only": ["type:http://e/Topic"], "without": ["notation:598"]}, "1"),
    ({"only": ["collection:http://e/night"]}, "135"),
    ({"only": ["scheme:http://e/zoo"], "without": ["branch:http://e/1"]}, "3"),
]
"Conditions, and the labels that fulfil them."

CUTS: list[Question] = [
    {"k": 1},
    {"k": 1000},
    {"min_confidence": 0.0},
    {"min_confidence": 0.5, "k": 2},
    {"min_confidence": 1.0},
]
OWN_CUTS: list[Question] = [
    {"best_cut": True},
    {"best_cut": True, "k": 2, "min_confidence": 0.4},
    {"thresholds": True},
    {"thresholds": True, "k": 1},
    {"min_score": 1.0},
    {"min_score": -1e9, "k": 2},
    {"min_score": 1e9},
]
"What Annif's interface cannot ask."

LEAST = {"http://e/1": 0.9, "http://e/2": 0.9}
"Thresholds of labels; of the others 0. A logistic curve over standard scores of four labels is below 0.9 everywhere."


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    """All four labels are named in the text."""
    path = tmp_path_factory.mktemp("zoo") / "zoo.ttl"
    path.write_text(SKOS, encoding="utf-8")
    labels = tw.Vocabulary.read(path, language="en")
    return without_confidences(tw.zero_shot(labels, stages=["exact_match", "tfidf"], language="en"))


@pytest.fixture
def sure(tagger: Tagger) -> Tagger:
    """The same with confidences."""
    least = np.array([*(LEAST.get(id_, 0.0) for id_ in tagger.vocabulary.ids), 0.5], np.float32)
    steps = WeightedSum(), Curve(slope=1.0, intercept=0.0), NoneFits(labels=len(tagger.vocabulary)), Thresholds(least)
    return replace(tagger, steps=steps)


def ways_to_ask(tagger: Tagger, run: Command, desk: Path) -> Ways:
    write("one.jsonl", [{"id": "1", "text": ENGLISH}])
    tagger.save(desk / "model", overwrite=True)

    def command(name: str, question: Question, *more: str) -> str:
        listed = {flag: each if isinstance(each, list) else [each] for flag, each in question.items()}
        flags = [_flag(name, value) for name, values in listed.items() for value in values]
        found = run(name, "one.jsonl", "--model", "model", "--quiet", *flags, *more)
        if found.code:
            raise ConfigError(found.err)
        return found.out

    def suggest(question: Question) -> list[str]:
        return _ids(command("suggest", question, "--format", "jsonl"))

    def batch(question: Question) -> list[str]:
        command("batch", question, "--output", "batch", "--processes", "1")
        command("batch", question, "--output", "batch", "--processes", "1")  # continues with the same settings
        return _ids((desk / "batch" / "shard-000000.jsonl").read_text())

    def python(question: Question) -> list[str]:
        return [each.id for each in tagger.suggest(ENGLISH, **question)]

    def classifier(question: Question) -> list[str]:
        given = {{"k": "max_labels"}.get(name, name): value for name, value in question.items()}
        fitted = TaggerClassifier(**{"max_labels": 10, **given})
        fitted.tagger_, fitted.classes_ = tagger, np.array(tagger.vocabulary.ids)
        predicted = {fitted.classes_[place] for place in np.flatnonzero(fitted.predict([ENGLISH])[0])}
        return [each.id for each in tagger.suggest(ENGLISH, k=100) if each.id in predicted]

    def api(question: Question) -> list[str]:
        content = {"text": ENGLISH, **_over_http(question)}
        plain = _answered(tagger, "/api/suggest", json=content)["suggestions"]
        explained = _answered(tagger, "/api/suggest", json={**content, "evidence": True})["suggestions"]
        assert all(each["evidence"] for each in explained)
        return [each["id"] for each in plain]

    def files(question: Question) -> list[str]:
        sent = {"file": ("a.jsonl", json.dumps({"text": ENGLISH}))}
        answer = _answered(tagger, "/api/files", files=sent, params=_over_http(question))
        return [each["id"] for each in answer["documents"][0]["suggestions"]]

    def annif(question: Question) -> list[str]:
        form = {"text": ENGLISH, **_over_http(question)}
        return [each["uri"] for each in _answered(tagger, "/v1/projects/m/suggest", data=form)["results"]]

    def annif_batch(question: Question) -> list[str]:
        sent: dict[str, Any] = {"json": {"documents": [{"text": ENGLISH}]}, "params": _over_http(question)}
        return [each["uri"] for each in _answered(tagger, "/v1/projects/m/suggest-batch", **sent)[0]["results"]]

    def served(question: Question) -> list[str]:
        rules = SuggestOptions(**{name: value for name, value in question.items() if name != "k"})
        content = {"text": ENGLISH, "limit": question.get("k", 10)}
        return [each["id"] for each in _answered(tagger, "/api/suggest", rules, json=content)["suggestions"]]

    return {
        "suggest": suggest, "batch": batch, "python": python, "classifier": classifier, "api": api, "files": files,
        "annif": annif, "annif batch": annif_batch, "served": served,
    }  # fmt: skip


def _flag(name: str, value: object) -> str:
    flag = f"--{'max-labels' if name == 'k' else name.replace('_', '-')}"
    return flag if value is True else f"{flag}={value}"


def _over_http(question: Question) -> dict[str, Any]:
    return {{"k": "limit", "min_confidence": "threshold"}.get(name, name): each for name, each in question.items()}


def _ids(line: str) -> list[str]:
    return [each["label"] for each in json.loads(line)["suggestions"]]


CLIENTS = dict[tuple[int, str], TestClient]()
"Of a tagger and its settings: a server takes longer to start than to answer."

SERVERS = ExitStack()


@pytest.fixture(scope="module", autouse=True)
def stopped_servers() -> Iterator[None]:
    with SERVERS:
        yield


def _answered(tagger: Tagger, address: str, settings: SuggestOptions = SuggestOptions(), **sent: Any) -> Any:
    key = (id(tagger), repr(settings))
    if key not in CLIENTS:
        served = application([ServedModel("m", tagger, "Model", settings=settings)])
        CLIENTS[key] = SERVERS.enter_context(TestClient(served))
    answer = CLIENTS[key].post(address, **sent)
    if answer.status_code == 400:
        raise ConfigError(answer.json()["detail"])
    assert answer.status_code == 200, answer.text
    return answer.json()


def _expected(tagger: Tagger, question: Question) -> list[str]:
    """Worked out from all suggestions by the meaning of each option."""
    every, own = tagger.suggest(ENGLISH, k=100), LEAST if question.get("thresholds") else {}
    found = [each for each in every if (each.confidence or 0.0) >= own.get(each.id, 0.0)][: question.get("k", 10)]
    if question.get("best_cut"):
        surest = sorted((each.confidence or 0.0 for each in found), reverse=True)
        f1 = [(2 * sum(surest[:size]) + 0.8) / (size + sum(surest) + 2) for size in range(1, len(surest) + 1)]
        least = surest[f1.index(max(f1))]
        found = [each for each in found if (each.confidence or 0.0) >= least]
    enough = [each for each in found if each.score >= question.get("min_score", -np.inf)]
    least = question.get("min_confidence", 0.0)
    return [each.id for each in enough if not least or (each.confidence or 0.0) >= least]


def test_every_interface_says_by_the_same_number_that_no_label_fits(
    sure: Tagger, run: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagwright.batch.batch.in_processes", _in_this_process)
    write("one.jsonl", [{"id": "1", "text": "A printer that makes a noise, by the zoo"}])
    sure.save(desk / "model", overwrite=True)
    (record,) = map(json.loads, (desk / "one.jsonl").read_text(encoding="utf-8").splitlines())
    none = sure.suggest(record["text"]).none
    assert none is not None
    assert 0 < none < 1
    asked = "one.jsonl", "--model", "model", "--quiet"
    assert json.loads(run("suggest", *asked, "--format", "jsonl").out)["none"] == pytest.approx(none, abs=1e-6)
    run("batch", *asked, "--output", "batch", "--processes", "1")
    assert json.loads((desk / "batch" / "shard-000000.jsonl").read_text())["none"] == pytest.approx(none, abs=1e-6)
    told = (
        _answered(sure, "/api/suggest", json={"text": record["text"]}),
        *(
            _answered(sure, "/api/files", files={"file": ("a.jsonl", json.dumps({"text": record["text"]}))})[
                "documents"
            ]
        ),
    )
    assert [each["none"] for each in told] == [pytest.approx(none, abs=1e-6)] * 2
    assert (f"no label fits ({none:.2f})" in run("suggest", *asked).out) == (none > LIKELY)
    more_than_it_leaves = {"text": record["text"], "threshold": 1 - none + 1e-4}
    assert _answered(sure, "/v1/projects/m/suggest", data=more_than_it_leaves)["results"] == []


def test_no_label_fits_an_empty_text_whoever_is_asked(sure: Tagger, run: Command, desk: Path) -> None:
    write("one.jsonl", [{"id": "1", "text": ""}])
    sure.save(desk / "model", overwrite=True)
    said = json.loads(run("suggest", "one.jsonl", "--model", "model", "--quiet", "--format", "jsonl").out)["none"]
    assert [sure.suggest("").none, said, _answered(sure, "/api/suggest", json={"text": ""})["none"]] == [1.0] * 3


@pytest.mark.parametrize("way", [*OWN_WAYS, "annif", "batch"])
def test_the_same_cut_gets_the_same_answer(
    tagger: Tagger, sure: Tagger, run: Command, desk: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagwright.batch.batch.in_processes", _in_this_process)
    ask = ways_to_ask(sure, run, desk)[way]
    cuts = [CUTS[3]] if way == "batch" else [*CUTS, *(OWN_CUTS if way in OWN_WAYS else [])]
    for question in cuts:
        assert ask(question) == _expected(sure, question), question
    for impossible in () if way == "batch" else ({"min_confidence": 1.5}, {"min_confidence": -0.1}, {"k": -1}):
        with pytest.raises(ConfigError):
            ask(impossible)
    ask = ways_to_ask(tagger, run, desk)[way]
    if way == "annif":  # its clients expect scores from 0 to 1
        squeezed = [each.id for each in tagger.suggest(ENGLISH) if squash_score(each.score) >= 0.9]
        assert ask({"min_confidence": 0.9}) == squeezed
    elif way != "batch":
        with pytest.raises(ConfigError, match="this tagger does not estimate confidences"):
            ask({"min_confidence": 0.5})
        with pytest.raises(ConfigError, match="best_cut and thresholds both say how many labels"):
            ask({"best_cut": True, "thresholds": True})


def test_a_tagger_without_thresholds_says_how_to_find_some(sure: Tagger) -> None:
    untuned = replace(sure, steps=sure.steps[:3])
    with pytest.raises(ConfigError, match=r"no thresholds of its labels; find some on labelled documents"):
        untuned.suggest(ENGLISH, thresholds=True)


def test_thresholds_are_found_on_labelled_documents_and_saved(run: Command, tagger: Tagger, desk: Path) -> None:
    """The four labels of the text are gold, so that all are to be suggested, in Python and on the command line."""
    unsure = replace(tagger, steps=(WeightedSum(), Curve(slope=1.0)))
    unsure.save(desk / "model")
    every = list(tagger.vocabulary.ids)
    write("gold.jsonl", [{"id": str(n), "text": f"{ENGLISH} Page {n}.", "labels": every} for n in range(10)])
    asked = ("evaluate", "gold.jsonl", "--model", "model", "--quiet")
    write("copies.jsonl", [{"id": str(n), "text": ENGLISH, "labels": every} for n in range(3)])
    copies = run("evaluate", "copies.jsonl", *asked[2:], "--tune", "f1")
    assert copies.code == 2
    assert "two documents with different texts" in copies.err
    found = run(*asked, "--tune", "f1", "--output", "tuned", "--json")
    compared = json.loads(found.out)["measures"]
    assert [compared[f"{name}@100"]["b"] for name in ("micro-F1", "macro-F1", "micro-P")] == [1, 1, 1]
    assert len(tw.load(desk / "tuned").suggest(ENGLISH, thresholds=True)) == 4
    run(*asked, "--tune", "precision=0.5", "--output", "model")
    assert len(tw.load(desk / "model").suggest(ENGLISH, thresholds=True)) == 4
    for flags, problem in (
        (("--tune", "best"), "expected f1, or a precision"),
        (("--output", "other"), "add --tune f1"),
        (("--tune", "f1", "--output", "tuned"), "tuned: holds a saved tagger; choose another place, or tune that one"),
        (("--tune", "f1", "--report", "a.html"), "--tune allows no --run, --train, --report"),
    ):
        refused = run(*asked, *flags)
        assert refused.code == 2
        assert problem in refused.err


def _in_this_process(shards: Any, folder: Path, digest: str, options: Any, _: int) -> Any:
    """Tag shards as processes do: that these write the same bytes is a test of batches."""
    for shard in shards:
        target = shard.path.with_suffix(".suggestions")
        yield shard, target, tag_shard(folder, digest, options, shard.path, target)


@pytest.mark.parametrize("way", [*CONDITIONAL, "files", "annif", "annif batch", "served"])
def test_allowed_labels_keep_their_order_and_fill_the_cut(tagger: Tagger, run: Command, desk: Path, way: str) -> None:
    ask, whole = ways_to_ask(tagger, run, desk)[way], [each.id for each in tagger.suggest(ENGLISH)]
    assert len(whole) == 4
    for conditions, allowed in CASES if way in OWN_WAYS else CASES[1:2]:
        expected = [each for each in whole if each[-1] in allowed]
        assert ask(conditions) == expected
        assert ask({**conditions, "k": 1}) == expected[:1]
    with pytest.raises(ConfigError, match=r"fits no label; did you mean notation:637\.5"):
        ask({"only": ["notation:6375"]})


@pytest.mark.parametrize("way", [*CONDITIONAL, "batch", "files", "annif", "annif batch", "served"])
def test_narrow_and_broad_labels_are_the_same_by_every_way(tagger: Tagger, run: Command, desk: Path, way: str) -> None:
    """Owls (5) are below birds (2) and animals (1); eggs (3) are at the top as well."""
    ask, whole = ways_to_ask(tagger, run, desk)[way], [each.id for each in tagger.suggest(ENGLISH)]
    branch = [each for each in whole if each[-1] in "125"]
    assert ask({"hierarchy": "narrowest"}) == [each for each in whole if each[-1] in "35"]
    if way in ("batch", "files"):  # a process reads each file
        return
    assert ask({"per_branch": 1}) == [each for each in whole if each not in branch[1:]]
    assert ask({"hierarchy": "narrowest", "per_branch": 1, "without": ["http://e/3"]}) == ["http://e/5"]
    assert set(ask({"hierarchy": "all", "only": ["branch:http://e/1"], "k": 3})) == set(branch)
    for wrong in ({"hierarchy": "broadest"}, {"per_branch": 0}):
        with pytest.raises(ConfigError):
            ask(wrong)


def test_a_request_may_ask_for_narrower_or_broader_labels_than_the_settings_of_a_served_model(tagger: Tagger) -> None:
    settings, whole = SuggestOptions(hierarchy="narrowest"), [each.id for each in tagger.suggest(ENGLISH)]
    for asked, expected in (({}, [each for each in whole if each[-1] in "35"]), ({"hierarchy": "ranked"}, whole)):
        found = _answered(tagger, "/api/suggest", settings, json={"text": ENGLISH, **asked})["suggestions"]
        assert [each["id"] for each in found] == expected
        form = {"text": ENGLISH, **asked}
        results = _answered(tagger, "/v1/projects/m/suggest", settings, data=form)["results"]
        assert [each["uri"] for each in results] == expected


def test_scores_are_of_suggestions_that_are_as_narrow_as_was_asked_for(
    run: Command, tagger: Tagger, desk: Path
) -> None:
    """Owls and eggs are right and all four labels suggested: F1 is 4 / 6; only these two are the narrowest: F1 is 1.

    With one label of each branch, the first of the three animals and eggs, F1 is 1 or 1/2.
    """
    tagger.save(desk / "model")
    (desk / "zoo.ttl").write_text(SKOS, encoding="utf-8")
    write("gold.jsonl", [{"id": "1", "text": ENGLISH, "labels": ["http://e/3", "http://e/5"]}])
    suggested = run("suggest", "gold.jsonl", "--model", "model", "--format", "jsonl")
    (desk / "run.jsonl").write_text(suggested.out)
    first = next(each.id for each in tagger.suggest(ENGLISH) if each.id[-1] in "125")
    for rules, expected in (
        ({}, 2 / 3),
        ({"hierarchy": "narrowest"}, 1),
        ({"per_branch": 1}, 1 if first == "http://e/5" else 0.5),
    ):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in rules.items()]
        by_run = ("--labels", "zoo.ttl", "--run", "run.jsonl", *flags, "--json")
        found = [
            json.loads(run("evaluate", "gold.jsonl", "--model", "model", *flags, "--json").out)["measures"],
            json.loads(run("evaluate", "gold.jsonl", *by_run).out)["measures"],
            json.loads(run("compare", "gold.jsonl", "--run", "run.jsonl", *by_run).out)["measures"],
        ]
        values = [each["F1@5"].get("value", each["F1@5"].get("a")) for each in found]
        corpus = tw.Corpus.read("gold.jsonl")
        python = (
            tw.evaluate(tagger, corpus, **rules)["F1@5"].value,
            tw.compare(tagger, tagger, corpus, **rules)["F1@5"].a,
        )
        assert [*values, *python] == pytest.approx([expected] * 5)


def test_a_request_narrows_what_a_served_model_may_suggest_and_never_widens_it(tagger: Tagger) -> None:
    settings = SuggestOptions(only=["branch:http://e/1"], without=["notation:598.9"])

    def ids(only: Sequence[str] = (), without: Sequence[str] = ()) -> set[str]:
        content = {"text": ENGLISH, "only": only, "without": without}
        return {each["id"][-1] for each in _answered(tagger, "/api/suggest", settings, json=content)["suggestions"]}

    assert (ids(), ids(["http://e/3"]), ids(["notation:598*"]), ids((), ["notation:59"])) == (
        {"1", "2"}, set(), {"2"}, {"2"},
    )  # fmt: skip


def test_labels_that_a_served_model_may_not_suggest_are_found_by_no_search(tagger: Tagger) -> None:
    model = ServedModel("m", tagger, "Model", settings=SuggestOptions(without=["http://e/2"]))
    queries = json.dumps({key: {"query": key} for key in ("Birds", "Owls", "http://e/2", "Birds at night")})
    with TestClient(application([model])) as client:
        found = {each: client.get(f"/api/labels?q={each}").json()["labels"] for each in ("Bird", "Owl", "e/2")}
        answers = client.post("/reconcile", data={"queries": queries}).json()
        typed = client.get("/reconcile/m/suggest/entity?prefix=bir").json()["result"]
    assert {name: [each["id"] for each in labels] for name, labels in found.items()} == {
        "Bird": [], "Owl": ["http://e/5"], "e/2": [],
    }  # fmt: skip
    reconciled = {each["id"] for answer in answers.values() for each in answer["result"]}
    assert ("http://e/5" in reconciled, "http://e/2" in reconciled, typed) == (True, False, [])


def test_the_review_page_shows_no_label_that_may_not_be_suggested(tagger: Tagger, desk: Path) -> None:
    (desk / "birds.txt").write_text(ENGLISH)
    model = ServedModel("m", tagger, "Model", settings=SuggestOptions(without=["notation:598*"]))
    options = ServerOptions(
        reviews=desk / "reviews.sqlite", documents=[str(desk / "birds.txt")], random_share=1, blind_share=0
    )
    review = open_review(model, options)
    assert review is not None
    with TestClient(application([model], pages=ReviewPages(review))) as client:
        client.post("/review/enter", data={"name": "Eva"})
        page = client.get("/review").text
        found = client.get("/review/documents/1/labels?q=owl").text
    review.file.close()
    assert ("Animals" in page, "Eggs" in page, 'value="http://e/2"' in page, "http://e/5" in found) == (
        True, True, False, False,
    )  # fmt: skip


def test_a_model_is_not_served_under_conditions_that_no_label_fulfils(run: Command, desk: Path) -> None:
    (desk / "zoo.ttl").write_text(SKOS, encoding="utf-8")
    outcome = run("serve", "--labels", "zoo.ttl", "--only", "notation:6375", *WORDS)
    assert outcome.code == 2
    assert '--only "notation:6375" fits no label; did you mean notation:637.5?' in outcome.err


def test_gold_labels_outside_the_conditions_are_left_out_and_counted(
    run: Command, tagger: Tagger, desk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Three gold labels; two fulfil the conditions and are the first two suggestions of the first document."""
    tagger.save(desk / "model")
    labelled = [{"id": "1", "text": ENGLISH, "labels": ["http://e/2", "http://e/5"]},
                {"id": "2", "text": "Eggs", "labels": ["http://e/3"]}]  # fmt: skip
    write("gold.jsonl", labelled)
    found = run("evaluate", "gold.jsonl", "--model", "model", "--only", "notation:598*", "--json")
    assert (found.code, json.loads(found.out)["documents"]) == (0, 1)
    assert "1 of 3 gold labels do not fulfil the conditions and are left out" in caplog.text
    assert "1 of 2 documents have no other label and are not scored" in caplog.text
    left = json.loads(found.out)["measures"]
    assert (left["P@1"]["value"], left["nDCG@5"]["value"]) == (1, 1)
    Path("run.jsonl").write_text(run("suggest", "gold.jsonl", "--model", "model", "--format", "jsonl").out)
    by_run = (
        "evaluate",
        "gold.jsonl",
        "--labels",
        "zoo.ttl",
        "--run",
        "run.jsonl",
        "--only",
        "notation:598*",
        "--json",
    )
    Path("zoo.ttl").write_text(SKOS, encoding="utf-8")
    assert json.loads(run(*by_run).out)["measures"] == left
    python = tw.evaluate(tagger, tw.Corpus.read("gold.jsonl"), only=["notation:598*"])
    assert python["nDCG@5"].value == 1
