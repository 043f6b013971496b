"""The path of a cataloguer from 200 MARC records to MARC by commands: review, train, compare, write.

Each record is about a noun, and its right subject is the history of that: "Belane (history)", not "Belane", which the
untrained tagger suggests first.
"""

from __future__ import annotations

import json
import re
import shlex
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymarc
import pytest
from tests.readers.documents.catalogue_records import marc_record, utf8
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.review.blind import drawn_blind
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile

NOUNS = [f"{first}{second}ane" for first in ("b", "d", "f", "g", "k") for second in ("el", "or", "um", "ip")]
RECORDS, REVIEWED = 200, 72
STAGES = shlex.quote("stages=['exact_match','tfidf']")


def noun_of(record: int) -> str:
    return NOUNS[record % len(NOUNS)]


def right(record: int) -> str:
    return f"http://d-nb.info/gnd/5{record % len(NOUNS):06}-1"


def wrong(record: int) -> str:
    return f"http://d-nb.info/gnd/4{record % len(NOUNS):06}-1"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the records and the vocabulary."""
    monkeypatch.chdir(tmp_path)
    records = [
        marc_record([("001", f"m{row}"), ("245", ("00", f"aThe {noun_of(row)}, part {row}")),
                     ("520", ("  ", f"aOn {noun_of(row)} in year {1800 + row}."))])
        for row in range(RECORDS)
    ]  # fmt: skip
    (tmp_path / "catalogue.mrc").write_bytes(utf8(*records))
    labels = [{"id": wrong(row), "names": [noun.capitalize()]} for row, noun in enumerate(NOUNS)]
    labels += [{"id": right(row), "names": [f"{noun.capitalize()} (history)"]} for row, noun in enumerate(NOUNS)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(each) + "\n" for each in labels))
    return tmp_path


def tagwright(command: str) -> str:
    """Run a command; what it prints."""
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def subjects(path: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Number of a record -> of each subject its $0, how 883 says that it was assigned, and the library."""
    found = {}
    for record in pymarc.MARCReader(path.read_bytes()):
        assert record is not None
        origins = {each["8"]: each for each in record.get_fields("883")}
        found[record["001"].data] = [
            (each["0"], origins[each["8"]].indicator1, origins[each["8"]]["q"]) for each in record.get_fields("650")
        ]
    return found


def check_reviewed(path: Path) -> None:
    """Every reviewed record has its right subject, by a person alone where it was reviewed blind; others have none."""
    written = subjects(path)
    reviewed = {number: each for number, each in written.items() if each}
    assert len(written) == RECORDS
    assert len(reviewed) == REVIEWED
    for number, each in reviewed.items():
        row = int(number[1:])
        identifier = right(row).removeprefix("http://d-nb.info/gnd/")
        assert each == [(f"(DE-588){identifier}", "2" if drawn_blind(number) else "1", "DE-101")]


def test_by_commands(desk: Path) -> None:
    tagwright(f"train zero_shot --labels labels.jsonl --language en --set {STAGES} --output first --quiet")
    reviewed(desk / "reviews.sqlite")
    steps = [
        "reviews reviews.sqlite --export --format jsonl", "reviews reviews.sqlite --export --format blind",
    ]  # fmt: skip
    for name, step in zip(("labelled.jsonl", "blind.jsonl"), steps, strict=True):
        (desk / name).write_text(tagwright(step))
    tagwright("train auto labelled.jsonl --model first --reviews reviews.sqlite --output second --quiet")
    said = tagwright("compare blind.jsonl --model first --model second")
    assert re.search(r"B is better in .*nDCG@5 \(\+\d", " ".join(said.split()))
    write = "enrich catalogue.mrc --reviews reviews.sqlite --agency DE-101 --quiet"
    assert tagwright(f"{write} --labels labels.jsonl --output out.mrc").startswith(f"{REVIEWED} subjects added to")
    check_reviewed(desk / "out.mrc")
    tagwright(f"{write} --open --model second -k 1 --output all.mrc")
    assert [each[0][:2] for number, each in subjects(desk / "all.mrc").items() if number == "m199"] == [
        ("(DE-588)5000019-1", "0")
    ]
    table = tagwright("reviews reviews.sqlite --export --format csv --labels labels.jsonl").splitlines()
    assert len(table) == 1 + REVIEWED


def reviewed(path: Path) -> None:
    """The decisions of a reviewer on the first records, as the page stores them."""
    from tagwright.data.corpus import Corpus
    from tagwright.review.documents import ReviewedDocuments

    with closing(ReviewFile(path)) as file:
        documents = list(Corpus.read("catalogue.mrc"))
        ReviewedDocuments(file).add(documents)
        for row, document in enumerate(documents[:REVIEWED]):
            event: dict[str, Any] = {"document": document.id, "reviewer": "Ann"}
            labels = enumerate((wrong(row), right(row)), 1)
            shown = [Decision(action="shown", label=label, rank=rank, **event) for rank, label in labels]
            accepted = Decision(action="accept", label=right(row), **event)
            given = [accepted, Decision(action="blind", **event), *shown]
            if not drawn_blind(document.id):
                given = [*shown, replace(accepted, rank=2)]
            rejected = Decision(action="reject", label=wrong(row), rank=1, **event)
            Decisions(file).add_all([*given, rejected, Decision(action="done", **event)])
