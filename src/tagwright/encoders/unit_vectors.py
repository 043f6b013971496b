"""Vectors of any norm in, of norm 1 out."""

from __future__ import annotations

import numpy as np

from tagwright.types import Floats


def unit(vectors: Floats) -> Floats:
    """Vectors (n, dim) scaled to length 1, in place; zero stays zero.

    >>> unit(np.array([[0, 2], [0, 0]], np.float32)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return vectors
