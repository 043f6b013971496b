from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random, vstack

from tagwright.data.bags import BagOfWords
from tagwright.stages.linear import mapped_matrix
from tagwright.stages.linear.mapped_matrix import blocks, count_rows, release, write_parts, write_transposed

PARTS = [random(rows, 20, 0.2, "csr", np.float32, np.random.default_rng(rows)) for rows in (5, 1, 30)]
WHOLE = vstack(PARTS, format="csr")


def test_parts_become_one_matrix_whose_numbers_stay_in_a_file(tmp_path: Path) -> None:
    found = write_parts(PARTS, 20, tmp_path)
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(found, name), getattr(WHOLE, name)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    base: object = found.data
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)


def test_columns_become_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.array([0, 3, 19])
    expected = WHOLE.toarray()[:, columns].T
    for block in (1, 7, 100):
        monkeypatch.setattr(mapped_matrix, "BLOCK", block)
        found = write_transposed(WHOLE, columns, tmp_path)
        assert found.has_sorted_indices
        np.testing.assert_array_equal(found.toarray(), expected)
        np.testing.assert_array_equal(count_rows(WHOLE), (WHOLE.toarray() != 0).sum(0))


def test_blocks_are_the_rows_in_turn_and_can_be_read_again_after_they_were_given_back(tmp_path: Path) -> None:
    found = write_parts(PARTS, 20, tmp_path)
    for _ in range(2):
        parts = [(start, block.toarray()) for start, block in blocks(found, 10)]
        assert [start for start, _ in parts] == [0, 10, 20, 30]
        np.testing.assert_array_equal(np.vstack([part for _, part in parts]), WHOLE.toarray())
    release(found)
    release(WHOLE)  # nothing to give back
    np.testing.assert_array_equal(found.toarray(), WHOLE.toarray())


def test_a_matrix_without_numbers_and_one_without_rows(tmp_path: Path) -> None:
    for rows in (0, 3):
        empty = write_parts([csr_matrix((rows, 4), dtype=np.float32)], 4, tmp_path)
        assert (empty.shape, empty.nnz) == ((rows, 4), 0)
        assert write_transposed(empty, np.arange(2), tmp_path).shape == (2, rows)


def test_the_parts_of_texts_are_the_rows_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["bees fly", "bees sting", "wasps sting", "", "wasps fly and bees fly"]
    bag = BagOfWords.of(texts)
    monkeypatch.setattr("tagwright.data.bags.TEXTS", 2)
    assert [part.shape[0] for part in bag.parts(texts)] == [2, 2, 1]
    assert vstack(list(bag.parts(texts))).toarray().tolist() == bag.transform(texts).toarray().tolist()
