"""No command replaces what it reads, a file of reviews or part of a saved folder; outputs are tried before all work."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from typer.testing import CliRunner

import tagwright as tw
from tagwright.app.cli import app
from tagwright.core.atomic import OccupiedError
from tagwright.core.outputs import Written, check_kind, check_output, write_output
from tagwright.errors import TagwrightError
from tagwright.review.file import ReviewFile

ARGUMENTS: dict[str, list[str]] = {
    "evaluate": ["docs.jsonl", "--labels", "labels.txt"],
    "compare": ["docs.jsonl", "--labels", "labels.txt", "--run", "labels.txt"],
    "enrich": ["docs.jsonl", "--labels", "labels.txt"],
    "labels": ["--labels", "labels.txt", "--describe", "m"],
    "reviews": ["other.sqlite"],
    "serve": ["--model", "model", "--labels", "labels.txt", "--reviews", "reviews.sqlite"],
}
"The commands that write files, with what they read; each needs its output besides."

FOLDERS = {("train", "output"), ("evaluate", "output"), ("batch", "output")}
"Paths of folders that are written, which are checked where they are claimed."

READ = {
    "labels", "model", "run", "files", "qrels", "config", "fuse_with", "keywords", "reviews", "tokens",
    "records", "logs", "label_filter", "candidates",
}  # fmt: skip
"Paths that are read; serve also keeps its reviews in a file, which is opened, never replaced."


def commands() -> dict[str, Callable[..., None]]:
    return {name: command.callback for name, command in typer.main.get_command(app).commands.items()}  # type: ignore[attr-defined]


def marked(annotation: Any) -> Written | None:
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Written)), None)


def is_path(annotation: Any) -> bool:
    return annotation is Path or any(map(is_path, get_args(annotation)))


PATHS = {
    (name, each.name): marked(each.annotation)
    for name, command in commands().items()
    for each in signature(command).parameters.values()
    if is_path(each.annotation)
}
"Command and option -> how it is written, of all options that are paths."

OUTPUTS = [(*which, written) for which, written in PATHS.items() if written]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "1", "title": "Bees", "labels": ["Bees"]}) + "\n")
    (tmp_path / "labels.txt").write_text("Bees\nTaxes\n")
    tw.zero_shot(["Bees", "Taxes"], stages=["exact_match"], language="en").save("model")
    ReviewFile(tmp_path / "other.sqlite").close()
    return tmp_path


def run(command: str, option: str, path: str) -> tuple[int, str]:
    given = ["--" + option.replace("_", "-"), path]
    result = CliRunner().invoke(app, [command, *ARGUMENTS[command], *given])
    assert isinstance(result.exception, TagwrightError), (result.exception, result.output)
    return result.exit_code, str(result.exception)


def test_every_path_of_every_command_is_known_as_read_or_written() -> None:
    unknown = {which for which, written in PATHS.items() if not written and which not in FOLDERS}
    assert {option for _, option in unknown} == READ
    assert {command for command, *_ in OUTPUTS} == {*ARGUMENTS}


@pytest.mark.parametrize("target", ["docs.jsonl", "labels.txt", "other.sqlite", "model/manifest.json"])
@pytest.mark.parametrize(("command", "option", "written"), OUTPUTS)
def test_an_output_that_is_read_or_part_of_something_saved_is_refused(
    here: Path, command: str, option: str, written: Written, target: str
) -> None:
    if target in ("docs.jsonl", "labels.txt") and target not in ARGUMENTS[command]:
        pytest.skip("not read by this command")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    _, said = run(command, option, target)
    assert said.startswith(f"--{option.replace('_', '-')} {target}: is ")
    assert said.endswith("choose another name")
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("command", "option", "written"), OUTPUTS)
def test_an_output_replaces_no_file_of_another_kind(here: Path, command: str, option: str, written: Written) -> None:
    (here / "notes.txt").write_text("Mine\n")
    (here / "empty").touch()
    _, said = run(command, option, "notes.txt")
    named = f"--{option.replace('_', '-')} notes.txt"
    assert said == f"{named}: is a file of another kind, not replaced; choose another name"
    assert written.own or written.like or command == "reviews"  # what says which earlier outputs are replaced
    if not written.log:  # a server would start
        given = [command, *ARGUMENTS[command], "--" + option.replace("_", "-"), "empty"]
        assert "another kind" not in str(CliRunner().invoke(app, given).exception)
    assert (here / "notes.txt").read_text() == "Mine\n"


def test_outputs_are_written_again(here: Path) -> None:
    """A report and the scores of labels in place of those of the last time, in Python as well."""
    for _ in range(2):
        given = ["evaluate", *ARGUMENTS["evaluate"], "--report", "r.html", "--per-label", "scores.tsv"]
        assert CliRunner().invoke(app, given).exit_code == 0
    (here / "own.html").write_text("<!DOCTYPE html>\n<title>Mine</title>")
    with pytest.raises(OccupiedError, match="of another kind"):
        tw.report(tw.load("model"), ["Bees"], y=[["Bees"]], output="own.html")


@pytest.mark.parametrize(
    ("there", "expected"),
    [("copy.mrc", b"00026nam"), ("copy.xml", b"<?xml"), ("copy.xml", b"\xef\xbb\xbf <collection/>")],
)
def test_a_copy_replaces_copies_of_its_kind_alone(tmp_path: Path, there: str, expected: bytes) -> None:
    (tmp_path / there).write_bytes(expected)
    for name, content in ({"a": b"00050cam", "b": b"<?xml", "c.csv": b"id,title"}).items():
        (tmp_path / name).write_bytes(content)
        if content[:1] == expected.removeprefix(b"\xef\xbb\xbf ")[:1]:
            check_kind(tmp_path / there, like=tmp_path / name)
        else:
            with pytest.raises(OccupiedError, match="another kind"):
                check_kind(tmp_path / there, like=tmp_path / name)


@pytest.mark.parametrize(("command", "option", "written"), OUTPUTS)
def test_an_output_that_cannot_be_written_is_refused_before_documents_are_read(
    here: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str, written: Written
) -> None:
    for name in ("docs.jsonl", "labels.txt"):
        (here / name).write_text("{")  # would be an error too, later
    (here / "folder").mkdir()
    assert "cannot be written (it is a folder; name a file)" in run(command, option, "folder")[1]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "new.txt: cannot be written (No space left on device)" in run(command, option, "new.txt")[1]
    assert not (here / "new.txt").exists()


def test_two_outputs_of_a_command_are_not_the_same(here: Path) -> None:
    for name in ("new.html", "./new.html"):
        given = ["evaluate", *ARGUMENTS["evaluate"], "--report", "new.html", "--per-label", name]
        result = CliRunner().invoke(app, given)
        assert "new.html: is read or written here already" in str(result.exception)


@pytest.mark.parametrize("source", ["*.jsonl", "**/docs.jsonl", ".", "link.jsonl"])
def test_an_input_is_known_through_patterns_folders_and_links(here: Path, source: str) -> None:
    (here / "link.jsonl").symlink_to("docs.jsonl")
    with pytest.raises(OccupiedError, match=r"docs\.jsonl: is read or written here already"):
        check_output(Path("docs.jsonl"), [source])
    check_output(Path("new.jsonl"), [source])


def test_what_the_library_writes_replaces_no_review_and_no_part_of_a_model(here: Path) -> None:
    files = ["other.sqlite", "model/manifest.json", "model/vocabulary/names/text.npy"]
    for file in files:
        before = Path(file).read_bytes()
        with pytest.raises(OccupiedError, match="choose another name"):
            tw.Corpus.of(["Bees"]).save(file)
        with pytest.raises(OccupiedError, match="choose another name"), write_output(file):
            pytest.fail("nothing must be written")
        with pytest.raises(OccupiedError, match="choose another name"):
            tw.report(tw.load("model"), ["Bees"], y=[["Bees"]], output=file)
        assert Path(file).read_bytes() == before
