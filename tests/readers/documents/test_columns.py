"""Which column is what: as it is named, as the user says, or by usual other names; never by its content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, InputError, on_command_line
from tagwright.readers.documents.columns import parse_columns
from tagwright.types import Document

JUMPER = "A warm jumper of yellow wool for cold days, washed by hand and dried flat."
SHOPIFY = (
    "Handle,Title,Body (HTML),Vendor,Type,Tags,Variant SKU,SEO Description\n"
    'yellow-wool,Yellow Wool Jumper,"<p>A <b>warm</b> jumper &amp; more.</p><ul><li>Wool</li></ul>",'
    f'Knit,Tops,"wool, w",Y1,"{JUMPER}"\n'
    "yellow-wool,,,,,,Y2,\n"
    "red-hat,Red Hat,<p>A hat.</p>,Knit,Hats,,R1,\n"
)


def test_a_shopify_export_has_its_texts_without_html(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The row of a variant goes on with the product above; SEO text is not read beside the body."""
    jumper, hat = read(written(tmp_path, SHOPIFY, "products.csv"))
    assert (jumper.id, jumper.title, jumper.abstract) == (
        "yellow-wool",
        "Yellow Wool Jumper",
        "A warm jumper & more.\nWool",
    )
    assert jumper.metadata["vendor"] == ("Knit",)
    assert (hat.id, hat.title, hat.abstract) == ("red-hat", "Red Hat", "A hat.")
    assert [message.rpartition("/")[2] for message in caplog.messages] == [
        'products.csv: columns: text from "body (html)", id from "handle"; HTML is stripped from text; '
        "not used: vendor, type, tags, variant sku, seo description (kept as metadata); "
        "to change this: Corpus.of(documents, title=..., text=..., labels=...)",
        "products.csv: 1 row left out, with the id of the row above and no text: 3",
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl"])
def test_columns_are_what_the_user_says(tmp_path: Path, name: str) -> None:
    rows = [{"Nr": "7", "Name": "Bees", "Body": "They fly.", "Codes": "D1;D2", "By": "Ann", "title": "x"}]
    if name.endswith("jsonl"):
        path = written(tmp_path, json.dumps(rows[0]), name)
    elif name.endswith("parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = tmp_path / name
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        mark = "," if name.endswith("csv") else "\t"
        path = written(tmp_path, "\n".join(mark.join(part) for part in (rows[0], rows[0].values())), name)
    columns = {"title": "Name", "text": "Body", "labels": "Codes", "id": "Nr", "author": "By"}
    [document] = Corpus.read(path, columns=columns)
    metadata = {"author": ("Ann",), "column title": ("x",)}
    assert document == Document("7", "Bees", "They fly.", (), metadata, ("D1", "D2"))


def test_a_column_that_is_not_there_is_refused_with_those_there_are(tmp_path: Path) -> None:
    path = written(tmp_path, "Name,Body\nBees,They fly.\n", "a.csv")
    with pytest.raises(InputError, match=r'a.csv:2: no column "Nmae"; the columns are "name", "body"$'):
        Corpus.read(path, columns={"title": "Nmae"})


def test_columns_of_what_has_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"columns are given, but .*a\.txt has none"):
        Corpus.read(written(tmp_path, "Bees", "a.txt"), columns={"title": "Name"})


@pytest.mark.parametrize(
    ("record", "title", "abstract"),
    [
        ({"name": "Bees", "description": "They fly."}, "Bees", "They fly."),
        ({"headline": "Bees", "Content": "They fly."}, "Bees", "They fly."),
        ({"Title": "Bees", "summary": "They fly."}, "Bees", "They fly."),
        ({"title": "Bees"}, "Bees", ""),
    ],
)
def test_usual_names_are_known_in_json_lines_and_tables(
    tmp_path: Path, record: dict[str, str], title: str, abstract: str
) -> None:
    """Without id, which is then the number of the line: 1 in JSON lines, 2 below the header of a CSV."""
    csv = f"{','.join(record)}\n{','.join(json.dumps(value) for value in record.values())}\n"
    documents = [*read(written(tmp_path, json.dumps(record))), *read(written(tmp_path, csv, "a.csv"))]
    assert [(each.id, each.title, each.abstract, each.metadata) for each in documents] == [
        ("1", title, abstract, {}),
        ("2", title, abstract, {}),
    ]


def test_names_of_our_own_are_taken_as_they_are_and_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Even with usual names beside them, with HTML in the texts, and with a long text of another name."""
    record = {"id": "1", "title": "The <p> element", "abstract": "<p>x</p>", "summary": "s", "sku": "7", "note": JUMPER}
    [document] = read(written(tmp_path, json.dumps(record)))
    metadata = {"summary": ("s",), "sku": ("7",), "note": (JUMPER,)}
    assert document == Document("1", "The <p> element", "<p>x</p>", (), metadata)
    assert caplog.messages == []


def test_a_text_about_html_is_not_stripped_in_tables(tmp_path: Path) -> None:
    content = "title,text\nA,About </p> tags\nB,About bees\nC,About ants\n"
    assert read(written(tmp_path, content, "a.csv"))[0].abstract == "About </p> tags"


def test_a_number_that_was_taken_for_an_id_may_come_twice(tmp_path: Path) -> None:
    content = "sku,name\nA,Bees\nB,Wasps\nA,Ants\n,Flies\n"
    assert [document.id for document in read(written(tmp_path, content, "a.csv"))] == ["A", "B", "A#4", "5"]


def test_lines_of_two_tables_that_stand_for_missing_ids_are_refused_with_the_remedy(tmp_path: Path) -> None:
    paths = [written(tmp_path, "sku,title\n,Bees\nA,Wasps\n", name) for name in ("a.csv", "b.csv")]
    with pytest.raises(InputError, match=r"name a column of ids: id=\.\.\.\)$"):
        Corpus.read(*paths)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", f"nummer,farbe\n1,{JUMPER.replace(',', '')}\n"), ("a.jsonl", '{"nummer": 1, "farbe": "red"}')],
)
def test_columns_without_any_known_name_are_refused_with_their_names(tmp_path: Path, name: str, content: str) -> None:
    with on_command_line():
        said = refusal(written(tmp_path, content, name)).partition(": ")[2]
    assert said == (
        'no column is recognised as title or text; the columns are "nummer", "farbe"; say which: '
        "--columns title=...,text=...,labels=..."
    )


def test_the_only_column_that_may_be_the_text_is_named() -> None:
    with pytest.raises(InputError, match=r'the columns are "id", "data", "label"; say which.*text="data"\)$'):
        Corpus.of([{"id": 1, "data": "Honey bees", "label": ["bees"]}])


def test_a_table_of_titles_says_that_no_column_is_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    [document] = read(written(tmp_path, f'title,farbe\nBees,"{JUMPER}"\n', "a.csv"))
    assert (document.text, document.metadata) == ("Bees", {"farbe": (JUMPER,)})
    assert caplog.messages[0].endswith("a.csv: no column is text; not used: farbe (kept as metadata)")


@pytest.mark.parametrize("text", ["title", "title=", "=Name", "title=a,title=b"])
def test_columns_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected each field once, as in title=Name,text=Body"):
        parse_columns(text)


def test_a_slip_in_the_name_of_a_field_is_not_taken_for_metadata() -> None:
    with pytest.raises(ConfigError, match='a field "titel"; did you mean "title"'):
        parse_columns("titel=Produkt,text=Beschreibung")
    assert parse_columns("colour=Farbe") == {"colour": "Farbe"}
