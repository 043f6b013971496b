"""`tagwright enrich`: copies of catalogue records with suggested subjects."""

from __future__ import annotations

import io
from pathlib import Path

import pymarc
import pytest
from tests.app.conftest import RIGHT, Command, write
from tests.readers.documents.catalogue_records import marc_record, utf8

WORDS = ("--set", 'stages=["exact_match", "tfidf"]', "--set", "weights=[0.5, 1.0]", "--quiet")
RECORDS = utf8(
    marc_record([("001", "1"), ("245", ("00", "aHoney of the bees /"))]),
    marc_record([("001", "2"), ("245", ("00", "aMoney in the bank"))]),
    marc_record([("001", "3"), ("245", ("00", "aRain"))]),
)


@pytest.fixture(autouse=True)
def records(desk: Path) -> Path:
    (path := desk / "in.mrc").write_bytes(RECORDS)
    return path


def subjects(path: str) -> list[list[str]]:
    """The subjects of each record: name, $0, source, confidence, agency."""
    found = []
    for record in pymarc.MARCReader(io.BytesIO(Path(path).read_bytes())):
        assert record
        linked = {each["8"]: each for each in record.get_fields("883")}
        assert all(len(linked[each["8"]]["d"]) == 8 for each in record.get_fields("650"))
        found.append(
            [
                "|".join([each["a"], each["0"], each["2"], linked[each["8"]].get("q", "")])
                for each in record.get_fields("650")
            ]
        )
    return found


def test_suggested_subjects_are_added_to_a_copy(run: Command) -> None:
    outcome = run(
        "enrich", "in.mrc", "--labels", "labels.jsonl", "--output", "out.mrc", "--source", "zoo", "-k", "1", *WORDS
    )
    assert (outcome.code, outcome.out, outcome.err) == (0, "3 subjects added to 3 records: out.mrc\n", "")
    assert subjects("out.mrc") == [["Bees|(zoo)bee|zoo|"], ["Banks|(zoo)bank|zoo|"], ["Rain|(zoo)rain|zoo|"]]
    assert Path("in.mrc").read_bytes() == RECORDS


def test_the_suggestions_of_a_run(run: Command) -> None:
    outcome = run(
        "enrich", "in.mrc", "--labels", "labels.jsonl", "--run", "right.jsonl", "--output", "out.mrc",
        "--source", "zoo", "--agency", "DE-101", "--min-score", "1.5",
    )  # fmt: skip
    assert (outcome.code, outcome.out) == (0, "3 subjects added to 3 records: out.mrc\n")
    assert subjects("out.mrc") == [
        ["Bees|(zoo)bee|zoo|DE-101"], ["Banks|(zoo)bank|zoo|DE-101"], ["Rain|(zoo)rain|zoo|DE-101"]
    ]  # fmt: skip


def test_conditions_hold_for_the_suggestions_of_a_run_too(run: Command) -> None:
    call = ("enrich", "in.mrc", "--labels", "labels.jsonl", "--run", "right.jsonl", "--output", "out.mrc")
    outcome = run(*call, "--source", "zoo", "--min-score", "1.5", "--without", "bee")
    assert outcome.out == "2 subjects added to 2 records: out.mrc\n"


def test_confidences_come_with_the_subjects(run: Command) -> None:
    sure = [{"id": each["id"], "suggestions": [{"label": "bee", "score": 1.0, "confidence": 0.25}]} for each in RIGHT]
    write("sure.jsonl", sure)
    call = (
        "enrich",
        "in.mrc",
        "--labels",
        "labels.jsonl",
        "--run",
        "sure.jsonl",
        "--output",
        "out.mrc",
        "--source",
        "zoo",
    )
    assert run(*call).code == 0
    assert b"\x1fc0.25\x1f" in Path("out.mrc").read_bytes()
    assert run(*call, "--min-confidence", "0.5").out == "0 subjects added to 0 records: out.mrc\n"
    assert Path("out.mrc").read_bytes() == RECORDS


def test_what_cannot_be(run: Command) -> None:
    call = ("enrich", "in.mrc", "--labels", "labels.jsonl", "--run", "right.jsonl", "--source", "zoo", "--output")
    outcome = run(*call, "in.mrc")
    assert (outcome.code, outcome.err) == (
        2,
        "tagwright: --output in.mrc: is read or written here already (in.mrc); choose another name\n",
    )
    assert Path("in.mrc").read_bytes() == RECORDS
    said = "expected MARC's code of the vocabulary, of letters and digits, such as gnd, or local for one that has none"
    assert run(*call, "out.mrc", "--source", "my zoo").err == f"tagwright: --source is 'my zoo', {said}\n"
    assert run(*call[:-3], "--output", "out.mrc").err == f"tagwright: --source is '', {said}\n"
    outcome = run(*call, "out.mrc", "--agency", "DE 101")
    assert outcome.err == (
        "tagwright: --agency is 'DE 101', expected MARC's code of the library, of letters and digits, such as DE-101\n"
    )


def test_subjects_of_a_saved_tagger_have_names_in_the_language_asked_for(run: Command, desk: Path) -> None:
    labels = [{"id": "bee", "names": {"en": ["Bees"], "sv": ["Bin"]}}, {"id": "rain", "names": {"en": ["Rain"]}}]
    write("two.jsonl", labels)
    assert run("train", "zero-shot", "--labels", "two.jsonl", "--output", "M", "--language", "en", *WORDS).code == 0
    given = ("--model", "M", "--language", "sv", "--output", "out.mrc", "--source", "zoo", "-k", "1", "--quiet")
    assert run("enrich", "in.mrc", *given).code == 0
    assert subjects("out.mrc") == [["Bin|(zoo)bee|zoo|"], [], ["Rain|(zoo)rain|zoo|"]]


OVERLAPPING = RECORDS + utf8(marc_record([("001", "1"), ("245", ("00", "aRain again"))]))


@pytest.mark.parametrize(
    "command",
    [
        ("read",),
        ("suggest", "--labels", "labels.jsonl", "--format", "jsonl", *WORDS),
        ("batch", "--model", "M", "--output", "out", "--processes", "1"),
        ("enrich", "--labels", "labels.jsonl", "--source", "zoo", "--output", "out.mrc", "-k", "1", *WORDS),
    ],
)
def test_a_repeated_number_is_told_apart_in_every_command(
    run: Command, command: tuple[str, ...], records: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records.write_bytes(OVERLAPPING)
    if command[0] == "batch":
        assert run("train", "zero-shot", "--labels", "labels.jsonl", "--output", "M", *WORDS).code == 0
    outcome = run(command[0], "in.mrc", *command[1:])
    assert outcome.code == 0
    assert 'in.mrc:4: the id "1" is also that of an earlier document; here it is "1#4"' in caplog.messages
    if command[0] == "enrich":
        assert outcome.out == "4 subjects added to 4 records: out.mrc\n"
        assert subjects("out.mrc")[3] == ["Rain|(zoo)rain|zoo|"]
    else:
        text = Path("out/shard-000000.jsonl").read_text() if command[0] == "batch" else outcome.out
        assert text.count('"id": "1#4"') == text.count('"id": "1"') == 1
