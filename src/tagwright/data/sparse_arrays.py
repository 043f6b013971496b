"""Keep sparse matrices as arrays that are memory-mapped, and find the largest products of sparse vectors."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tagwright.core.workers import usable_cores
from tagwright.types import Floats, Longs, Run

Matrix: TypeAlias = Any
"A scipy.sparse.csr_matrix; scipy has no types and is imported where it is needed."


def matrix_state(matrix: Matrix) -> dict[str, Any]:
    """Return what a saved CSR matrix is made of."""
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    return {**parts, "shape": list(matrix.shape)}


def matrix_of(state: Mapping[str, Any]) -> Matrix:
    """Make the CSR matrix of a saved state. Raises ValueError for one that is damaged."""
    from scipy.sparse import csr_matrix

    data, indices, indptr = (state[name] for name in ("data", "indices", "indptr"))
    if not 0 <= indptr.min() <= indptr.max() <= len(data):  # else the differences, which scipy checks, may overflow
        raise ValueError("no sparse matrix: its rows do not lie in its data")
    matrix = csr_matrix((data, indices, indptr), tuple(state["shape"]))
    matrix.check_format()  # products read wherever the numbers point
    return matrix


def run_state(run: Run, labels: int) -> dict[str, Any]:
    """Return what a saved run over this number of labels is made of."""
    from scipy.sparse import csr_matrix

    return matrix_state(csr_matrix((run.scores, run.labels, run.indptr), (len(run), labels)))


def run_of(state: Mapping[str, Any]) -> Run:
    """Make the run of a saved state. Raises ValueError for one that is damaged."""
    matrix = matrix_of(state)
    return Run(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)


def largest_products(queries: Matrix, items: Matrix, k: int, threshold: float | None = None) -> Run:
    """The items of the k largest products with each query, the largest first: (queries, words) by (words, items).

    Only products above the threshold, None: all that are not 0; of equal products at the cut an arbitrary one is kept.
    """
    from sparse_dot_topn import sp_matmul_topn

    # eight queries keep a thread busy; for fewer, starting another takes longer than it saves
    threads = min(usable_cores(), max(1, queries.shape[0] // 8))
    products = sp_matmul_topn(queries, items, top_n=k, threshold=threshold, n_threads=threads)
    count = int(products.indptr[-1])
    return Run.of_distinct(products.indptr, products.indices[:count], products.data[:count])


def largest_cells(table: Floats, k: int, margin: float = 0) -> Longs:
    """The places in `table.ravel()` of the k largest of each row, of all within a margin of the last, and a few more.

    The columns are divided into groups: of k groups each has a number as large as the k-th largest of their maxima, so
    the k largest are not below it. That takes a tenth of the time of `argpartition`.

    >>> table = np.array([[0.1, 0.9, 0.5], [0.4, 0.2, 0.4]], np.float32)
    >>> largest_cells(table, 1).tolist(), largest_cells(table, 1, margin=0.25).tolist()
    ([1, 3, 5], [1, 3, 4, 5])
    """
    rows, columns = table.shape
    if columns <= k:
        return np.arange(rows * columns)
    size = max(1, columns // (4 * k))  # of fewer groups, more other numbers are found too
    groups = columns // size
    maxima = table[:, : size * groups].reshape(rows, size, groups).max(axis=1)
    least = np.partition(maxima, groups - k, axis=1)[:, groups - k] - np.float32(margin)
    return np.flatnonzero(table >= least[:, None])
