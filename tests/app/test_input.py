"""What the commands take as documents and vocabularies: standard input, columns, formats, lists of names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import Command, write
from tests.app.test_cli import WORDS, answer
from tests.readers.reading import give_on_standard_input

ON_LABELS = ("--labels", "labels.jsonl")
COMMANDS = ("suggest", "evaluate", "describe --candidates", "describe", "read", "describe --graph")


def test_plain_text_on_standard_input_is_one_document(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    give_on_standard_input(monkeypatch, b"Honey of the bees\n")
    lines = answer(run, "suggest", "-", *ON_LABELS, *WORDS, "-k", "1").splitlines()
    assert lines[0] == "stdin  Honey of the bees"
    assert lines[1].endswith("  Bees  [bee]")


@pytest.mark.parametrize("command", COMMANDS)
def test_columns_and_format_are_taken_by_every_command(run: Command, command: str) -> None:
    Path("shop.data").write_text("Nr,Produkt,Art,Kunde\n1,Honey of the bees,bee,Ann\n2,Money,bank,Ann\n")
    columns = ("--columns", "id=Nr,title=Produkt,labels=Art,author=Kunde", "--input-format", "csv")
    labels = () if command in ("read", "describe --graph") else ON_LABELS
    words = WORDS if command in ("suggest", "evaluate", "candidates") else ()
    out = answer(run, *command.split(), "shop.data", *columns, *labels, *words)
    expected = {"suggest": "1  Honey of the bees", "evaluate": "2 documents", "describe --candidates": "2 documents",
                "describe": "documents with labels", "read": '"bee"', "describe --graph": "P-A-P"}  # fmt: skip
    assert expected[command] in out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_size_of_a_document_is_limited_for_every_command(
    run: Command, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", "50")
    record = {"id": "long", "title": "Honey of the bees", "abstract": "bee " * 100, "labels": ["bee"]}
    write("long.jsonl", [{**record, "metadata": {"author": ["Ann"]}}])
    labels = () if command in ("read", "describe --graph") else ON_LABELS
    words = WORDS if command in ("suggest", "evaluate", "candidates") else ()
    given = (*command.split(), "long.jsonl", *labels, *words)
    left_out = "tagwright: long.jsonl: holds no documents\n"
    if command in ("suggest", "read"):  # they say why in the same line
        remedy = "to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE\n"
        left_out = f"tagwright: long.jsonl:1: is larger than 50 bytes, the limit for one document; {remedy}"
    assert run(*given).err == left_out
    monkeypatch.delenv("TAGWRIGHT_MAX_DOCUMENT_SIZE")
    assert run(*given).err == ""


def test_a_list_of_names_is_a_vocabulary_and_equal_names_are_told_apart_by_paths(run: Command) -> None:
    Path("names.txt").write_text("Animals\nAnimals > Bees\nGames\nGames > Bees\nPlants\nPlants > Roses\n")
    write("garden.jsonl", [{"title": "Bees on roses"}])
    on = ("suggest", "garden.jsonl", "--labels", "names.txt", *WORDS)
    shown = answer(run, *on)
    assert "  Animals > Bees  [Animals > Bees]" in shown
    assert "  Roses  [Plants > Roses]" in shown
    assert "\tAnimals > Bees\t" in answer(run, *on, "--format", "tsv")
    assert "  Plants > Roses  [Plants > Roses]" in answer(run, *on, "--paths")


def test_a_wide_table_is_described_in_a_few_lines(run: Command) -> None:
    """60 columns, each with one value for all documents (a hub), or one for each."""
    columns = [f"col{number}" for number in range(60)]
    rows = [["title", *columns]]
    rows += [[f"Bees {row}", *(str(row if place % 2 else "same") for place in range(60))] for row in range(200)]
    Path("wide.csv").write_text("\n".join(map(",".join, rows)))
    brief = answer(run, "describe", "wide.csv", "--quiet")
    assert len(brief.splitlines()) < 30
    assert "60, none of them read as text" in brief
    assert "col0, col10, col12, col14, col16 and 25 more (--json)" in brief
    whole = json.loads(answer(run, "describe", "wide.csv", "--quiet", "--json"))
    assert len(whole["fields"]) == 60


def test_training_takes_columns(run: Command) -> None:
    rows = [f"{number},{text},{label}" for number in range(4) for text, label in (("honey", "bee"), ("money", "bank"))]
    Path("shop.csv").write_text("\n".join(["Nr,Produkt,Art", *(f"{place}{row}" for place, row in enumerate(rows))]))
    columns = ("--columns", "id=Nr,title=Produkt,labels=Art")
    answer(run, "train", "svm", "shop.csv", *ON_LABELS, *columns, "--output", "model", "--quiet")
    lines = answer(run, "suggest", "shop.csv", *columns, "--model", "model", "-k", "1").splitlines()
    assert lines[0] == "00  honey"
    assert lines[1].endswith("  Bees  [bee]")
