"""The path of a cataloguer from 200 MARC records to MARC: review, train, compare, write; in a browser and by commands.

Each record is about a noun, and its right subject is the history of that: "Belane (history)", not "Belane", which the
untrained tagger suggests first. What a path takes is printed, not tested.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymarc
import pytest
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.server.browsing import DESK, chromium, visiting
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.core.versions import model_names
from tagwright.review.blind import FEWEST, drawn_blind
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile

if TYPE_CHECKING:
    from playwright.sync_api import Page

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
    begun = time.perf_counter()
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
    print(f"by commands: {time.perf_counter() - begun:.1f} s")  # noqa: T201


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


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server, started as a cataloguer would."""
    command = f"serve --labels labels.jsonl --language en --set {STAGES} --documents catalogue.mrc --order given "
    command += "--reviews reviews.sqlite --port 0 --quiet"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tagwright", *shlex.split(command)], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = re.search(r"http://[^/]+", process.stdout.readline())
        assert address
        yield address[0]
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.slow
def test_in_a_browser(desk: Path) -> None:
    begun = time.perf_counter()
    with chromium() as browser:
        with serving() as address, visiting(browser, address, "Ann", width=DESK) as page:
            keys = [review_one(page, row) for row in range(REVIEWED)]
            page.goto(f"{address}/review/overview")
            page.click("text=Train the tagger")
            while not page.locator("text=A clear gain.").count():
                page.wait_for_timeout(200)
                page.goto(f"{address}/review/overview")
            first, second = model_names(desk / "reviews-versions")
            assert f"In use: zero_shot, version {second}." in page.inner_text("#outcome")
            assert page.locator(f"text=Go back to version {first}").count() == 1
            page.set_input_files("#records", "catalogue.mrc")
            page.fill("#agency", "DE-101")
            with page.expect_download() as download:
                page.click("text=Write the subjects")
            download.value.save_as(desk / "out.mrc")
            with page.expect_download() as download:
                page.click("text=CSV, one row per document")
            download.value.save_as(desk / "out.csv")
        with serving() as address, visiting(browser, address, "Ben", width=DESK) as page:  # after a restart
            page.goto(f"{address}/review/overview")
            assert "A clear gain." in page.inner_text("#outcome")
            assert f"In use: zero_shot, version {second}." in page.inner_text("#outcome")
    check_reviewed(desk / "out.mrc")
    assert len((desk / "out.csv").read_text(encoding="utf-8").splitlines()) == 1 + REVIEWED
    blind = sum(drawn_blind(f"m{row}") for row in range(REVIEWED))
    assert FEWEST <= blind < REVIEWED
    took = f"{time.perf_counter() - begun:.1f} s, {sum(keys) / REVIEWED:.1f} keys a record, {blind} blind"
    print(f"in a browser: {took}")  # noqa: T201


def review_one(page: Page, row: int) -> int:
    """Review a document by keyboard, so that it has its right subject alone; the number of keys pressed."""
    page.wait_for_selector(f"#progress:has-text('{row} of {RECORDS} done')")
    name, count = f"{noun_of(row)} (history)", 0

    def press(*keys: str) -> None:
        nonlocal count
        for key in keys:
            page.keyboard.press(key)
            count += 1

    if drawn_blind(f"m{row}"):
        page.wait_for_selector("text=Give your own labels first")
        press("/", *name.split()[0])
        page.wait_for_selector(f".found button:has-text('{name.capitalize()}')")
        press("ArrowDown", "ArrowDown", "Enter")
        page.wait_for_selector("text=added by you")
        press("Escape", "Enter")
        page.wait_for_selector(".row.accept .rank:has-text('2')")
        press("1", "r")
    else:
        page.wait_for_selector("#row-2")
        press("1", "r", "2", "a")
        page.wait_for_selector("#row-2.accept")
    page.wait_for_selector("#row-1.reject")
    press("Enter")
    return count
