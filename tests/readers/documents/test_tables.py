from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.types import Document


def test_tsv_without_header_is_text_and_labels(tmp_path: Path) -> None:
    rows = '"Bees" fly\t<http://x/1;2> <http://x/3>\nWasps\tD1 D2\tD3\n\nNothing known\nAnts\tD1; D 2|D3\n'
    assert [
        (document.id, document.abstract, document.labels) for document in read(written(tmp_path, rows, "x.tsv"))
    ] == [
        ("1", '"Bees" fly', ("http://x/1;2", "http://x/3")),
        ("2", "Wasps", ("D1", "D2", "D3")),
        ("4", "Nothing known", ()),
        ("5", "Ants", ("D1", "D 2", "D3")),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        "Bees fly\tinsects\tflight\nThe law of 2020\tlaw\ttax\n",
        "Honey\thttp://x/a http://x/b\nWax\thttp://x/a http://x/c\n",
        "Honey\tbees; wild plants\nWax\tbees; hives\n",
        "Honey\tbees wings\n",
    ],
)
def test_short_texts_with_labels_are_no_other_table(tmp_path: Path, rows: str) -> None:
    assert all(len(document.labels) in (2, 3) for document in read(written(tmp_path, rows, "x.tsv")))


@pytest.mark.parametrize(("name", "mark"), [("x.csv", ","), ("x.csv", ";"), ("x.tsv", "\t"), ("x.csv.gz", ",")])
def test_columns_with_a_header(tmp_path: Path, name: str, mark: str) -> None:
    rows = [["ID", "Title", "abstract", "labels", "venue", ""], ["a", "Bees", "They fly.", "D1|D2", "Nature", ""]]
    content = "\ufeff" + "\r\n".join(mark.join(row) for row in rows) + "\r\n"
    path = written(tmp_path, gzip.compress(content.encode()) if name.endswith(".gz") else content, name)
    assert read(path) == [Document("a", "Bees", "They fly.", (), {"venue": ("Nature",)}, ("D1", "D2"))]


@pytest.mark.parametrize("first", ["sep=;\r\n", "\ufeffsep=;\r\n", '"sep=;"\r\n', "SEP=;;;;\r\n", ""])
def test_a_csv_of_excel_is_read(tmp_path: Path, first: str) -> None:
    """The separator is said on top, and separators end the rows."""
    content = f"{first}id;title;text;labels;;\r\n1;Bees;They fly;Insects;;;\r\n2;Wasps;;\r\n"
    assert read(written(tmp_path, content, "x.csv")) == [
        Document("1", "Bees", "They fly", labels=("Insects",)),
        Document("2", "Wasps"),
    ]
    line = 4 if first else 3
    assert refusal(written(tmp_path, content + "3;Flies;\r\n", "y.csv")).startswith(f"y.csv:{line + 1}: has 3 columns")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "id,text\na,b,c\n", "x.csv:2: has 3 columns, expected 2 as in the header (id, text)"),
        ("x.tsv", "id\ttext\na\n", "x.tsv:2: has 1 columns, expected 2 as in the header (id, text)"),
        (
            "x.csv",
            'id,text,"two\nlines"\na\n',
            "x.csv:3: has 1 columns, expected 3 as in the header (id, text, two lines)",
        ),
        ("x.csv", "id,text,Text\n", 'x.csv:1: two columns are named "text"; name each column once'),
        ("x.csv", 'id,text\na,b\nc,"d\n', "x.csv:3: is not CSV (unexpected end of data)"),
        ("x.csv", "id,text\n,b\n", 'x.csv:2: id is ""'),
        ("x.csv", "a,b\nc,d\n", 'x.csv:2: no column is recognised as title or text; the columns are "a", "b"; say'),
        ("x.csv", "id,text\n", "x.csv: holds no documents"),
        ("x.tsv", "", "x.tsv: is empty, expected documents"),
        (
            "x.tsv",
            b"a\tb\nc\xff\td\n",
            "x.tsv:2: byte 0xff is not UTF-8; save the file as UTF-8, "
            "or name the encoding of documents: encoding=cp1252",
        ),
        ("x.tsv.gz", gzip.compress(b"a\tb\n" * 99, mtime=0)[:-9], "x.tsv.gz: is a broken gzip file"),
        ("x.parquet", "id,text\n", "x.parquet: is no Parquet file, or a damaged one"),
        ("x.arrow", "id,text\n", "x.arrow: is no Arrow file, or a damaged one"),
    ],
)
def test_a_wrong_table_is_refused_with_the_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    assert refusal(written(tmp_path, content, name)).startswith(message)
