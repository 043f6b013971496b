"""Vocabularies as spreadsheets, catalogues and Annif write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.readers.reading import labels_refusal, written

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, on_command_line
from tagwright.types import Label


def labels(folder: Path, content: str | bytes, name: str = "x.csv", encoding: str = "") -> list[Label]:
    return list(Vocabulary.read(written(folder, content, name), encoding=encoding))


@pytest.mark.parametrize("line", ["<http://e/2>\t\n", "<http://e/2>\n", "http://e/2\t\t59\n"])
def test_a_uri_without_a_name_is_deprecated_and_counted(
    tmp_path: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = labels(tmp_path, f"<http://e/1>\tBees\n{line}<http://e/3>\tWasps\n", "x.tsv")
    assert [each.id for each in found] == ["http://e/1", "http://e/3"]
    assert [message.rpartition("/x.tsv")[2] for message in caplog.messages] == [
        ": 1 of 3 labels are deprecated (a URI without a name) and left out: http://e/2"
    ]


@pytest.mark.parametrize(
    ("content", "field", "expected"),
    [
        # parents are found by a notation or name that one label alone has, in any language; none is its own
        ("uri,notation,label,broader\nu:1,Q,Economics,\nu:2,Q1,Macro,Q\n", "broader", [(), ("u:1",)]),
        ("uri,notation,label,broader\nu:1,Q,Economics,\nu:2,Q1,Macro,Economics\n", "broader", [(), ("u:1",)]),
        (
            "id,notation,name,broader\n1,Q,Eggs,\n2,Q,Eggs,\n3,,Birds,Q\n4,,A,Eggs\n",
            "broader",
            [(), (), ("Q",), ("Eggs",)],
        ),
        ("uri,label_fi,label_en,broader\nu:1,eläin,Animal,\nu:2,lintu,,Animal\n", "broader", [(), ("u:1",)]),
        ("uri,label_fi,label_en,broader\nu:1,eläin,Animal,\nu:3,kala,Fish,kala\n", "broader", [(), ("kala",)]),
        # several values may stand one a line
        ('id,name,altLabels\n1,Bees,"Apis\nHoney bees"\n', "names", [("Bees", "Apis", "Honey bees")]),
        ('id,name,broader\n1,Bees,"2\r\n3"\n2,Insects,\n3,"Makers",\n', "broader", [("2", "3"), (), ()]),
        # Excel ends rows with separators, and says which
        ("\ufeffsep=;\r\nid;name;;\r\n1;Bees;;\r\n2;Wasps;;;\r\n", "name", ["Bees", "Wasps"]),
    ],
)
def test_the_cells_of_a_table_are_the_fields_of_labels(
    tmp_path: Path, content: str, field: str, expected: list[object]
) -> None:
    assert [getattr(each, field) for each in labels(tmp_path, content)] == expected


def test_the_line_that_says_the_separator_is_counted(tmp_path: Path) -> None:
    assert labels_refusal(written(tmp_path, "sep=;\nid;name\n1;\n", "y.csv")).startswith('y.csv:3: label "1"')


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "memory"])
def test_parents_that_are_no_label_are_counted(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "name": "Bees"},
        {"id": "2", "name": "Wasps", "broader": ["9"]},
        {"id": "3", "name": "Ants", "broader": ["1"]},
    ]
    vocabulary = Vocabulary.of(rows)
    if name != "memory":
        caplog.clear()
        vocabulary.write(tmp_path / name)
        assert list(Vocabulary.read(tmp_path / name)) == list(vocabulary)
    assert [message.rpartition("/")[2] for message in caplog.messages] == [
        f"{name if name != 'memory' else 'labels'}: 1 of 2 parents are no label: 9"
    ]


def test_other_words_count_only_where_none_of_our_own_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """So a file that was right before means the same, and what is left out is named."""
    content = "id,names,title,label_sv,definition,description_en\n1,Birds|Aves,Title,Fåglar,D,They fly.\n"
    [found] = labels(tmp_path, content)
    assert (found.names, found.description) == (("Birds", "Aves"), "They fly.")
    assert caplog.messages[0].endswith("x.csv: columns left out: title, definition")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("label_id,name", Label("1", ("Birds",))),
        ("uri,label_id", Label("1", ("Birds",), languages=(("id", "Birds"),))),
        ("category_id,category", Label("1", ("Birds",))),
    ],
)
def test_an_id_is_no_name_in_indonesian(tmp_path: Path, header: str, expected: Label) -> None:
    assert labels(tmp_path, f"{header}\n1,Birds\n") == [expected]


def test_names_in_several_languages_and_parents_are_taken_from_memory_too() -> None:
    parents = [{"id": "1", "notation": "Q", "name": "Economics"}, {"id": "2", "name": "Macro", "parent": "Q"}]
    assert Vocabulary.of(parents)[1].broader == ("1",)
    rows: list[dict[str, Any]] = [{"id": "1", "prefLabel@de": "Vögel", "prefLabel@en": "Birds"}]
    assert Vocabulary.of(rows, language="de")[0].names == ("Vögel",)
    rows = [{"id": "1", "names": {"de": ["Vögel"], "en": ["Birds"]}, "descriptions": {"en": ["They fly."]}}]
    found = Vocabulary.of(rows, language="en")[0]
    assert (found.names, found.description) == (("Birds",), "They fly.")


@pytest.mark.parametrize("header", ["id,title,abstract", "title,text,labels", "Title,Subjects"])
def test_a_table_of_documents_is_no_vocabulary(tmp_path: Path, header: str) -> None:
    path = written(tmp_path, f"{header}\n{','.join('abc'[: header.count(',') + 1])}\n", "x.csv")
    assert labels_refusal(path) == (
        f"x.csv:1: the columns are those of documents ({header.lower().replace(',', ', ')}), expected labels"
    )


PROSE = (
    "Bees are insects that live in swarms and fly from flower to\n"
    "flower. They make honey of nectar. In winter they stay in the\n"
    "hive and keep warm. Some of them sting, but only once in life.\n"
)


CHINESE = "蜜蜂是一种会飞行的群居昆虫。它们采集花蜜并酿成蜂蜜。" * 4


@pytest.mark.parametrize("text", [PROSE, PROSE.replace("\n", " "), CHINESE])
def test_running_text_is_no_list_of_names(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text, "x.txt")
    assert labels_refusal(path) == "x.txt: looks like running text, expected labels: a name or a path a line"


def test_long_names_are_names(tmp_path: Path) -> None:
    """As those of customs tariffs are."""
    names = "Live horses, asses, mules and hinnies, pure-bred breeding animals, n.e.s.\n" * 3
    assert len(labels(tmp_path, names, "x.txt")) == 1


def test_repeated_lines_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    labels(tmp_path, "Bees\nWasps\nBees\n", "x.txt")
    assert caplog.messages[0].endswith("x.txt: 1 line left out, which are repeated: 3")


LATIN = "id;name\r\n1;Bären\r\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", LATIN),
        ("x.tsv", "1\tBären\n"),
        ("x.txt", "Bären\n"),
        ("x.jsonl", '{"id": "1", "name": "Bären"}\n'),
        ("x.json", '[{"id": "1", "name": "Bären"}]\n'),
    ],
)
def test_an_encoding_applies_to_a_vocabulary_that_is_not_utf8(tmp_path: Path, name: str, text: str) -> None:
    """Without one, the message names one that was tried."""
    path = written(tmp_path, text.encode("cp1252"), name)
    with on_command_line():
        message = labels_refusal(path)
    assert "is not UTF-8; save the file as UTF-8; --encoding cp1252, with tagwright labels --labels" in message
    assert Vocabulary.read(path, encoding="cp1252")[0].name == "Bären"
    path.write_text(text, encoding="utf-8")
    assert Vocabulary.read(path, encoding="cp1252")[0].name == "Bären"


def test_an_encoding_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, LATIN.encode("cp1252"), "x.csv")
    with pytest.raises(InputError, match=r"x\.csv:\d: byte 0xe4 is not ascii"):
        Vocabulary.read(path, encoding="ascii")
    with pytest.raises(ConfigError, match='unknown encoding "klingon"'):
        Vocabulary.read(path, encoding="klingon")
