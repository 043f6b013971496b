"""Sheets of Excel workbooks are read as tables are, and what is written is text, never a formula."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from tests.readers.reading import labels_refusal, read, refusal, strict_open_xml, written

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.readers.workbooks import write_workbook
from tagwright.types import Document, Label

ROWS: list[list[Any]] = [
    ["ID", "Title", "Text", "Labels", "Year"],
    ["a", "Bees", "They fly.", "x; y", 1999],
    ["b", "Wasps", None, "z"],
]


def workbook(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    book = openpyxl.Workbook()
    del book["Sheet"]
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    book.save(path)
    return path


def changed(path: Path, part: str, old: str, new: str) -> Path:
    """The workbook with another text in one of its parts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            content = before.read(name).decode()
            assert name != part or old in content
            after.writestr(name, content.replace(old, new, 1) if name == part else content)
    path.write_bytes(packed.getvalue())
    return path


@pytest.mark.parametrize("name", ["x.xlsx", "x.data"])
def test_a_sheet_is_read_as_a_csv_is(tmp_path: Path, name: str) -> None:
    path = workbook(tmp_path / "x.xlsx", records=ROWS).rename(tmp_path / name)
    assert read(path) == [
        Document("a", "Bees", "They fly.", metadata={"year": ("1999",)}, labels=("x", "y")),
        Document("b", "Wasps", labels=("z",)),
    ]


def test_columns_may_be_named(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "x.xlsx", notes=[["Name", "Title"], ["1", "no"]], books=[["Werk", "Codes"], ["Bees", "x"]]
    )
    (document,) = Corpus.read(path, columns={"title": "Werk", "labels": "Codes"})
    assert (document.title, document.labels) == ("Bees", ("x",))


def test_the_first_sheet_with_a_header_is_read_which_the_log_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    about, old = [["Made in May"], ["by us"]], [["title"], ["Flies"]]
    path = workbook(tmp_path / "x.xlsx", about=about, empty=[], books=ROWS, old=old)
    assert [document.title for document in read(path)] == ["Bees", "Wasps"]
    assert caplog.messages == [f'{path}: the sheet "books" is read; left out: about, old']


def test_dates_and_numbers_are_as_a_reader_sees_them(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    page = book.active
    values = {
        "day": (date(2024, 3, 5), None), "at": (datetime(2024, 3, 5, 14, 30), None), "hour": (time(9, 5), None),
        "isbn": (9783110123456, "0"), "number": (42, "00000"), "class": (59.1, "0.00"), "sum": (0.1 + 0.2, None),
        "whole": (3.0, None), "true": (True, None), "share": (0.25, "0%"), "error": ("#N/A", None),
    }  # fmt: skip
    page.append(["title", *values])
    page.append(["Bees", *(value for value, _ in values.values())])
    for cell, (_, number_format) in zip(page[2][1:], values.values(), strict=True):
        cell.number_format = number_format or cell.number_format
    book.save(tmp_path / "x.xlsx")
    (document,) = read(tmp_path / "x.xlsx")
    shown = {name: texts[0] for name, texts in document.metadata.items()}
    assert shown == {
        "day": "2024-03-05", "at": "2024-03-05 14:30", "hour": "09:05", "isbn": "9783110123456", "number": "00042",
        "class": "59.10", "sum": "0.3", "whole": "3", "true": "TRUE", "share": "25%",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["title", "labels"], [], ["Bees", "x", "y"]], "x.xlsx:3: has 3 columns, expected 2 as in the header"),
        ([["title", "Title"], ["Bees", "x"]], 'x.xlsx:1: two columns are named "title"'),
        ([[1, 2], [3, 4]], 'x.xlsx:2: no column is recognised as title or text; the columns are "1", "2"; say which'),
        ([], "x.xlsx: holds no documents"),
    ],
)
def test_a_wrong_sheet_is_refused_with_its_row(tmp_path: Path, rows: list[list[Any]], message: str) -> None:
    assert refusal(workbook(tmp_path / "x.xlsx", records=rows)).startswith(message)


def test_labels_are_read_with_the_words_of_other_tables(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["Notation", "Name", "Broader", "label_de"],
        [59.5, "Insects", None, "Insekten"],
        ["595", "Bees", "59.5", "Bienen"],
    ]
    path = workbook(tmp_path / "x.xlsx", about=[["Ours"]], labels=rows)
    labels = Vocabulary.read(path, language="en")
    assert [(each.name, each.notation, each.broader) for each in labels] == [
        ("Insects", "59.5", ()), ("Bees", "595", ("Insects",)),
    ]  # fmt: skip
    bad = workbook(tmp_path / "y.xlsx", labels=[["id", "name"], ["1", "Bees"], ["2", None]])
    assert labels_refusal(bad).startswith('y.xlsx:3: label "2" has no name')


def test_a_vocabulary_is_written_and_read_back(tmp_path: Path) -> None:
    labels = [Label("=1+1", ("Bees", "Apoidea"), "A line.\nAnother."), Label("007", ("Wasps",), broader=("=1+1",))]
    Vocabulary(labels).write(tmp_path / "x.xlsx")
    assert list(Vocabulary.read(tmp_path / "x.xlsx")) == labels


def test_what_is_written_is_text_and_never_a_formula(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = ["=1+1", "+1", "-1", "@x", "007", "a\x07b", "z" * 40_000]
    with (tmp_path / "x.xlsx").open("wb") as stream:
        write_workbook([["title"], *([text] for text in texts), [0.5]], stream, "texts")
    page = openpyxl.load_workbook(tmp_path / "x.xlsx").active
    cells = [row[0] for row in page.iter_rows(min_row=2)]
    assert [cell.data_type for cell in cells] == ["s"] * len(texts) + ["n"]
    assert [cell.value for cell in cells] == [*texts[:5], "a b", "z" * 32_767, 0.5]
    assert caplog.messages == ["1 text cut after 32,767 characters, the most that a cell holds"]


def test_a_hostile_workbook_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "x.xlsx", records=ROWS)
    part, good = "xl/worksheets/sheet1.xml", path.read_bytes()
    entities = '<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;">]><worksheet'
    assert "is no Excel workbook" in refusal(changed(path, part, "<worksheet", entities))
    path.write_bytes(good)
    assert "beyond the last row" in refusal(changed(path, part, '<row r="3"', '<row r="99999999999"'))
    path.write_bytes(good)
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", "2000")
    assert "unpacks to" in refusal(changed(path, part, "<sheetData>", " " * 30_000 + "<sheetData>"))
    monkeypatch.delenv("TAGWRIGHT_MAX_DOCUMENT_SIZE")
    assert refusal(written(tmp_path, good[:900], "y.xlsx")).startswith(
        "y.xlsx: is no Excel workbook (.xlsx), or a damaged"
    )


def test_a_dimension_that_says_that_all_cells_are_used_costs_nothing(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", records=ROWS)
    changed(path, "xl/worksheets/sheet1.xml", 'ref="A1:E3"', 'ref="A1:XFD1048576"')
    assert len(read(path)) == 2


def test_strict_open_xml_is_read(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", Notes=ROWS)
    documents = read(path)
    assert documents
    assert read(written(tmp_path, strict_open_xml(path.read_bytes()), "a.xlsx")) == documents
