"""A file of labels is prepared once: later runs take it from the cache, and answer and warn as the first one did."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.app.conftest import Command, write
from tests.tiny import tiny_encoder

from tagwright.core.cache import NAME
from tagwright.stages.names import exact_match
from tagwright.tagger import prepared

WORDS = ("bee", "wasp", "honey", "flower", "wing", "market", "stock", "money", "bank", "river", "water")
NAMES = [" ".join((a, b, c)) for a in WORDS for b in WORDS for c in WORDS]
ON = ("suggest", "docs.jsonl", "--labels", "many.jsonl", "-k", "3", "--explain")
STAGES = ("--set", "stages=['exact_match','tfidf']")


@pytest.fixture(autouse=True)
def many(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of labels, in an order in which no name follows from its place, and an empty cache."""
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(desk / "cache"))
    write("many.jsonl", ({"id": str(n), "names": [name]} for n, name in enumerate(NAMES)))
    return desk / "many.jsonl"


def kept(desk: Path) -> int:
    """How many entries of this kind the cache has."""
    with closing(sqlite3.connect(desk / "cache" / NAME)) as database:
        return int(database.execute("SELECT COUNT(*) FROM kept WHERE kind = ?", [prepared.KIND]).fetchone()[0])


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no patterns be made from now on."""

    def made_again(*_: object, **__: object) -> None:
        raise AssertionError("the labels are prepared again")

    monkeypatch.setattr(exact_match.ExactMatch, "__init__", made_again)


def test_the_second_run_prepares_nothing_and_answers_alike(
    run: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(*ON, *STAGES)
    assert "honey" in first.out
    assert kept(desk) == 1
    refuse(monkeypatch)
    assert run(*ON, *STAGES) == first
    with pytest.raises(AssertionError, match="prepared again"):  # other options are something else
        run("suggest", "docs.jsonl", "--labels", "many.jsonl", "--set", "stages=['exact_match']")


def test_labels_that_a_transformer_has_not_read_yet_are_kept_as_such(
    run: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = tiny_encoder(desk / "tiny")
    monkeypatch.setattr(prepared, "PACKAGED", str(encoder))
    monkeypatch.setattr("tagwright.tagger.zero_shot.PROPOSED", 20)
    first = run(*ON, "--set", f"encoder={encoder}")
    assert first.code == 0
    assert kept(desk) == 1
    refuse(monkeypatch)
    assert run(*ON, "--set", f"encoder={encoder}") == first


def test_a_changed_file_is_read_again(run: Command, many: Path) -> None:
    run(*ON, *STAGES)
    text = many.read_text().replace('"honey flower bee"', '"bee hotel"')
    many.write_text(text)
    write("docs.jsonl", [{"id": "1", "title": "A bee hotel"}])
    assert "bee hotel" in run(*ON, *STAGES).out


def test_each_language_of_a_file_is_prepared_when_its_first_text_comes(
    run: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": str(n), "names": {"en": [name], "de": [f"das {name}"]}} for n, name in enumerate(NAMES)]
    write("many.jsonl", rows)
    english = "We ask what the honey of a bee costs, and which market would pay for it in these years."
    german = "Wir fragen, was der honey bee river kostet und welche Märkte dafür in diesen Jahren zahlen würden."
    write("docs.jsonl", [{"id": "1", "title": english}])
    first = run(*ON, *STAGES)
    assert kept(desk) == 1
    write("docs.jsonl", [{"id": "2", "title": german}])
    second = run(*ON, *STAGES)
    refuse(monkeypatch)
    assert run(*ON, *STAGES).out == second.out
    write("docs.jsonl", [{"id": "1", "title": english}])
    assert run(*ON, *STAGES).out == first.out
    assert kept(desk) == 1


def test_few_labels_and_an_encoder_of_ones_own_are_not_kept(run: Command, desk: Path) -> None:
    assert run("suggest", "docs.jsonl", "--labels", "labels.jsonl", *STAGES).code == 0
    tiny = tiny_encoder(desk / "tiny")
    assert run("suggest", "docs.jsonl", "--labels", "many.jsonl", "--set", f"encoder={tiny}").code == 0
    assert kept(desk) == 0
    assert json.loads((desk / "many.jsonl").read_text().splitlines()[0])["id"] == "0"
