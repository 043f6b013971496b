"""Scale vectors to norm 1."""

from __future__ import annotations

import numpy as np

from tagwright.types import Floats


def unit(vectors: Floats) -> Floats:
    """Vectors (n, dim) scaled to length 1, in place; zero stays zero.

    >>> unit(np.array([[0, 2], [0, 0]], np.float32)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))  # as np.linalg.norm, but without all squares in memory
    vectors /= np.maximum(norms, np.finfo(np.float32).tiny)[:, None]
    return vectors
