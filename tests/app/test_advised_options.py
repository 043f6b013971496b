"""A message that advises an option is printed by commands that have it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import typer
from tests.sources import modules
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.errors import TagwrightError
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.file import ReviewFile
from tagwright.server import serving

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = {name: {option for each in command.params for option in each.opts} for name, command in COMMANDS.items()}

READ_DOCUMENTS = {name for name, command in COMMANDS.items() if {"docs", "records", "documents", "test", "files"} & {
    each.name for each in command.params}}  # fmt: skip

PRINTED_BY = {
    "readers/documents": READ_DOCUMENTS,
    "data/corpus.py": READ_DOCUMENTS,
    "data/vocabulary.py": READ_DOCUMENTS,
    "readers/limits.py": READ_DOCUMENTS,
    "readers/lines.py": READ_DOCUMENTS,
    "review/applied.py": {"enrich"},
    "review/merging.py": {"reviews"},
    "review/export.py": {"reviews"},
    "api/enriching.py": {"enrich"},
}
"Part of the sources -> the commands that print its messages; of other parts, some command must have the option."

NOT_EVERYWHERE = {("readers/documents", "--run"): {"evaluate", "compare", "enrich"}}
"Options about what only some of these commands read."


def advised() -> Iterator[tuple[str, str]]:
    """File and option of each call of `errors.option`."""
    for path, tree in modules():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "option"
                and node.args
            ):
                flags = [each.value for each in node.keywords if each.arg == "flag"] or node.args[:1]
                if isinstance(flags[0], ast.Constant):
                    yield path, f"--{str(flags[0].value).replace('_', '-')}"


def test_commands_that_print_the_advice_of_an_option_have_it() -> None:
    known = set[str]().union(*OPTIONS.values())
    for file, option in sorted(set(advised())):
        part = next((part for part in PRINTED_BY if file.startswith(part)), "")
        printing = NOT_EVERYWHERE.get((part, option), PRINTED_BY.get(part, set()))
        assert {command for command in printing if option not in OPTIONS[command]} == set(), (file, option)
        assert option in known, file


def test_the_commands_that_read_documents_are_known() -> None:
    assert {"suggest", "train", "evaluate", "serve", "enrich", "reviews", "batch"} <= READ_DOCUMENTS
    for name in READ_DOCUMENTS:
        assert OPTIONS[name] >= {"--columns", "--encoding", "--input-format"}, name


def test_documents_to_review_are_read_as_the_options_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("books.csv").write_bytes("key;what\n1;Bienenk\u00f6nigin\n".encode("cp1252"))
    Path("labels.txt").write_text("B\u00e4r\nBienen\n", encoding="utf-8")
    served = list[object]()
    monkeypatch.setattr(serving, "_run", lambda *_, **__: served.append(None))
    call = ["serve", "--labels", "labels.txt", "--set", "stages=['exact_match']", "--language", "de", "--reviews",
            "r.sqlite", "--documents", "books.csv", "--port", "0"]  # fmt: skip
    failed = CliRunner().invoke(app, call)
    assert isinstance(failed.exception, TagwrightError)
    assert "--encoding" in str(failed.exception)
    result = CliRunner().invoke(app, [*call, "--encoding", "cp1252", "--columns", "id=key,title=what"])
    assert (result.exception, len(served)) == (None, 1)
    with closing(ReviewFile.open_existing(Path("r.sqlite"))) as file:
        assert [(each.id, each.title) for each in ReviewedDocuments(file).entries()] == [("1", "Bienenk\u00f6nigin")]
