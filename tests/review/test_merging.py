"""Decisions of other review files and of exports, added to a review."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.errors import ConfigError, InputError, on_command_line
from tagwright.review.decisions import Decisions, Difference
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision
from tagwright.review.export import export_lines
from tagwright.review.file import ReviewFile
from tagwright.review.merging import Merged, merge
from tagwright.types import Document

BEES, TAXES, HIVES = Document("1", "Honey bees"), Document("2", "Tax law"), Document("1", "Hives")


def review(path: Path, documents: list[Document], *events: tuple[str, str, str, str | None]) -> Path:
    """A review with events of who did what to which document and label."""
    with closing(ReviewFile(path)) as file:
        ReviewedDocuments(file).add(documents)
        Decisions(file).add_all(
            Decision(reviewer=who, action=what, document=document, label=label)  # type: ignore[arg-type]
            for who, what, document, label in events
        )
    return path


def merged(target: Path, source: Path, reviewer: str = "") -> Merged:
    with closing(ReviewFile(target)) as file:
        return merge(file, source, reviewer)


def content(path: Path) -> tuple[Any, ...]:
    with closing(ReviewFile.open_existing(path)) as file:
        decisions = Decisions(file)
        return decisions.verdicts(), decisions.states(), decisions.blind(), len(ReviewedDocuments(file))


NORTH = (("Ann", "accept", "1", "bee"), ("Ann", "accept", "1", "wasp"), ("Ann", "done", "1", None))
SOUTH = (("Ben", "reject", "1", "bee"), ("Ben", "accept", "2", "tax"), ("Ben", "accept", "2", "law"),
         ("Ben", "undo", "2", None), ("Ben", "note", "2", None))  # fmt: skip


@pytest.fixture
def north(tmp_path: Path) -> Path:
    return review(tmp_path / "north.sqlite", [BEES], *NORTH)


@pytest.fixture
def south(tmp_path: Path) -> Path:
    return review(tmp_path / "south.sqlite", [TAXES, BEES], *SOUTH)


def test_two_offices_are_merged_and_their_reviewers_differ_openly(north: Path, south: Path) -> None:
    found = merged(north, south)
    assert (found.documents, found.decisions, found.known, found.kept) == (1, 3, 0, [])
    assert found.differing == {("1", "bee"): {"Ann": "accept", "Ben": "reject"}}
    assert list(found.lines(south)) == [
        f"{south}: 1 document and 3 decisions added, 0 known",
        "reviewers differ: 1: bee accepted by Ann, rejected by Ben",
    ]
    with closing(ReviewFile.open_existing(north)) as file:
        decisions = Decisions(file)
        assert decisions.labels() == {"1": ["wasp"], "2": ["tax"]}  # what Ben had undone is not here
        assert decisions.differences() == [Difference("1", "bee", ("Ann",), ("Ben",))]
    before = content(north)
    again = merged(north, south)
    assert (again.documents, again.decisions, again.known) == (0, 0, 3)
    assert again.differing == found.differing
    assert content(north) == before


def test_what_the_same_reviewer_decided_otherwise_is_kept_and_named(north: Path, tmp_path: Path) -> None:
    other = review(tmp_path / "other.sqlite", [BEES], ("ANN", "reject", "1", "bee"), ("Ann", "accept", "1", "wasp"))
    found = merged(north, other)
    assert (found.decisions, found.known) == (0, 1)
    assert found.kept == ["1: bee accepted by Ann, rejected in the other file"]
    with closing(ReviewFile.open_existing(north)) as file:
        assert Decisions(file).verdicts()["1", "bee"] == {"Ann": "accept"}
    given = ["reviews", str(north), "--import", str(other)]
    with on_command_line() as skipped:
        assert "kept here: 1: bee accepted by Ann" in CliRunner().invoke(app, given).stdout
    assert len(skipped) == 1  # so that the command ends with 3


def test_what_was_undone_here_does_not_come_again_from_a_copy(north: Path, tmp_path: Path) -> None:
    with closing(ReviewFile(north)) as file:
        file.copy_to(tmp_path / "copy.sqlite")
        Decisions(file).add_all([Decision(reviewer="Ann", action="undo", document="1") for _ in range(2)])
    assert merged(north, tmp_path / "copy.sqlite").decisions == 0
    assert content(north)[0] == {("1", "bee"): {"Ann": "accept"}}


def test_decisions_stay_with_their_texts(north: Path, tmp_path: Path) -> None:
    """Both offices have an id 1, of other texts; the second has also the text of the first, with an id of its own."""
    other = review(tmp_path / "other.sqlite", [HIVES, BEES], ("Ben", "accept", "1", "hive"))
    with closing(ReviewFile(other)) as file:
        (own,), *_ = ReviewedDocuments(file).add([BEES])
        Decisions(file).add_all([Decision(reviewer="Ben", action="accept", document=own, label="honey")])
    found = merged(north, other)
    assert (found.documents, found.decisions) == (1, 2)
    with closing(ReviewFile.open_existing(north)) as file:
        documents, labels = ReviewedDocuments(file), Decisions(file).labels()
        assert labels == {documents.find(BEES): ["bee", "wasp", "honey"], documents.find(HIVES): ["hive"]}


def blind(path: Path) -> Path:
    event: dict[str, Any] = {"document": "1", "reviewer": "Eve"}
    with closing(ReviewFile(path)) as file:
        ReviewedDocuments(file).add([BEES, TAXES])
        Decisions(file).add_all([
            Decision(action="accept", label="bee", **event), Decision(action="blind", **event),
            Decision(action="shown", label="hive", rank=1, confidence=0.5, **event),
            Decision(action="accept", label="hive", rank=1, confidence=0.5, **event),
            Decision(action="note", note="Is it?", **event), Decision(action="done", **event),
            Decision(action="skip", document="2", reviewer="Eve"),
        ])  # fmt: skip
    return path


@pytest.mark.parametrize("kind", ["file", "export"])
def test_what_is_exported_is_read_back_blind_documents_notes_and_all(tmp_path: Path, kind: str) -> None:
    source = blind(tmp_path / "source.sqlite")
    if kind == "export":
        with closing(ReviewFile.open_existing(source)) as file:
            (tmp_path / "decisions.jsonl").write_text("\n".join(export_lines(file, "decisions")) + "\n")
    target = review(tmp_path / "target.sqlite", [BEES, TAXES])
    origin = source if kind == "file" else tmp_path / "decisions.jsonl"
    for added in (6, 0):
        assert merged(target, origin).decisions == added
        assert content(target) == content(source)
        with closing(ReviewFile.open_existing(target)) as file, closing(ReviewFile.open_existing(source)) as other:
            assert list(export_lines(file, "decisions")) == list(export_lines(other, "decisions"))


def test_who_has_seen_suggestions_here_has_not_reviewed_blind(tmp_path: Path) -> None:
    target = review(tmp_path / "target.sqlite", [BEES], ("Eve", "accept", "1", "wasp"))
    found = merged(target, blind(tmp_path / "source.sqlite"))
    assert found.kept == ["1: reviewed by Eve here, blind in the other file"]
    assert content(target)[2] == {}


def test_labelled_documents_need_a_reviewer(north: Path, tmp_path: Path) -> None:
    rows = [{"id": "1", "title": "Honey bees", "labels": ["hive"]}, {"id": "3", "title": "Rain", "labels": []}]
    (tmp_path / "labelled.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ConfigError, match="who decided on these labels"):
        merged(north, tmp_path / "labelled.jsonl")
    for added in (3, 0):
        assert merged(north, tmp_path / "labelled.jsonl", "Eve").decisions == added
    verdicts, states, _, documents = content(north)
    assert verdicts["1", "hive"] == {"Eve": "accept"}
    assert (states["3"].done_by, documents) == ({"Eve"}, 2)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"document": "1", "reviewer": "Eve"}', r"bad.jsonl:2: is no decision of a reviewer"),
        ('{"document": "1", "reviewer": "Eve", "action": "maybe", "label": "bee"}', "is no decision"),
        ('{"document": "1", "reviewer": "Eve", "action": "accept"}', r"bad.jsonl:2: accept needs a label"),
        ('{"document": "1", "reviewer": "Eve", "action": "accept", "label": "b", "rank": "x"}', r"rank is .*expected"),
    ],
)
def test_a_damaged_export_adds_nothing(north: Path, tmp_path: Path, line: str, problem: str) -> None:
    good = '{"document": "1", "reviewer": "Eve", "action": "accept", "label": "hive"}'
    (tmp_path / "bad.jsonl").write_text(f"{good}\n{line}\n")
    before = content(north)
    with pytest.raises(InputError, match=problem):
        merged(north, tmp_path / "bad.jsonl")
    assert content(north) == before


def test_the_command_makes_a_file_and_names_what_cannot_be_read(north: Path, south: Path, tmp_path: Path) -> None:
    def run(*given: object) -> Any:
        return CliRunner().invoke(app, ["reviews", *map(str, given)])

    done = run(tmp_path / "all.sqlite", "--import", north, south)
    assert done.exit_code == 0
    assert [line.partition(": ")[2] for line in done.stdout.splitlines()] == [
        "1 document and 3 decisions added, 0 known", "1 document and 3 decisions added, 0 known",
        "1: bee accepted by Ann, rejected by Ben",
    ]  # fmt: skip
    assert "import what?" in str(run(north, "--import").exception)
    assert "no such file" in str(run(north, "--import", tmp_path / "none.sqlite").exception)
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE mine (x)")
    assert "a database of something else" in str(run(north, "--import", tmp_path / "other.sqlite").exception)
