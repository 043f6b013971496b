"""`tagwright enrich` of tables: subjects are added to one column, and everything else is as it was."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from tests.app.conftest import Command, write

from tagwright.data.corpus import Corpus
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile

YSO = "http://www.yso.fi/onto/yso/"
LABELS = [
    {"id": f"{YSO}p1", "names": {"fi": ["historia"]}},
    {"id": f"{YSO}p2", "names": {"fi": ["jatkosota"]}},
    {"id": f"{YSO}p3", "names": {"fi": ["a;b"]}},
    {"id": f"{YSO}p4", "names": {"fi": ["=1+1"]}},
]


def suggested(**labels: str) -> None:
    """A run that suggests these labels: document -> numbers."""
    lines: list[Any] = []
    for document, numbers in labels.items():
        found = [{"label": f"{YSO}p{number}", "score": 1.0 / place} for place, number in enumerate(numbers, 1)]
        lines.append({"id": document.removeprefix("d"), "suggestions": found})
    write("run.jsonl", lines)


CALL = ("--labels", "yso.jsonl", "--run", "run.jsonl", "--quiet", "--output")


@pytest.fixture(autouse=True)
def labels(desk: Path) -> None:
    assert desk.is_dir()
    write("yso.jsonl", LABELS)
    suggested(d1="12", d2="", d3="1")


DSPACE = (
    'id,collection,"dc.title",dc.subject,dc.date\r\n'
    "1,123/4,Sodan jälkeen,vapaa sana||jatkosota,1999\r\n"
    '2,123/4,"Sota, ja rauha",,"2000"\r\n'
    '3,"=cmd()",Aika,"vapaa ""sana""",\r\n'
)
CASES: dict[str, tuple[str, str, str]] = {
    "dspace": (
        "x.csv",
        DSPACE,
        DSPACE.replace("sana||jatkosota", "sana||jatkosota||historia").replace('""sana"""', '""sana""||historia"'),
    ),
    "column of the vocabulary": (
        "x.csv",
        "id;dc.title;dc.subject;dc.subject.lcsh;dc.subject.yso[fi]\n1;Sota;vapaa;History;\n2;A;;;\n3;B;;;rauha\n",
        "id;dc.title;dc.subject;dc.subject.lcsh;dc.subject.yso[fi]\n1;Sota;vapaa;History;historia||jatkosota\n2;A;;;\n"
        "3;B;;;rauha||historia\n",
    ),
    "of another vocabulary alone": (
        "x.csv",
        "id,dc.title,dc.subject.lcsh\n1,Sota,History\n\n2,A,\n3,B,",
        "id,dc.title,dc.subject.lcsh,dc.subject.yso\n1,Sota,History,historia||jatkosota\n\n2,A,,\n3,B,,historia",
    ),
    "semicolons": (
        "x.tsv",
        "id\ttitle\tsubjects\n1\tSota\trauha; talous\n2\tA\t\n3\t'=B\trauha\n",
        "id\ttitle\tsubjects\n1\tSota\trauha; talous; historia; jatkosota\n2\tA\t\n3\t'=B\trauha; historia\n",
    ),
    "one a line": (
        "x.csv",
        'id,title,labels\n1,Sota,"rauha\ntalous"\n2,A,\n3,B,rauha\n',
        'id,title,labels\n1,Sota,"rauha\ntalous\nhistoria\njatkosota"\n2,A,\n3,B,"rauha\nhistoria"\n',
    ),
    "ids": (
        "x.csv",
        f"id,title,labels\n1,Sota,{YSO}p2\n2,A,\n3,B,\n",
        f"id,title,labels\n1,Sota,{YSO}p2|{YSO}p1\n2,A,\n3,B,{YSO}p1\n",
    ),
    "all in quotes": (
        "x.csv",
        '"id","title"\n"1","Sota"\n"2","A"\n"3","B"\n',
        '"id","title","subjects"\n"1","Sota","historia|jatkosota"\n"2","A",""\n"3","B","historia"\n',
    ),
    "annif": (
        "x.csv",
        f"document_id,text,subject_uris\n1,Sota,<{YSO}p2>\n2,A,\n3,B,<{YSO}p9>\n",
        f"document_id,text,subject_uris\n1,Sota,<{YSO}p2> <{YSO}p1>\n2,A,\n3,B,<{YSO}p9> <{YSO}p1>\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("case", CASES)
def test_nothing_but_the_subjects_changes_and_twice_gives_the_same(run: Command, case: str, encoding: str) -> None:
    name, before, after = CASES[case]
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    Path(name).write_bytes((mark + before).encode(encoding))
    outcome = run("enrich", name, *CALL, f"out-{name}")
    assert outcome.code == 0, outcome.err
    assert Path(f"out-{name}").read_bytes().decode(encoding) == mark + after
    assert Path(name).read_bytes() == (mark + before).encode(encoding)
    assert run("enrich", f"out-{name}", *CALL, f"twice-{name}").out == f"0 subjects added to 0 records: twice-{name}\n"
    assert Path(f"twice-{name}").read_bytes() == Path(f"out-{name}").read_bytes()


@pytest.mark.parametrize(("encoding", "named"), [("cp1252", "cp1252"), ("utf-8", "UTF-8-SIG")])
def test_an_encoding_and_a_column_that_the_user_names(run: Command, encoding: str, named: str) -> None:
    Path("x.csv").write_bytes("id,title,words\n1,Sodan jälkeen,äiti\n2,A,\n3,B,\n".encode(encoding))
    call = ("enrich", "x.csv", *CALL, "out.csv", "--encoding", named, "--columns", "labels=words")
    assert run(*call).code == 0
    assert Path("out.csv").read_bytes().decode(encoding) == (
        "id,title,words\n1,Sodan jälkeen,äiti|historia|jatkosota\n2,A,\n3,B,historia\n"
    )


def test_a_name_that_the_column_cannot_hold_is_an_id_and_a_formula_is_escaped(run: Command) -> None:
    suggested(d1="3", d2="4", d3="3")
    Path("x.csv").write_text("id,title,subjects\n1,A,rauha;sota\n2,B,\n3,C,\n", encoding="utf-8")
    assert run("enrich", "x.csv", *CALL, "out.csv").code == 0
    assert Path("out.csv").read_text(encoding="utf-8") == (
        f"id,title,subjects\n1,A,rauha;sota;{YSO}p3\n2,B,'=1+1\n3,C,{YSO}p3\n"
    )


def test_a_workbook_keeps_its_other_sheets_and_cells(run: Command, caplog: pytest.LogCaptureFixture) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["id", "Title", "Subjects", "Sum"], [1, "Sota", "vapaa; rauha", "=1+1"], [2, "A"], [3, "B", None, 7]):
        sheet.append(row)
    sheet["C2"] = CellRichText(TextBlock(InlineFont(rFont="Calibri", family=2), "vapaa; rauha"))
    sheet["C4"].number_format = "@"
    book.create_sheet("Notes")["B2"] = "mine"
    book.save("x.xlsx")
    assert run("enrich", "x.xlsx", *CALL, "out.xlsx").code == 0
    assert caplog.messages.count('x.xlsx: the sheet "Sheet" is read; left out: Notes') == 1
    found = openpyxl.load_workbook("out.xlsx")
    assert [[cell.value for cell in row] for row in found.worksheets[0].iter_rows()] == [
        ["id", "Title", "Subjects", "Sum"], [1, "Sota", "vapaa; rauha; historia; jatkosota", "=1+1"],
        [2, "A", None, None], [3, "B", "historia", 7],
    ]  # fmt: skip
    assert found.worksheets[0]["C4"].number_format == "@"
    assert found["Notes"]["B2"].value == "mine"
    with zipfile.ZipFile("x.xlsx") as old, zipfile.ZipFile("out.xlsx") as new:
        changed = [each for each in old.namelist() if old.read(each) != new.read(each)]
        assert changed == ["xl/worksheets/sheet1.xml"]
    run("enrich", "out.xlsx", *CALL, "twice.xlsx")
    assert Path("twice.xlsx").read_bytes() == Path("out.xlsx").read_bytes()


def test_a_workbook_without_subjects_gets_a_column(run: Command) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["id", "Title"], [1, "Sota"], [2, "A"], [3, "B"]):
        sheet.append(row)
    book.save("x.xlsx")
    assert run("enrich", "x.xlsx", *CALL, "out.xlsx").code == 0
    found = openpyxl.load_workbook("out.xlsx").worksheets[0]
    assert [row[2].value or "" for row in found.iter_rows()] == ["subjects", "historia|jatkosota", "", "historia"]


def test_the_accepted_subjects_of_a_review_and_no_more(run: Command) -> None:
    Path("x.csv").write_text(DSPACE, encoding="utf-8", newline="")
    file = ReviewFile(Path("reviews.sqlite"))
    ReviewedDocuments(file).add(Corpus.read("x.csv"))
    event: dict[str, Any] = {"document": "1", "reviewer": "Ann"}
    Decisions(file).add_all([Decision(action="accept", label=f"{YSO}p1", rank=1, **event),
                             Decision(action="accept", label=f"{YSO}p2", note="jatkosota", **event),
                             Decision(action="done", **event)])  # fmt: skip
    file.close()
    call = ("--labels", "yso.jsonl", "--reviews", "reviews.sqlite", "--output", "out.csv")
    assert run("enrich", "x.csv", *call).out == "1 subject added to 1 record: out.csv\n"
    expected = DSPACE.replace("sana||jatkosota", "sana||jatkosota||historia")
    assert Path("out.csv").read_bytes() == expected.encode()
    lines = run("reviews", "reviews.sqlite", "--export").out.splitlines()
    assert json.loads(lines[0])["metadata"]["subject"] == ["vapaa sana"]
    table = run("reviews", "reviews.sqlite", "--export", "--format", "csv").out.splitlines()
    assert table[0] == "id,title,text,labels,reviewed,collection,dc.date,subject"
    assert table[1].endswith(f"{YSO}p1|{YSO}p2,,123/4,1999,vapaa sana")


def test_a_table_without_names_of_columns_is_refused(run: Command) -> None:
    Path("x.tsv").write_text("Bees fly\tbees\nWasps fly\twasps\n", encoding="utf-8")
    outcome = run("enrich", "x.tsv", "--labels", "yso.jsonl", "--set", "stages=['exact_match']", "--output", "out")
    assert (outcome.code, "expected names of columns" in outcome.err) == (2, True), outcome.err
    assert not Path("out").exists()
