"""The largest products of sparse vectors, by hand and beside scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random_array

from tagwright.data.sparse_arrays import largest_cells, largest_products


def test_by_hand() -> None:
    queries = csr_matrix(np.array([[1, 2], [0, 3]], np.float32))
    items = csr_matrix(np.array([[1, 0, -1], [0, 2, 1]], np.float32))  # products 1 4 1 and 0 6 3
    found = largest_products(queries, items, 2, threshold=1.5)
    assert [row.tolist() for row in np.split(found.labels, found.indptr[1:-1])] == [[1], [1, 2]]
    assert found.scores.tolist() == [4, 6, 3]


@pytest.mark.parametrize("count", [1, 24])
def test_few_and_many_queries_agree_with_the_dense_product(count: int) -> None:
    shape, rng = (count, 30), np.random.default_rng(0)
    queries = csr_matrix(random_array(shape, density=0.5, rng=rng, dtype=np.float32))
    items = csr_matrix(random_array((30, 40), density=0.5, rng=rng, dtype=np.float32))
    found, dense = largest_products(queries, items, 5), queries.toarray() @ items.toarray()
    assert found.labels.reshape(count, 5).tolist() == np.argsort(-dense, axis=1, kind="stable")[:, :5].tolist()
    np.testing.assert_allclose(found.scores.reshape(count, 5), -np.sort(-dense, axis=1)[:, :5], rtol=1e-5)


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 12), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_the_largest_of_each_row_are_found_with_all_equals_of_the_last(
    columns: int, rows: int, k: int, seed: int
) -> None:
    """Of numbers from 0 to 4, many are equal."""
    table = np.random.default_rng(seed).integers(5, size=(rows, columns)).astype(np.float32)
    found = set(largest_cells(table, k).tolist())
    for row, numbers in enumerate(table.tolist()):
        least = sorted(numbers, reverse=True)[:k][-1]
        assert {row * columns + place for place, number in enumerate(numbers) if number >= least} <= found
