from __future__ import annotations

import gc
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tagwright.data import corpus, document_file
from tagwright.data.corpus import Corpus
from tagwright.errors import InputError, TagwrightError
from tagwright.types import Document, Section

BEES = Document(
    "bees",
    "Bees",
    "They fly.",
    (Section("Wings", 1, ("Four.", "Thin.")), Section("Veins", 2, ())),
    {"author": ("Ann", "Bob"), "venue": ("Nature",)},
    ("D1", "D2"),
)
EMPTY = Document("empty")
ANTS = Document("ants", sections=(Section("", 1, ("They walk.",)),), labels=("D3",))


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Corpora lie here, and all of them must be gone after the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    gc.collect()
    assert list(folder.iterdir()) == []


def lines(folder: Path, name: str, *ids: str) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps({"id": id, "title": id.title()}) + "\n" for id in ids))  # noqa: A001
    return path


def test_parts_are_taken() -> None:
    many = [Document(str(number), labels=(f"D{number}",)) for number in range(10)]
    corpus = Corpus.of(many)
    assert list(corpus) == many
    assert corpus[-1] == many[9]
    assert corpus[2:9] == many[2:9]
    assert corpus[::-3] == many[::-3]
    assert corpus[5:5] == []
    assert corpus.take([7, 7, 8, 9, 0, -1]) == [many[position] for position in (7, 7, 8, 9, 0, 9)]
    with pytest.raises(IndexError):
        corpus[10]


def test_a_corpus_lives_as_long_as_it_is_iterated() -> None:
    documents = iter(Corpus.of([BEES, EMPTY]))
    gc.collect()
    assert list(documents) == [BEES, EMPTY]


def test_no_documents_in_memory_are_an_empty_corpus() -> None:
    corpus = Corpus.of([])
    assert (len(corpus), list(corpus), corpus[:], corpus.ids) == (0, [], [], [])


def test_documents_from_memory_are_cleaned_and_checked() -> None:
    assert Corpus.of([Document("a", "cafe\u0301\x00noir")])[0].title == "café noir"
    with pytest.raises(InputError, match="documents:2: id is"):
        Corpus.of([EMPTY, Document("")])
    assert Corpus.of([Document("a", "half \ud800")])[0].title == "half \ufffd"


def test_an_id_that_stands_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    first, second = lines(tmp_path, "a.jsonl", "x", "y", "z"), lines(tmp_path, "b.jsonl", "v", "z", "y")
    with pytest.raises(InputError) as caught:
        Corpus.read(first, second)
    assert str(caught.value) == f'{second}:2: the id "z" is also that of {first}:3; every document needs its own'


def test_ids_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "hash", lambda _: 1, raising=False)
    assert len(Corpus.of([BEES, EMPTY, ANTS])) == 3
    with pytest.raises(InputError, match='documents:3: the id "bees" is also that of documents:1'):
        Corpus.of([BEES, EMPTY, BEES])


def test_where_a_mapped_file_cannot_be_removed_it_goes_with_the_corpus(
    temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as windows:
        windows.setattr(os, "unlink", refused)
        corpus = Corpus.of([BEES, EMPTY])
    documents = iter(corpus)
    del corpus
    gc.collect()
    assert len(list(temporary_folder.iterdir())) == 1
    assert list(documents) == [BEES, EMPTY]


def test_a_saved_corpus_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    Corpus.of([BEES, EMPTY]).save(path)
    gc.collect()
    assert list(Corpus.read(path, lines(tmp_path, "a.jsonl", "x"))) == [BEES, EMPTY, Document("x", "X")]
    assert path.exists()
    with pytest.raises(InputError, match=rf'{path}:1: the id "bees" is also that of {path}:1'):
        Corpus.read(path, path)


def test_a_full_disk_is_told_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(document_file, "write", full)
    with pytest.raises(TagwrightError, match=r"cannot be written \(No space left on device\); set TMPDIR"):
        Corpus.of([BEES])


def test_a_hugging_face_dataset_gives_its_columns_and_names_of_classes() -> None:
    datasets: Any = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "title": datasets.Value("string"),
            "text": datasets.Value("string"),
            "venue": datasets.Value("string"),
            "labels": datasets.List(datasets.ClassLabel(names=["bees", "wasps"])),
        }
    )
    rows = {"title": ["B", "W"], "text": ["Buzz.", "Sting."], "venue": ["N", None], "labels": [[0, 1], [-1]]}
    dataset = datasets.Dataset.from_dict(rows, features=features)
    assert list(Corpus.of(dataset)) == [
        Document("1", "B", "Buzz.", (), {"venue": ("N",)}, ("bees", "wasps")),
        Document("2", "W", "Sting."),
    ]
    with pytest.raises(InputError, match='mapping with the keys "train", "test"; give one of its values'):
        Corpus.of(datasets.DatasetDict(train=dataset, test=dataset))


def test_a_corpus_is_shown_by_its_size() -> None:
    assert repr(Corpus.of(["Bees fly."])) == "Corpus of 1 document"
    assert repr(Corpus.of(["Bees fly."] * 1200)) == "Corpus of 1,200 documents"
