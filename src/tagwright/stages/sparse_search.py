"""Find the items with the largest products with sparse vectors."""

from __future__ import annotations

import os

from tagwright.data.sparse_arrays import Matrix
from tagwright.types import Run

SHARE = 8
"Queries that keep a thread busy. For fewer, starting another takes longer than it saves."


def largest_products(queries: Matrix, items: Matrix, k: int, threshold: float | None = None) -> Run:
    """The items of the k largest products with each query, the largest first: (queries, words) by (words, items).

    Only products above the threshold, None: all that are not 0; of equal products at the cut an arbitrary one is kept.
    """
    from sparse_dot_topn import sp_matmul_topn

    threads = min(os.cpu_count() or 1, max(1, queries.shape[0] // SHARE))
    products = sp_matmul_topn(queries, items, top_n=k, threshold=threshold, n_threads=threads)
    found = int(products.indptr[-1])
    return Run.of(products.indptr, products.indices[:found], products.data[:found])
