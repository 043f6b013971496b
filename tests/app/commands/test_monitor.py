"""The command `monitor`, and --monitor of the commands that tag."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.app.conftest import DOCUMENTS, Command, write
from tests.monitoring.test_monitor import TURN, records

from tagwright import zero_shot
from tagwright.monitoring import Record, append, read
from tagwright.monitoring.record import FEWEST
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile

LOG = Path("log.jsonl")


def written() -> list[Record]:
    return [each for each in read(LOG) if isinstance(each, Record)]


@pytest.fixture
def words_only(desk: Path) -> str:
    zero_shot(desk / "labels.jsonl", stages=["exact_match", "tfidf"], language="en").save(desk / "words")
    return "words"


def test_suggest_and_batch_write_the_same_records(words_only: str, run: Command) -> None:
    run("suggest", "docs.jsonl", "--model", words_only, "--monitor", str(LOG))
    batch = ("batch", "docs.jsonl", "--model", words_only, "--output", "out", "--processes", "1", "--monitor", str(LOG))
    assert run(*batch).code == 0
    suggested, tagged = (each for each in (written()[:3], written()[3:]))
    assert [replace(each, time="") for each in tagged] == [replace(each, time="") for each in suggested]
    assert [each.labels for each in tagged] == [("bee",), ("bank",), ("rain",)]
    assert tagged[0].version.startswith("words 20")
    run(*batch)  # what is tagged already is not recorded again
    assert len(written()) == 6


def test_batch_writes_records_of_run_files_alone(words_only: str, run: Command) -> None:
    found = run("batch", "docs.jsonl", "--model", words_only, "--output", "out", "--format", "trec", "--monitor", "l")
    assert found.code == 2
    assert found.err == "tagwright: --monitor reads the files of --format jsonl, got --format trec\n"


def test_changes_are_named_with_the_signal(run: Command) -> None:
    append(LOG, records(TURN))
    flooded = [replace(each, labels=("flood",), version="bees 0001") for each in records(100, seed=1)]
    append(LOG, flooded)
    lines = run("monitor", str(LOG)).out.splitlines()
    assert lines[0] == "bees 0001: 900 documents"
    assert lines[1] == "the last ones compared with the first 500 documents"
    rows = {line.split()[0]: line for line in lines if line.strip()}
    assert "ALARM flood 0% -> 50%" in rows["label"]
    assert "ALARM" not in rows["language"]
    (version,) = json.loads(run("monitor", str(LOG), "--json").out)["versions"]
    assert (version["documents"], version["profile"]) == (900, False)
    assert {name: signal["alarm"] for name, signal in version["signals"].items()} == {
        "language": False, "label": True, "unsure": False, "confidence": False,
    }  # fmt: skip


def test_reviews_give_the_acceptance_of_the_version(run: Command) -> None:
    append(LOG, records(20))
    file = ReviewFile("reviews.sqlite")
    Decisions(file).add_all(
        decision
        for number in range(160)
        for decision in (
            Decision(document=f"d{number}", reviewer="Ann", action="reject" if number > 100 else "accept", label="a",
                     rank=1, model="bees 0001"),
            Decision(document=f"d{number}", reviewer="Ann", action="done", model="bees 0001"),
        )
    )  # fmt: skip
    file.close()
    (version,) = json.loads(run("monitor", str(LOG), "--reviews", "reviews.sqlite", "--json").out)["versions"]
    accepted = version["signals"]["accepted"]
    assert (accepted["at"], accepted["value"], accepted["before"], accepted["alarm"]) == (160, 0.0, 1.0, True)


def test_a_short_log_shows_nothing_yet_and_a_missing_one_is_an_error(run: Command) -> None:
    append(LOG, records(20))
    assert run("monitor", str(LOG)).out.splitlines()[-1] == "nothing to show before 700 documents"
    missing = run("monitor", "missing.jsonl")
    assert (missing.code, missing.err) == (2, "tagwright: missing.jsonl: cannot be read (No such file or directory)\n")


def test_the_profile_of_a_training_is_in_the_log(run: Command) -> None:
    many = [(number, each) for number in range(100) for each in DOCUMENTS]
    write("many.jsonl", [{**each, "id": f"{each['id']}-{i}", "abstract": f"{each['title']} {i}"} for i, each in many])
    trained = run("train", "svm", "many.jsonl", "--labels", "labels.jsonl", "--output", "svm", "--quiet")
    assert trained.code == 0, trained.err
    run("suggest", "docs.jsonl", "--model", "svm", "--monitor", str(LOG))
    first = next(read(LOG))
    assert not isinstance(first, Record)
    assert first.languages is not None
    assert sum(first.languages.values()) == 300 >= FEWEST
    assert run("monitor", str(LOG)).out.splitlines()[1:] == [
        "languages with the training, all else compared with the first 500 documents",
        "nothing to show before 200 documents",
    ]
