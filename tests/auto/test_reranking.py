"""`train auto` with a language model: how far it is trusted is learned from labelled documents."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.llm.stub import Answer, asked_about, decisions, names, scores, serving

from tagwright import auto
from tagwright.auto.combiner import ndcg_at_5
from tagwright.data.vocabulary import Vocabulary
from tagwright.llm.client import client
from tagwright.llm.options import LlmOptions
from tagwright.readers.documents.jsonl import write_jsonl
from tagwright.tagger import Tagger
from tagwright.types import Document, Label, Run

pytestmark = pytest.mark.usefixtures("quick_auto")

NAMES = ("honey", "wasp", "flower", "market", "money", "river", "water", "stone", "cloud", "horse")
LABELS = Vocabulary([Label(name, (name,)) for name in NAMES])
CONFIG = auto.Config(stages=("exact_match", "tfidf"), language="english")


def document(number: int) -> Document:
    """One that names six labels, of which any one is right: nothing in the text tells which, the number does."""
    rng = np.random.default_rng(number)
    named = [NAMES[place] for place in rng.permutation(len(NAMES))[:6]]
    return Document(f"d{number}", title=f"number {number}", abstract=" ".join(named), labels=(rng.choice(named),))


TRAINING, OTHERS = ([document(number) for number in numbers] for numbers in (range(60), range(100, 140)))
GOLD = {each.text: set(each.labels) for each in [*TRAINING, *OTHERS]}


def oracle(message: Mapping[str, Any]) -> str:
    right = GOLD[message["document"]]
    return scores({number: 10 * (name in right) for number, name in enumerate(names(message), 1)})


def noise(message: Mapping[str, Any]) -> str:
    """Scores that have nothing to do with the document, the same whenever it is asked."""
    seed = hashlib.sha256(message["document"].encode()).digest()
    return scores({number: seed[number] % 11 for number, _ in enumerate(names(message), 1)})


def garbage(message: Mapping[str, Any]) -> str:
    return ["", "Sure!", '{"scores": 3}', '{"scores": [{"label": 77, "score": 9}]}'][len(message["document"]) % 4]


def deciding(answer: Answer) -> Answer:
    """A decision model that says the same: a probability in place of each score."""

    def decide(message: dict[str, Any]) -> str | int | bytes | None:
        labels = [{"name": name} for name in asked_about(message)]
        said = answer({"document": message["state"]["document"], "labels": labels})
        if not isinstance(said, str) or not said.startswith('{"scores": ['):
            return said if isinstance(said, int) else "{}"
        return decisions({each["label"]: each["score"] / 10 for each in json.loads(said)["scores"]})

    return decide


PROTOCOLS = pytest.mark.parametrize(
    ("protocol", "form"),
    [({}, lambda answer: answer), ({"response": "systemone"}, deciding)],
    ids=["scores", "decisions"],
)


def quality(tagger: Tagger) -> float:
    return float(ndcg_at_5(tagger.tag(OTHERS), LABELS.gold(OTHERS)).mean())


def same(one: Run, other: Run) -> bool:
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.scores, other.scores)


@pytest.fixture(scope="module", name="plain")
def without_a_model() -> Tagger:
    return auto.fit(TRAINING, LABELS, CONFIG)


@PROTOCOLS
def test_with_an_oracle_the_ranking_is_what_the_candidates_allow(
    protocol: dict[str, Any], form: Any, plain: Tagger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with serving(form(oracle)) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        llm = LlmOptions(model=stub.model, **protocol)
        tagger = auto.fit(TRAINING, LABELS, replace(CONFIG, llm=llm))
        assert len(stub.bodies) == client(llm).calls == len(TRAINING)
        assert quality(plain) < 0.8
        assert quality(tagger) == 1.0  # every right label is a candidate
        assert len(stub.bodies) == client(llm).calls == len(TRAINING) + len(OTHERS)
        run, before = tagger.tag(OTHERS, k=1), plain.tag(OTHERS, k=1)
        assert run.confidences is not None
        assert before.confidences is not None
        assert run.confidences.mean() > 0.8 > 2 * before.confidences.mean()
        tagger.save(tmp_path / "tagger")
        assert same(Tagger.load(tmp_path / "tagger").tag(OTHERS), tagger.tag(OTHERS))
        assert len(stub.bodies) == len(TRAINING) + len(OTHERS)  # the cache knows the answers
    measured = tagger.training["auto"]["nDCG@5"]  # the weight is chosen on other folds, where a lower one may do
    assert 1.0 >= measured["llm_ranking"] > measured[plain.training["auto"]["kept"]] + 0.3


@PROTOCOLS
@pytest.mark.parametrize("answer", [noise, garbage, lambda _: 500])
def test_a_model_that_is_of_no_use_is_left_out(
    answer: Answer,
    protocol: dict[str, Any],
    form: Any,
    plain: Tagger,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "tagwright")
    with serving(form(answer)) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        tagger = auto.fit(TRAINING, LABELS, replace(CONFIG, llm=LlmOptions(model=stub.model, retries=0, **protocol)))
        asked = len(stub.bodies)
        assert same(tagger.tag(OTHERS), plain.tag(OTHERS))
        assert len(stub.bodies) == asked
    assert "llm_ranking" not in tagger.stages
    assert "left out, as it is not clearly better" in caplog.text


@PROTOCOLS
def test_a_model_that_dies_leaves_the_order_without_it(
    protocol: dict[str, Any],
    form: Any,
    plain: Tagger,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    dead = list[bool]()
    with serving(form(lambda message: 500 if dead else oracle(message))) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        tagger = auto.fit(TRAINING, LABELS, replace(CONFIG, llm=LlmOptions(model=stub.model, retries=0, **protocol)))
        dead.append(True)
        run, before = tagger.tag(OTHERS), plain.tag(OTHERS)
    assert same(run, before)
    assert run.confidences is not None
    assert before.confidences is not None
    assert run.confidences.tolist() == before.confidences.tolist()
    assert f"for {len(OTHERS)} of {len(OTHERS)}, which keep the order without it" in caplog.text


def test_keywords_find_what_the_texts_do_not_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(each: Document) -> Document:
        return replace(each, abstract=("spring", "autumn")[int(each.id[1:]) % 2])

    def knows(message: dict[str, Any]) -> str | None:
        number = int(message["document"].split()[1])
        assert message["document"] not in [each["document"] for each in message.get("examples", ())]
        return json.dumps({"keywords": list(document(number).labels)}) if "examples" in message else None

    training, others = (list(map(silent, documents)) for documents in (TRAINING, OTHERS))
    with serving(knows) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        llm = LlmOptions(model=stub.model, keywords=True)
        tagger = auto.fit(training, LABELS, replace(CONFIG, llm=llm))
        run = tagger.tag(others, k=1)
        assert [LABELS.ids[label] for label in run.labels] == [each.labels[0] for each in others]
        tagger.save(tmp_path / "tagger")
        assert same(Tagger.load(tmp_path / "tagger").tag(others, k=1), run)


@pytest.mark.slow
def test_a_killed_training_goes_on_without_repeating_a_call(tmp_path: Path) -> None:
    processes, answered = list[subprocess.Popen[bytes]](), list[str]()

    def kill_once(message: dict[str, Any]) -> str:
        if len(answered) == 20 and len(processes) == 1:
            os.kill(processes[0].pid, signal.SIGKILL)  # before it has the answer to this one
            processes[0].wait()
            return ""
        answered.append(message["document"])
        return oracle(message)

    write_jsonl(TRAINING, tmp_path / "docs.jsonl")
    (tmp_path / "labels.txt").write_text("".join(f"{name}\n" for name in NAMES), "utf-8")
    with serving(kill_once) as stub:
        command = [sys.executable, "-m", "tagwright", "train", "auto", "docs.jsonl", "--labels", "labels.txt"]
        command += ["--output", "M", "--no-check", "--set", "stages=['exact_match', 'tfidf']", "--language", "en"]
        command += ["--set", f"llm.model={stub.model}", "--set", "llm.parallel=1"]
        environment = {**os.environ, "TAGWRIGHT_LLM": stub.address, "TAGWRIGHT_CACHE": str(tmp_path / "cache")}
        for more in ([], ["--resume"]):
            processes.append(subprocess.Popen([*command, *more], cwd=tmp_path, env=environment))
            processes[-1].wait()
    assert [each.returncode for each in processes] == [-signal.SIGKILL, 0]
    assert len(answered) == len(set(answered)) == len(TRAINING)
    kept = json.loads((tmp_path / "M" / "manifest.json").read_text("utf-8"))
    assert kept["rerankers"]["llm_ranking"] == "LlmRanking"
