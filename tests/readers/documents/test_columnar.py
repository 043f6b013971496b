"""Arrow and Parquet files are tables; damaged ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.readers.reading import read, refusal, written
from tests.readers.samples import arrow

from tagwright.data.corpus import Corpus
from tagwright.types import Document, Section

SECTION = pa.struct([("heading", pa.string()), ("level", pa.int16()), ("paragraphs", pa.list_(pa.string()))])
SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "title": pa.large_string(),
        "abstract": pa.string(),
        "sections": pa.list_(SECTION),
        "metadata": pa.map_(pa.string(), pa.list_(pa.string())),
        "labels": pa.list_(pa.string()),
        "year": pa.int32(),
    }
)
BEES: dict[str, Any] = {
    "id": "bees",
    "title": "Bees",
    "abstract": "They fly.",
    "sections": [{"heading": "Wings", "level": 1, "paragraphs": ["Four."]}],
    "metadata": {"author": ["Ann"]},
    "labels": ["D1"],
    "year": 2020,
}


def by_pyarrow(folder: Path, *rows: dict[str, Any], name: str = "x.arrow") -> Path:
    return written(folder, arrow(pa.Table.from_pylist(list(rows), SCHEMA)), name)


@pytest.mark.parametrize("name", ["x.arrow", "x.feather", "x"])
def test_a_row_is_a_document(tmp_path: Path, name: str) -> None:
    rows = BEES, {**dict.fromkeys(BEES), "id": " ants\x1b[31m", "title": "cafe\u0301"}
    assert read(by_pyarrow(tmp_path, *rows, name=name)) == [
        Document(
            *("bees", "Bees", "They fly."),
            (Section("Wings", 1, ("Four.",)),),
            {"year": ("2020",), "author": ("Ann",)},
            ("D1",),
        ),
        Document("ants [31m", "caf\xe9"),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "x.arrow:2: id is null, expected a text"),
        ({"id": " "}, 'x.arrow:2: id is " ", expected a text'),
        ({"sections": [{"heading": "", "level": 1, "paragraphs": [None]}]}, "x.arrow:2: paragraphs holds null"),
        ({"labels": ["D1", None]}, "x.arrow:2: labels holds null, expected a list of label ids"),
        ({"metadata": [("a", ["b"]), ("a", [])]}, "x.arrow: is no Arrow file, or a damaged one ("),
    ],
)
def test_what_no_other_reader_takes_is_refused_with_its_row(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    assert refusal(by_pyarrow(tmp_path, BEES, {**BEES, "id": "wasps", **change})).startswith(message)


COLUMNS = {
    "views, as polars writes texts": pa.array(["In spirals, slowly.", "b"], pa.string_view()),
    "a dictionary": pa.array(["In spirals, slowly.", "b"]).dictionary_encode(),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", COLUMNS)
def test_texts_are_read_however_a_column_holds_them(tmp_path: Path, kind: str, stream: bool) -> None:
    path = written(tmp_path, arrow(pa.table({"text": COLUMNS[kind]}), stream=stream), "x.arrow")
    assert [each.text for each in read(path)] == ["In spirals, slowly.", "b"]


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = by_pyarrow(tmp_path, BEES)
    path.write_bytes(path.read_bytes().replace(b"They", b"\xff\xff\xff\xff"))
    assert "Invalid UTF8" in refusal(path)


def test_a_column_of_maps_is_read_and_measured_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps of all four rows are stored together; only that of the last one is above the limit."""
    kind = pa.map_(pa.string(), pa.list_(pa.string()))
    metadata = pa.array([[("author", ["Ann"])], None, [("author", [400 * "a"])], [("author", [2_000 * "a"])]], kind)
    pq.write_table(
        pa.table({"id": ["1", "2", "3", "4"], "title": ["Bees"] * 4, "metadata": metadata}), tmp_path / "x.parquet"
    )
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", "1000")
    found = read(tmp_path / "x.parquet")
    assert [document.metadata for document in found] == [{"author": ("Ann",)}, {}, {"author": (400 * "a",)}]


# Class labels of Hugging Face, whose names are in the metadata of the schema

CLASS = {"names": ["Bees", "Orchards", "Taxes"], "_type": "ClassLabel"}


def of_hugging_face(feature: Any, values: list[Any]) -> pa.Table:
    table = pa.table({"text": ["Honey"] * len(values), "labels": values})
    info = {"info": {"features": {"text": {"dtype": "string", "_type": "Value"}, "labels": feature}}}
    return table.replace_schema_metadata({"huggingface": json.dumps(info)})


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "memory"])
@pytest.mark.parametrize(
    ("feature", "values", "labels"),
    [
        (CLASS, [2, 0, -1, None], [("Taxes",), ("Bees",), (), ()]),
        ({"feature": CLASS, "_type": "Sequence"}, [[0, 1], []], [("Bees", "Orchards"), ()]),
        ({"feature": CLASS, "_type": "List"}, [[2, -1]], [("Taxes",)]),
        ([CLASS], [[1]], [("Orchards",)]),
        ({"dtype": "int64", "_type": "Value"}, [[1]], [("1",)]),
    ],
)
def test_class_labels_keep_their_names(
    tmp_path: Path, kind: str, feature: Any, values: list[Any], labels: list[tuple[str, ...]]
) -> None:
    table = of_hugging_face(feature, values)
    assert [document.labels for document in through(kind, table, tmp_path)] == labels


def through(kind: str, table: pa.Table, folder: Path) -> list[Document]:
    """The documents of a table that went through a file, a stream, or none."""
    if kind == "memory":
        return list(Corpus.of(table))
    if kind == "parquet":
        pq.write_table(table, folder / "x.parquet")
    else:
        written(folder, arrow(table, stream=kind == "stream"), "x.arrow")
    [path] = folder.iterdir()
    return read(path)


def test_a_dataset_that_hugging_face_saved_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string"), "labels": datasets.ClassLabel(names=["a", "b"])})
    rows = {"text": ["Honey", "Tax"], "labels": [1, 0]}
    datasets.DatasetDict(train=datasets.Dataset.from_dict(rows, features)).save_to_disk(tmp_path / "set")
    written(tmp_path, b"", "set/train/cache-1.arrow")
    assert [document.labels for document in read(tmp_path / "set")] == [("b",), ("a",)]
    assert caplog.messages == []


def test_a_number_that_is_no_class_is_an_error(tmp_path: Path) -> None:
    pq.write_table(of_hugging_face(CLASS, [0, 3]), tmp_path / "x.parquet")
    assert refusal(tmp_path / "x.parquet") == "x.parquet:2: labels is 3, expected numbers of its 3 classes, from 0"


def test_a_stream_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    content = arrow(pa.table({"text": ["Honey"]}), stream=True)
    assert refusal(written(tmp_path, content[:-40], "x.arrow")).startswith(
        "x.arrow: is no Arrow file, or a damaged one"
    )


def test_class_labels_of_a_dataset_in_the_format_of_numpy_become_their_names() -> None:
    datasets = pytest.importorskip("datasets")
    classes = datasets.ClassLabel(names=["a", "b"])
    features = datasets.Features({"text": datasets.Value("string"), "labels": datasets.Sequence(classes)})
    made = datasets.Dataset.from_dict({"text": ["Honey", "Tax"], "labels": [[1, 0], []]}, features)
    assert [each.labels for each in Corpus.of(made.with_format("numpy"))] == [("b", "a"), ()]
