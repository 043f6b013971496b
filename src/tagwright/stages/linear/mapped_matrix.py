"""Sparse matrices that need not fit into memory: written part by part, read block by block.

Up to 2**31 numbers, twenty million documents of a hundred words; beyond, scipy copies the columns into memory.
"""

import mmap
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagwright.data.sparse_arrays import Matrix
from tagwright.types import Longs

BLOCK = 1 << 12
"Rows that are read together."


def write_parts(parts: Iterable[Matrix], columns: int, folder: Path) -> Matrix:
    """(rows, columns) float32: the rows of all parts. folder: an existing one, for this matrix alone.

    8 bytes per row are in memory. Raises OSError when the disk is full.
    """
    ends = array("q", [0])
    with (folder / "data").open("wb") as data, (folder / "indices").open("wb") as indices:
        for part in parts:
            part.data.astype(np.float32, copy=False).tofile(data)
            part.indices.astype(np.int32, copy=False).tofile(indices)
            ends.frombytes((part.indptr[1:].astype(np.int64) + ends[-1]).tobytes())
    return _map_matrix(folder, np.frombuffer(ends, np.int64), columns)


def write_transposed(matrix: Matrix, columns: Longs, folder: Path) -> Matrix:
    """(columns, rows): these columns of the matrix as rows. folder, errors: as in `write_parts`."""
    counts = count_rows(matrix)[columns]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    files = (("data", np.float32), ("indices", np.int32))
    size = max(1, int(starts[-1]))  # an empty file cannot be mapped
    data, indices = (np.memmap(folder / name, dtype, "w+", shape=(size,)) for name, dtype in files)
    free = starts[:-1].copy()
    for start, block in blocks(matrix):
        part = block[:, columns].T.tocsr()
        held = np.diff(part.indptr)
        places = np.repeat(free - part.indptr[:-1], held) + np.arange(part.nnz)
        data[places], indices[places] = part.data, part.indices + start
        free += held
        _release(data)
        _release(indices)
    return _map_matrix(folder, starts, matrix.shape[0])


def count_rows(matrix: Matrix) -> Longs:
    """(columns,) how many rows hold each column."""
    counts = np.zeros(matrix.shape[1], np.int64)
    for _, block in blocks(matrix):
        counts += np.bincount(block.indices, minlength=len(counts))
    return counts


def blocks(matrix: Matrix, size: int | None = None) -> Iterator[tuple[int, Matrix]]:
    """The first row and the rows of each block, not copied, and given back to the system as soon as they are read."""
    from scipy.sparse import csr_matrix

    size = size or BLOCK
    for start in range(0, matrix.shape[0], size):
        ends = matrix.indptr[start : start + size + 1]
        part = slice(int(ends[0]), int(ends[-1]))
        shape = (len(ends) - 1, matrix.shape[1])
        yield start, csr_matrix((matrix.data[part], matrix.indices[part], ends - ends[0]), shape, copy=False)
        release(matrix)


def release(matrix: Matrix) -> None:
    """Give the pages of a memory-mapped matrix back: they no longer count as memory of this process."""
    _release(matrix.data)
    _release(matrix.indices)


def _map_matrix(folder: Path, indptr: Longs, columns: int) -> Matrix:
    from scipy.sparse import csr_matrix

    # Libraries ask for arrays that can be written to; a copy on write changes neither the file nor other processes.
    data, indices = _map(folder / "data", np.float32), _map(folder / "indices", np.int32)
    return csr_matrix((data, indices, indptr), (len(indptr) - 1, columns), copy=False)


def _map(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.zeros(0, dtype)
    return np.memmap(path, dtype, "c")


def _release(numbers: NDArray[Any]) -> None:
    base: object = numbers
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        base.madvise(mmap.MADV_DONTNEED)
