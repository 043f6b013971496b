"""The protocol of peers, with a made-up peer: what it reads, how it is scored, limits, going on, interpolation."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Mapping
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import corpora, peer_environments, peer_tables, peers
from benchmarks.peer_jobs import Peer, Task, ask, measure, prepare
from benchmarks.peer_runners import protocol

from tagwright.data.records import to_record
from tagwright.data.vocabulary import Vocabulary
from tagwright.types import Document, Label, Section

FREQUENT = Peer("made-up", "tests.benchmarks.frequent_peer")

LABELS = Vocabulary(Label(name, (name.title(),)) for name in ("bees", "wasps", "tax", "owls"))

TRAIN = [
    Document("1", "Honey", labels=("bees",)),
    Document("2", "Hives", labels=("bees", "wasps")),
    Document("3", "Income", labels=("bees", "wasps", "tax")),
    Document("4", "No labels"),
]


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The made-up peer runs on this Python, and work goes to a folder of its own."""
    monkeypatch.setenv("TAGWRIGHT_PEERS", str(tmp_path / "cache"))
    monkeypatch.setattr(peer_environments, "python", lambda _: Path(sys.executable))
    monkeypatch.setattr(peer_environments, "is_installed", lambda _: True)


def written(task: Task, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    task.write(folder)
    return folder


def test_runners_read_the_same_text_as_taggers() -> None:
    document = Document(
        "d", "Bees", "They fly.", (Section("Wings", 1, ("Four.", "Thin.")), Section("", 2, ("Small.",)))
    )
    label = Label("l", ("Bees", "Apoidea"), "Flying insects.")
    assert protocol.text(to_record(document)) == document.text
    assert protocol.label_text({"names": label.names, "description": label.description}) == label.text


def test_a_peer_learns_from_labelled_documents_and_is_scored(tmp_path: Path) -> None:
    test = [Document("5", "Stings", labels=("wasps",)), Document("6", "Night", labels=("bees", "owls"))]
    task = Task("tib", LABELS, TRAIN, test)
    row = measure(FREQUENT, task, written(task, tmp_path), minutes=1)
    # bees, wasps, tax for both: the second is right for one document, the first for the other, which has a label more
    ndcg = (1 / log2(3) + 1 / (1 + 1 / log2(3))) / 2
    assert row["P@1"] == 0.5
    assert row["P@5"] == 0.2
    assert row["R@100"] == 0.75
    assert row["nDCG@5"] == pytest.approx(ndcg, abs=1e-4)
    assert row["model MB"] > 0 or (tmp_path / "model" / "counts.json").is_file()
    assert {"training seconds", "tagging processor seconds", "peak MB", "load"} <= row.keys()


def test_the_first_suggestions_are_those_of_the_saved_model(tmp_path: Path) -> None:
    task = Task("tib", LABELS, TRAIN, [Document("5", "Stings", labels=("wasps",))])
    folder = written(task, tmp_path)
    first = ask(FREQUENT, folder, "first", "tib", 1)
    measure(FREQUENT, task, folder, minutes=1)
    assert first["answer"] == ask(FREQUENT, folder, "load", "tib", 1)["answer"] == ["bees", "wasps", "tax"]
    assert first["seconds"] > 0


@pytest.mark.parametrize(
    ("variant", "minutes", "outcome"),
    [("asleep", 0.005, "did not finish in 0.005 minutes"), ("broken", 60, "failed: no such analyzer")],
)
def test_what_does_not_finish_says_why(tmp_path: Path, variant: str, minutes: float, outcome: str) -> None:
    task = Task("tib", LABELS, TRAIN, [Document("5", "Stings", labels=("wasps",))])
    peer = Peer("made-up", "tests.benchmarks.frequent_peer", variant)
    assert measure(peer, task, written(task, tmp_path), minutes) == {"outcome": outcome}


def test_suggestions_are_written_best_first_and_once(tmp_path: Path) -> None:
    protocol.write(tmp_path / "run.jsonl", ["d"], [[("bees", 0.2), ("owls", 0.7), ("bees", 0.1)]])
    (line,) = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["suggestions"] == [{"label": "owls", "score": 0.7}, {"label": "bees", "score": 0.2}]


def corpus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty labelled train documents, as many without labels, and ten dev documents."""
    (folder / "tib").mkdir()
    train = [Document(f"t{i}", f"Text {i}", labels=("bees", "unknown") if i % 2 else ()) for i in range(60)]
    dev = [Document(f"d{i}", f"Text {i}", labels=("bees",)) for i in range(10)]
    labels = ({"id": each.id, "names": each.names} for each in LABELS)
    pages: Mapping[str, Iterable[Mapping[str, Any]]] = {
        "train": map(to_record, train), "dev": map(to_record, dev), "labels": labels
    }  # fmt: skip
    for name, records in pages.items():
        with gzip.open(folder / "tib" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(each) + "\n" for each in records)
    monkeypatch.setattr(corpora, "FOLDER", folder)


def test_documents_are_drawn_as_those_of_the_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus(tmp_path, monkeypatch)
    task = prepare("tib", 10, draw=1, documents=10, known=20)
    shuffled = [f"t{i}" for i in np.random.default_rng(0).permutation(60)]
    pool = [name for name in shuffled if int(name[1:]) % 2]
    drawn = [pool[i] for i in np.random.default_rng(1).permutation(30)[:10]]
    assert [each.id for each in task.train if each.labels] == drawn
    assert [each.id for each in task.train if not each.labels] == [i for i in shuffled[:20] if i not in drawn]
    assert {label for each in task.train for label in each.labels} == {"bees"}
    assert task.labelled == 10


def lines(result: dict[str, Any], *arguments: str) -> list[str]:
    options = peers._options([*arguments, "--documents", "10", "--minutes", "1"])
    return list(peers.quality(result, ["made-up"], "tib", options.sizes[0], options))


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus(tmp_path, monkeypatch)
    monkeypatch.setattr(peers, "PEERS", {"made-up": FREQUENT})
    result: dict[str, Any] = {"quality": {}, "speed": {}}
    assert len(lines(result, "--sizes", "10", "--draws", "2")) == 2
    assert result["quality"]["tib"]["made-up"]["10"]["1"]["P@1"] == 1
    assert lines(result, "--sizes", "10", "--draws", "2") == []
    assert len(lines(result, "--sizes", "all")) == 1
    assert lines(result, "--sizes", "0") == [], "it needs labels"


def test_what_was_too_much_is_not_tried_with_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus(tmp_path, monkeypatch)
    monkeypatch.setattr(peers, "PEERS", {"made-up": FREQUENT})
    before = {"5": {"0": {"labelled": 5, "outcome": "did not finish in 1 minutes"}}}
    result: dict[str, Any] = {"quality": {"tib": {"made-up": before}}, "speed": {}}
    assert lines(result, "--sizes", "10") == ["tib       10 0 made-up            did not finish in 1 minutes with 5"]


@pytest.mark.parametrize(
    ("goal", "words"),
    [(0.1, "under 50"), (0.3, "200"), (0.5, "more than 800"), (0.2, "under 50"), (0.4, "800")],
)
def test_labels_needed_are_interpolated(goal: float, words: str) -> None:
    # from 50 to 800 is 16 times as many, and half of the way in the logarithm is 4 times as many
    rows = {str(n): {"0": {"nDCG@5": value, "labelled": n}} for n, value in ((50, 0.2), (800, 0.4))}
    assert peer_tables.said(rows, goal) == words


def test_a_peer_without_labels_reaches_a_goal_or_not() -> None:
    rows = {"0": {"0": {"nDCG@5": 0.3, "labelled": 0}}}
    assert [peer_tables.said(rows, goal) for goal in (0.2, 0.4)] == ["yes", "no"]
    assert peer_tables.said({"50": {"0": {"labelled": 50, "outcome": "failed"}}}, 0.2) == "not measured"


def test_speed_is_the_median_of_rounds() -> None:
    assert peers.median([{"a": 1.0}, {"a": 5.0}, {"a": 2.0}]) == {"a": 2.0}
    assert peers.median([{"a": 1.0}, {"outcome": "did not finish"}]) == {"outcome": "did not finish"}
