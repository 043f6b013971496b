"""Sparse matrices in, arrays that are memory-mapped out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tagwright.data.string_table import check_ends, check_places
from tagwright.store import read_array, write_arrays

Matrix = Any
"A scipy.sparse.csr_matrix; scipy has no types and is imported where it is needed."


def write_matrix(folder: Path, matrix: Matrix) -> None:
    """Write `data.npy`, `indices.npy` and `ends.npy`, where each row ends, into an existing folder."""
    write_arrays(folder, {"data": matrix.data, "indices": matrix.indices, "ends": matrix.indptr[1:].astype(np.int64)})


def read_matrix(folder: Path, shape: tuple[int, int], dtype: DTypeLike = np.float32) -> Matrix:
    """Memory-map what `write_matrix` wrote. Raises ModelError when it is missing, damaged or of another shape."""
    from scipy.sparse import csr_matrix

    data = read_array(folder, "data", dtype, (None,))
    indices = read_array(folder, "indices", np.int32, data.shape)
    ends = read_array(folder, "ends", np.int64, shape[:1])
    check_ends(folder / "ends.npy", ends, len(data))
    check_places(folder / "indices.npy", indices, shape[1])
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    return csr_matrix((data, indices, starts if len(data) >= 1 << 31 else starts.astype(np.int32)), shape, copy=False)
