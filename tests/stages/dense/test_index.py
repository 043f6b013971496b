from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.saved import KIND, saved

from tagwright.core.saved import read_state
from tagwright.errors import ModelError
from tagwright.stages.dense import index as label_index
from tagwright.stages.dense.index import Index, Search, Storage, Vectors, recall
from tagwright.types import Floats


def unit_vectors(count: int, dim: int = 8, seed: int = 0) -> Floats:
    """Around a few centres, as labels are."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((10, dim))
    vectors = centres[generator.integers(10, size=count)] + 0.5 * generator.standard_normal((count, dim))
    unit: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 50), st.integers(1, 9))
@settings(deadline=None, max_examples=30)
def test_exact_search_finds_what_sorting_all_cosines_finds(count: int, queries: int, k: int, block: int) -> None:
    labels, texts = unit_vectors(count), unit_vectors(queries, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_index, "BLOCK", block)
        run = Vectors.of(labels, "float32").nearest(texts, k)
    cosines = texts @ labels.T
    for row, expected in enumerate(np.argsort(-cosines, axis=1)[:, :k]):
        found, scores = run[row]
        assert found.tolist() == expected.tolist()
        np.testing.assert_allclose(scores, cosines[row, expected], atol=1e-6)


@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("queries", [2, 7, 64, 300])
def test_which_vectors_are_nearest_does_not_depend_on_the_other_queries(queries: int, storage: Storage) -> None:
    """The same numbers in any order: the product of each with equal numbers is the same but for rounding."""
    rng = np.random.default_rng(0)
    vectors = Vectors.of(rng.permuted(np.repeat(unit_vectors(1, 384), 2000, axis=0), axis=1), storage)
    same = np.full((queries, 384), 384**-0.5, np.float32)
    alone = set(vectors.nearest(same[:1], 100).labels.tolist())
    assert all(set(labels.tolist()) == alone for labels, _ in vectors.nearest(same, 100))


def test_of_equal_vectors_the_first_are_nearest_however_many_queries() -> None:
    """Each vector is there 500 times; each query is nearest to one of them, whose first 300 are found."""
    some = unit_vectors(8, 384)
    vectors = Vectors.of(np.repeat(some, 500, axis=0), "float16")
    for count in (1, 2, 5, 8):
        run = vectors.nearest(some[:count], 300)
        for row, (labels, _) in enumerate(run):
            assert sorted(labels.tolist()) == list(range(500 * row, 500 * row + 300))


@pytest.mark.parametrize(("storage", "precision", "size"), [("float32", 0, 4), ("float16", 5e-4, 2)])
def test_stored_vectors_are_smaller_and_nearly_the_same(storage: Storage, precision: float, size: int) -> None:
    """Half precision rounds at 2^-11 of a number."""
    vectors = unit_vectors(100)
    stored = Vectors.of(vectors, storage)
    assert stored.codes.nbytes == size * vectors.size
    np.testing.assert_allclose(stored[:], vectors, atol=precision)


def test_vectors_of_known_texts_are_copied_and_those_of_others_encoded() -> None:
    one, other = Vectors.of(unit_vectors(4), "float16"), Vectors.of(unit_vectors(2, seed=1), "float16")
    moved = one.moved("abcd", "eadfe", lambda new: other if new == ["e", "f"] else one)
    np.testing.assert_array_equal(moved[:], np.concatenate([one[:], other[:]])[[4, 0, 3, 5, 4]])
    assert moved.codes.base is None


@pytest.mark.parametrize("block", [1, 2, 100], ids=["pair by pair", "two pairs", "all labels at once"])
def test_cosines_of_pairs_are_computed_in_blocks(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(label_index, "BLOCK", block)
    labels, texts = unit_vectors(5), unit_vectors(2, seed=1)
    pairs, rows = np.array([0, 0, 1, 1, 0]), np.array([4, 1, 1, 0, 4])
    cosines = Vectors.of(labels, "float32").cosines(texts, pairs, rows)
    expected = [texts[0] @ labels[4], texts[0] @ labels[1], texts[1] @ labels[1], texts[1] @ labels[0]]
    np.testing.assert_allclose(cosines, [*expected, texts[0] @ labels[4]], atol=1e-6)


def test_an_index_finds_most_of_the_nearest_and_gives_their_exact_cosines() -> None:
    vectors, texts = Vectors.of(unit_vectors(2000), "float16"), unit_vectors(50, seed=1)
    run = Index.build(vectors, 16).nearest(vectors, texts, 10)
    assert recall(run, vectors.nearest(texts, 10)) > 0.9
    np.testing.assert_allclose(run.scores, (texts[run.rows] * vectors[run.labels]).sum(axis=1), atol=1e-6)


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.9, 0.96, 0.99, 1.0])
def test_at_most_twice_the_lists_that_suffice_are_searched(monkeypatch: pytest.MonkeyPatch, wanted: float) -> None:
    monkeypatch.setattr(label_index, "RECALL", wanted)
    vectors = Vectors.of(unit_vectors(2000), "float32")
    queries, found = label_index._made_up_queries(vectors, 256), Index.build(vectors, 64)
    exact = vectors.nearest(queries, 10)

    chosen = found.faiss.nprobe

    def suffices(lists: int) -> bool:
        found.faiss.nprobe = lists
        return recall(found.nearest(vectors, queries, 10), exact) >= wanted

    least = next(filter(suffices, range(1, 65)))
    assert least <= chosen < 2 * least + (least == 1)


@pytest.mark.parametrize(("k", "proposed"), [(10, 20), (100, 200), (500, 600)])
def test_an_index_proposes_at_most_twice_and_at_most_a_hundred_more(k: int, proposed: int) -> None:
    vectors, texts = Vectors.of(unit_vectors(2000), "float32"), unit_vectors(3, seed=1)
    index = Index.build(vectors, 16)
    index.faiss.nprobe = 16
    counted = Mock(wraps=index.faiss)
    run = Index(counted).nearest(vectors, texts, k)
    assert run.indptr.tolist() == [0, k, 2 * k, 3 * k]
    counted.search.assert_called_once_with(texts, proposed)


def test_vectors_and_index_are_memory_mapped(tmp_path: Path) -> None:
    vectors, texts = Vectors.of(unit_vectors(1000), "float16"), unit_vectors(20, seed=1)
    index = Index.build(vectors, 16)
    index.faiss.nprobe = 4
    search = Search.from_state(saved(Search(vectors, "ivf", index), tmp_path), "ivf")
    mapped, mapped_index = search.vectors, search.index
    assert mapped_index
    assert not mapped.codes.flags.owndata  # but the file
    assert mapped_index.faiss.nprobe == 4
    np.testing.assert_array_equal(mapped[:], vectors[:])
    expected = index.nearest(vectors, texts, 5)
    assert mapped_index.nearest(mapped, texts, 5).labels.tolist() == expected.labels.tolist()


def test_a_damaged_index_is_refused(tmp_path: Path) -> None:
    vectors = Vectors.of(unit_vectors(1000), "float32")
    saved(Search(vectors, "ivf", Index.build(vectors, 16)), tmp_path)
    path = tmp_path / "index" / "index.faiss"
    whole = path.read_bytes()
    for content in (whole[:2000], whole[:-1] + b"\0\0", b""):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"is damaged \(the (size|checksum) of index/index.faiss differs\)"):
            read_state(tmp_path, KIND)
    path.unlink()
    with pytest.raises(ModelError, match="is missing"):
        read_state(tmp_path, KIND)
