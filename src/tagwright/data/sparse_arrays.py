"""Keep sparse matrices as arrays that are memory-mapped, and find the largest products of sparse vectors."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagwright.core.saved import read_array, write_arrays
from tagwright.core.workers import usable_cores
from tagwright.data.string_table import check_ends, check_places
from tagwright.errors import ModelError
from tagwright.types import Floats, Longs, Run

Matrix: TypeAlias = Any
"A scipy.sparse.csr_matrix; scipy has no types and is imported where it is needed."


def write_matrix(folder: Path, matrix: Matrix) -> None:
    """Write `data.npy`, `indices.npy` and `indptr.npy`, the parts of a CSR matrix, into an existing folder."""
    write_arrays(folder, {name: getattr(matrix, name) for name in ("data", "indices", "indptr")})


def read_matrix(folder: Path, shape: tuple[int, int], dtype: DTypeLike = np.float32) -> Matrix:
    """Memory-map what `write_matrix` wrote. Raises ModelError when it is missing, damaged or of another shape."""
    from scipy.sparse import csr_matrix

    data = read_array(folder, "data", dtype, (None,))
    indices = read_array(folder, "indices", None, data.shape)
    indptr = read_array(folder, "indptr", None, (shape[0] + 1,))
    # scipy checks none of these, and reads wherever they point
    if not {indices.dtype, indptr.dtype} <= {np.dtype(np.int32), np.dtype(np.int64)}:
        raise ModelError(f"{folder}: damaged (no sparse matrix); save the model again")
    check_indptr(folder / "indptr.npy", indptr, len(data))
    check_places(folder / "indices.npy", indices, shape[1])
    return csr_matrix((data, indices, indptr), shape)


def check_indptr(path: Path, indptr: NDArray[np.integer], length: int) -> None:
    """Raise ModelError unless row i of something of this length is indptr[i]:indptr[i + 1]."""
    if not len(indptr) or indptr[0] != 0:
        raise ModelError(f"{path}: damaged (its rows do not begin at 0); save the model again")
    check_ends(path, indptr[1:], length)


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
