"""Tables as catalogues export them: subject headings are labels, never part of the text."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.data.corpus import Corpus
from tagwright.errors import on_command_line
from tagwright.readers.documents.columns import parse_columns
from tagwright.types import Document

LONG = "Insects -- Flight -- Research -- History -- 20th century | Pollination by insects | Bees -- Behavior | Wings"
"A cell with enough words to be taken for running text."


def table(folder: Path, *rows: list[str], name: str = "x.csv") -> Path:
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return written(folder, stream.getvalue(), name)


def test_koha(tmp_path: Path) -> None:
    """A CSV profile with subfields as headers, repeated ones separated by a bar."""
    header = ["biblionumber", "245$a", "100$a", "520$a", "650$a", "653$a"]
    row = ["17", "How bees fly", "Low, Ann", "In spirals.", "Bees|Insects -- Flight", "spirals"]
    assert read(table(tmp_path, header, row)) == [
        Document(
            "17",
            "How bees fly",
            "In spirals.",
            metadata={"100$a": ("Low, Ann",), "653$a": ("spirals",)},
            labels=("Bees", "Insects -- Flight"),
        )
    ]


def test_zotero(tmp_path: Path) -> None:
    """Manual tags are the user's own; automatic ones came with the record, often from its authors."""
    record = {"Key": "AB3", "Item Type": "journalArticle", "Author": "Low, Ann", "Title": "How bees fly"}
    record |= {"Publication Title": "Nature", "Abstract Note": "In spirals.", "Manual Tags": "bees; to read"}
    record["Automatic Tags"] = LONG
    [document] = read(table(tmp_path, [*record], [*record.values()]))
    assert (document.id, document.text, document.labels) == ("AB3", "How bees fly\nIn spirals.", ("bees", "to read"))
    assert document.metadata["publication title"] == ("Nature",)
    assert document.metadata["automatic tags"] == (LONG,)


@pytest.mark.parametrize("prefix", ["dc:", "dc.", "dcterms:", "http://purl.org/dc/terms/"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl"])
def test_dublin_core(tmp_path: Path, prefix: str, name: str) -> None:
    record = {
        f"{prefix}identifier": "7",
        f"{prefix}title": "How bees fly",
        f"{prefix}abstract": "In spirals.",
        f"{prefix}subject": "Bees; Wings",
        f"{prefix}creator": "Low, Ann",
    }
    mark = {"x.csv": ",", "x.tsv": "\t"}.get(name, "")
    rows = [record, {key: f'"{text}"' if mark == "," else text for key, text in record.items()}.values()]
    path = written(tmp_path, "\n".join(map(mark.join, rows)) if mark else json.dumps(record), name)
    assert read(path) == [
        Document("7", "How bees fly", "In spirals.", (), {f"{prefix}creator": ("Low, Ann",)}, ("Bees", "Wings"))
    ]


@pytest.mark.parametrize("header", ["Author Keywords", "Stichwörter", "653$a", "tags", "dc:subject.other"])
def test_these_are_metadata(tmp_path: Path, header: str) -> None:
    """Authors choose their keywords themselves, from no vocabulary."""
    [document] = read(table(tmp_path, ["id", "title", header], ["1", "How bees fly", LONG]))
    assert (document.text, document.labels) == ("How bees fly", ())
    assert document.metadata == {header.lower().replace("o\u0308", "ö"): (LONG,)}


def test_beside_labels_subjects_are_metadata(tmp_path: Path) -> None:
    [document] = read(table(tmp_path, ["title", "labels", "subjects", "650$a"], ["Bees", "D1", LONG, LONG]))
    assert document == Document("2", "Bees", metadata={"subjects": (LONG,), "650$a": (LONG,)}, labels=("D1",))
    with_columns = Corpus.read(
        table(tmp_path, ["title", "codes", "subjects"], ["Bees", "D1", LONG]), columns={"labels": "codes"}
    )
    assert with_columns[0] == Document("2", "Bees", metadata={"subjects": (LONG,)}, labels=("D1",))


def test_annif_json_lines_keep_their_own_names(tmp_path: Path) -> None:
    record = {"document_id": "1", "text": "They fly.", "subjects": [{"uri": "http://x/1", "label": "bees"}]}
    assert read(written(tmp_path, json.dumps(record)))[0].labels == ("http://x/1",)
    record = {"document_id": "1", "text": "They fly.", "subjects": ["http://x/1"]}
    for format_ in ("annif", None):
        [document] = read(written(tmp_path, json.dumps(record)), format=format_)
        assert (document.id, document.labels) == ("1", ("http://x/1",))
    [document] = read(table(tmp_path, ["document_id", "text", "subjects"], ["1", "They fly.", "bees;wings"]))
    assert (document.id, document.labels) == ("1", ("bees", "wings"))


def test_the_subject_of_a_message_is_not_guessed(tmp_path: Path) -> None:
    path = table(tmp_path, ["subject", "body"], ["Bees", "They fly."])
    with on_command_line():
        assert refusal(path) == (
            'x.csv:2: "subject" is beside "body": the title of a message, or its labels; say which: '
            "--columns title=subject or --columns labels=subject"
        )
    alone = table(tmp_path, ["subject", "description"], ["Bees", "They fly."], name="y.csv")
    assert '"subject" is without a title beside it' in refusal(alone)
    assert Corpus.read(path, columns=parse_columns("title=subject"))[0] == Document("2", "Bees", "They fly.")
    assert Corpus.read(path, columns=parse_columns("labels=subject"))[0] == Document(
        "2", "", "They fly.", labels=("Bees",)
    )
    beside_title = table(tmp_path, ["title", "subject", "body"], ["How bees fly", "Bees", "They fly."])
    assert read(beside_title)[0].labels == ("Bees",)


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (["title", "subject", "Schlagwörter"], '"subject" and "schlagwörter"'),
        (["245$a", "650$a", "689$a"], '"650$a" and "689$a"'),
        (["title", "label", "subjects"], '"label" and "subjects"'),
        (["title", "dc.subject[en]", "dc.subject[de]"], '"dc.subject[en]" and "dc.subject[de]"'),
    ],
)
def test_two_columns_of_labels_are_refused(tmp_path: Path, header: list[str], names: str) -> None:
    path = table(tmp_path, header, ["How bees fly", "Bees", "Bienen"])
    with on_command_line():
        assert (
            refusal(path) == f"x.csv:2: {names} may each hold the labels, expected one; say which: --columns labels=..."
        )
    assert Corpus.read(path, columns={"labels": header[1]})[0].labels == ("Bees",)
