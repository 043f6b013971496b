"""Tables, columns and records from memory: what becomes of them, and what is said of what cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tagwright as tw
from tagwright.data.corpus import Corpus
from tagwright.data.texts import to_documents
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, TagwrightError
from tagwright.evaluation.description import describe
from tagwright.readers.documents.columns import hint_at_labels
from tagwright.readers.documents.in_memory import with_labels
from tagwright.readers.labels.files import to_vocabulary
from tagwright.sklearn import TaggerClassifier
from tagwright.types import Document, Label

ROWS: dict[str, list[Any]] = {
    "name": ["Bees", "Taxes"],
    "body": ["They make honey.", "They are paid."],
    "codes": [["a", "b"], ["c"]],
    "author": ["Ann", None],
}


class Frame:
    """What polars shows of a frame: columns, and Arrow's C stream."""

    def __init__(self, rows: dict[str, list[Any]]) -> None:
        self._table = pa.table(rows)
        self.columns = list(rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def frame(kind: str, rows: dict[str, list[Any]]) -> Any:
    if kind == "arrow":
        return pa.table(rows)
    if kind == "stream":
        return Frame(rows)
    if kind == "records":
        return [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    if kind == "lazy polars":
        return pytest.importorskip("polars").LazyFrame(rows)
    if kind == "datasets":
        return pytest.importorskip("datasets").Dataset.from_dict(rows)
    return pytest.importorskip(kind).DataFrame(rows)


KINDS = pytest.mark.parametrize("kind", ["pandas", "polars", "lazy polars", "arrow", "stream", "datasets", "records"])


@KINDS
def test_a_table_is_a_corpus(kind: str) -> None:
    corpus = Corpus.of(frame(kind, ROWS), text="body", title="name", labels="codes")
    assert list(corpus) == [
        Document("1", "Bees", "They make honey.", metadata={"author": ("Ann",)}, labels=("a", "b")),
        Document("2", "Taxes", "They are paid.", labels=("c",)),
    ]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_column_is_texts(kind: str) -> None:
    texts = frame(kind, ROWS)["body"]
    assert [document.text for document in to_documents(texts)] == ROWS["body"]
    assert to_vocabulary(frame(kind, ROWS)["name"]).ids == ("Bees", "Taxes")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "numpy"])
def test_a_missing_cell_of_a_column_is_an_empty_document_and_counted(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """So suggestions stay beside their rows."""
    values = ["Bees", None, "Wasps"]
    column = np.array(values, object) if kind == "numpy" else frame(kind, {"text": values})["text"]
    assert [(each.id, each.text) for each in to_documents(column)] == [("1", "Bees"), ("2", ""), ("3", "Wasps")]
    assert caplog.messages == ["documents: 1 row without text: 2"]


def test_nan_is_no_text_no_label_and_no_metadata(caplog: pytest.LogCaptureFixture) -> None:
    nan = float("nan")
    rows = [{"text": "Bees", "labels": nan, "by": nan}, {"text": nan, "labels": ["a"], "by": "Ann"}]
    assert list(Corpus.of(rows)) == [Document("1", "", "Bees"), Document("2", metadata={"by": ("Ann",)}, labels=("a",))]
    assert caplog.messages == ["records: 1 row without title and text: 2"]


def test_nan_in_lists_is_skipped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    nan = float("nan")
    records = [{"title": "Bees", "labels": ["a", nan]}, {"title": "Wasps", "labels": [nan]}]
    assert [each.labels for each in Corpus.of(records)] == [("a",), ()]
    assert [each.text for each in to_documents(["Bees", nan])] == ["Bees", ""]  # type: ignore[list-item]
    y = ["a", nan, ["b", nan]]
    assert [each.labels for each in with_labels(to_documents(["Bees", "Wasps", "Flies"]), y)] == [("a",), (), ("b",)]
    assert caplog.messages == ["documents: 1 row without text: 2", "y: 1 row without labels: 2"]


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        (["Bees", float("nan"), "Wasps"], "row without a name left out: 2"),
        ({"Bees": ["Bees"], "2": float("nan"), "Wasps": ["Wasps", float("nan")]}, "id without a name left out: 2"),
        ([{"name": "Bees"}, {"name": float("nan")}, {"name": "Wasps"}], "row without a name left out: 2"),
        (pytest.importorskip("pandas").Series(["Bees", None, "Wasps"]), "row without a name left out: 2"),
    ],
    ids=["list", "mapping", "records", "column"],
)
def test_a_label_without_a_name_is_skipped_and_counted(
    labels: Any, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert [(each.id, each.names) for each in Vocabulary.of(labels)] == [("Bees", ("Bees",)), ("Wasps", ("Wasps",))]
    assert caplog.messages == [f"labels: 1 {where}"]


def test_a_single_record_is_one_document() -> None:
    tagger = tw.zero_shot(["Bees", "Taxes"], stages=["exact_match"], language="en")
    assert [each.name for each in tagger.suggest({"title": "Bees fly."})] == ["Bees"]
    assert list(Corpus.of({"title": "Bees", "labels": ["a"]})) == [Document("1", "Bees", labels=("a",))]
    with pytest.raises(InputError, match="the documents are a mapping with the keys"):
        Corpus.of({"train": [{"title": "Bees"}]})


@pytest.mark.parametrize("field", ["tags", "Categories", "mots-clés"])
def test_where_no_document_has_a_label_metadata_that_look_like_labels_are_named(
    field: str, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = Corpus.of([{"text": "Bees fly.", field: ["Bees"]}, {"text": "Tax", field: ["Taxes"]}])
    hint_at_labels(corpus, Vocabulary(["Bees"]))
    assert caplog.messages == [
        f"none of 2 documents has a label; the metadata {field} looks like labels: "
        f'Corpus.of(documents, labels="{field}")'
    ]


def test_metadata_that_hold_nothing_but_labels_are_named_by_every_way(caplog: pytest.LogCaptureFixture) -> None:
    labels = Vocabulary([Label("b", ("Bees",)), Label("t", ("Taxes",)), Label("w", ("Wasps",))])
    records = [
        {"text": "Bees fly.", "codes": "b; wasps", "place": "b"}, {"text": "Tax", "codes": "t", "place": "Bath"}
    ]  # fmt: skip
    corpus = Corpus.of(records)
    hint = 'none of 2 documents has a label; the metadata codes looks like labels: Corpus.of(documents, labels="codes")'
    tagger = tw.zero_shot(labels, stages=["exact_match"], language="en")
    with pytest.raises(InputError, match="none of the 2 documents has a gold label"):
        tw.evaluate(tagger, corpus)
    assert caplog.messages == [hint]
    caplog.clear()
    with pytest.raises(tw.TagwrightError):
        tw.train("svm", corpus, labels, progress=False)
    assert hint in caplog.messages
    caplog.clear()
    found = describe(corpus, labels)
    assert "codes looks like labels, whose ids or names it holds: --columns labels=codes" in found.warnings
    assert "codes" not in found.fields  # MICoL would learn from the labels
    assert found.methods[2] == "metadata (MICoL): no, no metadata value is shared by two documents"
    labelled = Corpus.of(records, labels="codes")
    assert labels.gold(labelled).labels.tolist() == [0, 2, 1]
    assert "place" in describe(labelled, labels).fields
    assert not caplog.messages


def test_labels_beside_documents_may_be_a_printed_list() -> None:
    assert [each.labels for each in with_labels([Document("1")], ["['a', 'b']"])] == [("a", "b")]


def test_columns_are_of_tables() -> None:
    with pytest.raises(ConfigError, match="no table and no records; a file is given as a Path"):
        Corpus.of(["Bees"], text="body")


def test_columns_are_named_in_the_same_ways_for_files_and_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,body,codes,year\n7,Bees fly.,b,2020\n", encoding="utf-8")
    expected = [Document("7", abstract="Bees fly.", labels=("b",), metadata={"year": ("2020",)})]
    columns: Any = {"id": "key", "text": "body", "labels": "codes"}
    for source in (tmp_path / "a.csv", [{"key": "7", "body": "Bees fly.", "codes": ["b"], "year": 2020}]):
        assert list(Corpus.of(source, columns)) == list(Corpus.of(source, **columns)) == expected
    read = Corpus.read
    assert list(read(tmp_path / "a.csv", columns=columns)) == expected
    assert list(read(tmp_path / "a.csv", id="key", text="body", labels="codes")) == expected


def test_a_text_that_is_the_name_of_a_file_is_said_to_be_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    caplog.set_level("INFO", "tagwright")
    for texts in ("papers", ["papers", "papers"]):
        assert {each.text for each in to_documents(texts)} == {"papers"}
        assert caplog.messages == [
            '"papers" is taken as a text; Path("papers") would read the file or folder of this name'
        ]
        caplog.clear()
    list(to_documents(["old papers", "Papers of old"]))
    assert not caplog.messages


CATEGORIES: dict[str, list[Any]] = {
    "code": ["1", "2"],
    "topic": ["Bees", "Taxes"],
    "about": ["Insects that fly.", None],
    "parent": ["2", ""],
    "synonyms": ["Apoidea; Honey bees", ""],
}


@KINDS
def test_a_table_of_categories_is_a_vocabulary(kind: str) -> None:
    found = Vocabulary.of(frame(kind, CATEGORIES), description="about")
    assert list(found) == [
        Label("1", ("Bees", "Apoidea", "Honey bees"), "Insects that fly.", ("2",)),
        Label("2", ("Taxes",)),
    ]


@pytest.mark.parametrize("kind", ["pandas", "records"])
def test_a_table_is_taken_wherever_labels_are(kind: str) -> None:
    categories = frame(kind, {"name": ["Bees", "Taxes"], "description": ["honey", "income"]})
    tagger = tw.zero_shot(categories, stages=["tfidf"], language="en")
    assert [each.name for each in tagger.suggest("An income")] == ["Taxes"]
    assert tagger.with_labels(categories).vocabulary[0].description == "honey"
    assert TaggerClassifier(labels=categories, stages=["exact_match"]).fit([]).classes_.tolist() == ["Bees", "Taxes"]


def test_numbers_are_ids_and_empty_cells_are_empty() -> None:
    pandas = pytest.importorskip("pandas")
    found = Vocabulary.of(pandas.DataFrame({"id": [7, 8], "name": ["Bees", "Wasps"], "description": [None, "Sting."]}))
    assert list(found) == [Label("7", ("Bees",)), Label("8", ("Wasps",), "Sting.")]
    assert Vocabulary.of([{"name": "Bees", "description": float("nan")}])[0].description == ""
    assert Vocabulary.of([{"id": "1", "names": ["Bees", "Apoidea"]}])[0].names == ("Bees", "Apoidea")


@pytest.mark.parametrize(
    ("labels", "columns", "message"),
    [
        ([{"kind": "Bees"}], {}, r'or say which holds the names: Vocabulary.of\(labels, name="kind"'),
        ([{"name": "Bees"}], {"name": "topic"}, 'no column "topic"; the columns are "name"'),
        ([{"name": "Bees"}], {"titel": "name"}, 'no field "titel"; the fields are id, name, names'),
        ([{"name": "Bees"}, {"name": ""}], {}, r'labels:2: has no name; fill in the column "name"'),
        ([{"name": "Bees", "id": None}], {}, r'labels:1: has no id; fill in the column "id"'),
        ([{"name": ["Bees"]}], {}, r"labels:1: name is .*, expected a text"),
        ([{"name": "Bees"}, "Wasps"], {}, r"labels:2: is .*expected a record"),
        (["Bees"], {"name": "topic"}, "the labels are no table and no records"),
    ],
)
def test_records_that_are_no_labels_are_refused(labels: Any, columns: dict[str, str], message: str) -> None:
    with pytest.raises(TagwrightError, match=message):
        Vocabulary.of(labels, **columns)


def test_a_mapping_is_from_names_to_descriptions_or_from_ids_to_names() -> None:
    described = {"Bees": "Insects that fly and make honey of nectar.", "Taxes": "What everybody pays to the state."}
    assert [(label.name, label.description) for label in to_vocabulary(described)] == list(described.items())
    named = {"cs.AI": "Artificial Intelligence", "stat.ML": "Machine Learning"}
    assert [(label.id, label.name) for label in to_vocabulary(named)] == list(named.items())
    long = {"D1": "Insects that fly and make honey of nectar.", "D2": "What everybody pays to the state."}
    assert [(label.id, label.name) for label in to_vocabulary(long)] == list(long.items())
    numbers: Any = {0: "Bees", 1: ["Taxes", "Duties"]}
    assert [(label.id, label.names) for label in to_vocabulary(numbers)] == [
        ("0", ("Bees",)),
        ("1", ("Taxes", "Duties")),
    ]


def test_an_old_frame_is_refused_with_a_remedy() -> None:
    class Old:
        columns = ("text",)

    with pytest.raises(InputError, match=r"pandas can from 2\.2 on"):
        list(to_documents(Old()))  # type: ignore[arg-type]


@pytest.mark.parametrize("y", [[None], [5]])
def test_y_that_is_no_list_of_labels_is_refused(y: Any) -> None:
    with pytest.raises(InputError, match="y of document 1 is"):
        list(with_labels([Document("1")], y))


def test_an_indicator_matrix_is_no_list_of_labels() -> None:
    with pytest.raises(InputError, match="y is a matrix of numbers, expected a list of ids or names"):
        list(with_labels([Document("1"), Document("2")], np.array([[1, 0], [0, 1]])))
    named = with_labels([Document("1"), Document("2")], np.array([["a", "b"], ["c", "d"]]))
    assert [document.labels for document in named] == [("a", "b"), ("c", "d")]


def test_one_value_is_no_collection_of_labels() -> None:
    with pytest.raises(
        InputError, match="the labels are 5, expected names, Labels, a Vocabulary or the name of a file"
    ):
        to_vocabulary(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the labels y are 5, expected a list for each document"):
        list(with_labels([Document("1")], 5))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="y has labels for fewer documents"):
        list(with_labels([Document("1"), Document("2")], [["a"]]))
