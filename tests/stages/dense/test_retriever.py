import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from tests.saved import saved

from tagwright.encoders.prompts import Role
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.dense import index as label_index
from tagwright.text.words import words
from tagwright.types import Document, Floats, Label, Retriever


class BagOfWords:
    """A text is the sum of a random vector for each of its words; remembers what it was asked to encode."""

    def __init__(self, name: str = "bag", dim: int = 64) -> None:
        self.name, self.dim = name, dim
        self.encoded: list[str] = []

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,  # noqa: ARG002
        progress: str = "",  # noqa: ARG002
    ) -> Floats:
        self.encoded += texts
        vectors: Floats = np.zeros((len(texts), self.dim), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in words(text):
                vector += np.random.default_rng(zlib.crc32(word.encode())).standard_normal(self.dim)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors

    def save(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "name").write_text(self.name)


LABELS = [
    Label("1", ("Bees", "Apoidea"), "Flying insects."),
    Label("2", ("Oak",), "A tree."),
    Label("3", ("Compilers",), "Programs that translate programs."),
]
BEES = Document("b", title="Bees and other flying insects")
COMPILERS = Document("c", title="Programs: compilers")
EMPTY = Document("e", title=" ")


def test_labels_are_ranked_by_cosine() -> None:
    encoder = BagOfWords()
    run = Dense(LABELS, encoder, DenseOptions(label_text="text", storage="float32"))([BEES, COMPILERS])
    cosines = encoder.encode([BEES.text, COMPILERS.text]) @ encoder.encode([label.text for label in LABELS]).T
    assert run.labels.tolist() == np.argsort(-cosines, axis=1).ravel().tolist()
    np.testing.assert_allclose(run.scores, -np.sort(-cosines, axis=1).ravel(), atol=1e-6)
    assert [run[0][0][0], run[1][0][0]] == [0, 2]


def test_a_document_without_text_gets_no_candidates() -> None:
    stage = Dense(LABELS, BagOfWords())
    assert np.diff(stage([EMPTY, BEES]).indptr).tolist() == [0, 3]
    assert stage([]).indptr.tolist() == [0]


@pytest.mark.parametrize(
    ("label_text", "expected"),
    [
        ("name", ["Bees"]),
        ("names", ["Bees; Apoidea"]),
        ("text", ["Bees; Apoidea. Flying insects."]),
        ("both", ["Bees", "Bees; Apoidea. Flying insects."]),
    ],
)
def test_a_label_is_the_mean_of_what_of_it_is_encoded(label_text: Any, expected: list[str]) -> None:
    encoder = BagOfWords()
    stage = Dense(LABELS[:1], encoder, DenseOptions(label_text=label_text, storage="float32"))
    assert encoder.encoded == expected
    mean = encoder.encode(expected).mean(axis=0)
    np.testing.assert_allclose(stage.vectors[:], [mean / np.linalg.norm(mean)], atol=1e-6)


def test_only_new_and_changed_labels_are_encoded() -> None:
    encoder = BagOfWords()
    stage: Retriever = Dense(LABELS, encoder)
    encoder.encoded.clear()
    changed = [Label("4", ("Moss",)), LABELS[2], replace(LABELS[0], description="Insects."), Label("5", ("Moss",))]
    other = stage.with_labels(changed)
    assert set(encoder.encoded) == {"Moss", "Bees", "Bees; Apoidea. Insects."}
    run, fresh = other([BEES, COMPILERS]), Dense(changed, BagOfWords())([BEES, COMPILERS])
    assert run.labels.tolist() == fresh.labels.tolist()
    np.testing.assert_array_equal(run.scores, fresh.scores)


@pytest.mark.parametrize("index", ["exact", "ivf"])
def test_rescoring_its_own_candidates_changes_nothing(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_index, "INDEX_MINIMUM", 100)
    labels = [Label(str(i), (f"topic{i} group{i % 7}",)) for i in range(500)]
    stage = Dense(labels, BagOfWords(), DenseOptions(index=index, k=5))
    documents = [Document(str(i), title=f"topic{i} with group{i % 7}") for i in range(0, 500, 50)]
    run = stage(documents)
    rescored = run.rescored(stage.score(stage.read(documents), run))
    assert rescored.labels.tolist() == run.labels.tolist()
    np.testing.assert_allclose(rescored.scores, run.scores, atol=1e-6)


def test_the_nearest_sentences_are_quoted() -> None:
    text = "Trees stand still. Nothing is said here. Flying insects are bees. An oak is a tree. More of it."
    document = Document("d", title="On life", abstract=text)
    stage = Dense(LABELS, BagOfWords(), DenseOptions(storage="float32"))
    spans = stage.spans(document, [0])[0]
    assert document.text[spans[0].start : spans[0].end] == "Flying insects are bees."
    assert len(spans) == 3
    assert spans[0].weight >= spans[1].weight >= spans[2].weight
    alone = stage([Document("s", title="Flying insects are bees.")])
    assert spans[0].weight == pytest.approx(alone.scores[0], abs=1e-5)
    oak, bees = stage.spans(document, [1, 0])
    assert bees == spans
    assert document.text[oak[0].start : oak[0].end] == "An oak is a tree."
    assert stage.spans(EMPTY, [0])[0] == ()
    assert stage.spans(EMPTY, [1, 0]) == [(), ()]


@pytest.mark.parametrize("index", ["exact", "ivf"])
def test_saved_and_loaded_it_gives_the_same(tmp_path: Path, index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_index, "INDEX_MINIMUM", 100)
    labels = [*LABELS, *(Label(f"t{i}", (f"topic{i}",)) for i in range(300))]
    stage = Dense(labels, BagOfWords(), DenseOptions(index=index, k=7))
    loaded = Dense.from_state(saved(stage, tmp_path), labels, BagOfWords())
    assert (tmp_path / "encoder/name").read_text() == "bag"
    assert not loaded.vectors.codes.flags.owndata  # but the file
    assert loaded.options == stage.options
    assert loaded([BEES, COMPILERS]).scores.tolist() == stage([BEES, COMPILERS]).scores.tolist()


def test_the_packaged_encoder_is_not_saved_again(tmp_path: Path) -> None:
    state = saved(Dense(LABELS, BagOfWords("minilm")), tmp_path)
    assert not (tmp_path / "encoder").exists()
    assert Dense.from_state({**state, "record": None}, LABELS).encoder.name == "minilm"


def test_an_index_is_built_once_and_answers_the_first_query_too(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Mock(wraps=label_index.Index.build)
    monkeypatch.setattr(label_index, "INDEX_MINIMUM", 100)
    monkeypatch.setattr(label_index.Index, "build", build)
    labels = [Label(str(i), (f"topic{i} group{i % 7}",)) for i in range(500)]
    stage = Dense(labels, BagOfWords(), DenseOptions(index="ivf", k=1))
    build.assert_not_called()
    queries = [Document(str(i), title=f"topic{i} group{i % 7}") for i in (3, 4)]
    with ThreadPoolExecutor(4) as threads:
        found = [run.labels.tolist() for run in threads.map(stage, [queries] * 4)]
    assert found == [[3, 4]] * 4
    build.assert_called_once()
