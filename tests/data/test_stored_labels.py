"""A vocabulary that was saved and memory-mapped is the same as the one in memory."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from tests.data.test_vocabulary import WHOLE
from tests.saved import again

from tagwright.core.saved import read_state
from tagwright.data.sparse_arrays import matrix_of, matrix_state
from tagwright.data.stored_labels import StoredLabels
from tagwright.data.string_table import Lookup, StringIndex, StringTable
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ModelError
from tagwright.types import Document, Label

BIRDS = Vocabulary(
    [
        Label("a", ("Birds", "Aves"), "They fly.", ()),
        Label("b", ("Owls", "Eulen"), "", ("a", "elsewhere")),
        Label("c", ("Eulen",), "", ("b", "a")),
        Label("d", ("Nests",), "", ("a",)),
        Label("e", ("nests", "Aves", "Horste"), "", ("c",)),
        Label("f", ("Horste",), "Ḟ", ("elsewhere", "nowhere")),
        Label("g", ("Kites", "aves"), "", ("g",)),
    ]
)
NAMES = ["a", "<b>", "birds", "AVES", "Eulen", " owls ", "nests", "Horste", "Kites", "they fly", ""]


@pytest.fixture
def loaded(tmp_path: Path) -> Vocabulary:
    BIRDS.save(tmp_path)
    return Vocabulary.load(tmp_path)


def test_labels_ids_and_positions_are_the_same(loaded: Vocabulary) -> None:
    assert list(loaded) == list(BIRDS)
    assert [loaded[i] for i in range(-7, 7)] == [BIRDS[i] for i in range(-7, 7)]
    assert list(loaded[2:5]) == list(BIRDS[2:5])
    assert loaded.ids == BIRDS.ids
    assert loaded.index == BIRDS.index
    assert "z" not in loaded.index
    with pytest.raises(IndexError):
        loaded[7]


def test_names_lead_to_the_same_labels(loaded: Vocabulary) -> None:
    assert [loaded.resolve(name) for name in NAMES] == [0, 1, 0, None, 2, 1, None, 5, 6, None, None]
    assert [BIRDS.resolve(name) for name in NAMES] == [loaded.resolve(name) for name in NAMES]
    assert [loaded.shown_name(i) for i in range(7)] == [BIRDS.shown_name(i) for i in range(7)]
    assert loaded.shown_name(3) == "Birds > Nests"


def test_names_that_several_labels_share_are_the_same(loaded: Vocabulary) -> None:
    expected = {"AVES": ["a", "e", "g"], "nests": ["d", "e"]}  # a preferred name has precedence: Eulen, Horste
    assert BIRDS.ambiguous(NAMES) == expected
    assert loaded.ambiguous(NAMES) == expected


def test_what_is_derived_from_them_is_the_same(loaded: Vocabulary) -> None:
    assert [loaded.broader(i) for i in range(7)] == [[], [0], [1, 0], [0], [2], [], [6]]
    assert list(loaded.restrict(["d", "b"])) == [BIRDS[1], BIRDS[3]]
    assert loaded.cycle() == ("g", "g")
    assert loaded.gold([Document("1", labels=("Owls", "f"))]).labels.tolist() == [1, 5]


def test_it_can_be_saved_again_and_sent_to_another_process(loaded: Vocabulary, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    loaded.save(tmp_path / "again")
    assert list(Vocabulary.load(tmp_path / "again")) == list(BIRDS)
    sent = pickle.loads(pickle.dumps(loaded))
    assert list(sent) == list(BIRDS)
    assert sent.resolve("Owls") == 1


def test_every_field_is_stored_beside_labels_that_lack_it(tmp_path: Path) -> None:
    labels = Vocabulary([*BIRDS, WHOLE])
    labels.save(tmp_path)
    assert list(Vocabulary.load(tmp_path)) == list(labels)
    assert Vocabulary.load(tmp_path)[7] == WHOLE
    stored = StoredLabels(read_state(tmp_path, "vocabulary"))
    assert list(stored.each("types")) == [()] * 7 + [WHOLE.types]
    assert any(stored.each("notation"))


def test_what_is_empty_everywhere_is_not_stored(loaded: Vocabulary, tmp_path: Path) -> None:
    assert list(loaded) == list(BIRDS)
    assert not list((tmp_path / "fields").rglob("*"))
    assert list(StoredLabels(read_state(tmp_path, "vocabulary")).each("types")) == [()] * 7


def test_what_many_labels_share_is_stored_once(tmp_path: Path) -> None:
    kinds = [("http://t/Topic",), ("http://t/Topic", "http://t/Place"), (), ("http://t/Place",), ("http://t/Topic",)]
    labels = Vocabulary(Label(str(place), ("x",), types=types) for place, types in enumerate(kinds))
    labels.save(tmp_path)
    assert len(np.load(tmp_path / "fields" / "types" / "texts" / "text.npy")) == len(
        "http://t/Topic" + "http://t/Place"
    )
    loaded = Vocabulary.load(tmp_path)
    assert [label.types for label in loaded] == kinds
    assert loaded[1].types == kinds[1]


@settings(deadline=None, max_examples=50)
@given(texts=st.lists(st.text(st.characters(), max_size=5), max_size=30, unique=True))
def test_texts_are_found_where_they_are(texts: list[str]) -> None:
    index = again(StringIndex.of(texts))
    assert index.texts == texts
    assert index == {text: position for position, text in enumerate(texts)}
    assert [index.get(text, -1) for text in (*texts, "another text")] == [*range(len(texts)), -1]
    assert index.texts[3:1:-1] == tuple(texts[3:1:-1])


def test_an_index_in_which_many_texts_were_searched_need_not_search_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text {number}" for number in range(100)]
    index = again(StringIndex.of(texts))
    for _ in range(100):
        assert [index.get(text) for text in (texts[0], texts[99], "other", "")] == [0, 99, None, None]
    monkeypatch.setattr(Lookup, "find", None)
    assert [index.get(text) for text in (texts[0], texts[99], "other", "")] == [0, 99, None, None]
    assert index.get("other", -1) == -1


def test_texts_of_one_checksum_are_told_apart() -> None:
    texts = ["plumless", "buckeroo"]  # 1306201125, both
    assert [list(Lookup.of(texts).find(text, texts.__getitem__)) for text in texts] == [[0], [1]]
    assert [*map(StringIndex.of(texts).get, (texts[1], "plum", texts[0]))] == [1, None, 0]


def test_ends_whose_differences_overflow_are_refused() -> None:
    most = 2**63 - 1  # the differences, 64 bits each: most, 1, most, 6
    matrix = csr_matrix(np.ones((4, 1), np.float32))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), np.array([0, most, -most - 1, -1, 4])
    with pytest.raises(ValueError, match="no sparse matrix"):
        matrix_of(matrix_state(matrix))


def test_damaged_text_is_refused_when_it_is_read() -> None:
    table = StringTable(np.frombuffer(b"\xff", np.uint8), np.array([1]))
    with pytest.raises(ModelError, match="a saved text is damaged"):
        table[0]
