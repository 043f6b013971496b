"""Choose a meta-path to learn from without gold labels: how close its neighbourhoods are to shared labels.

MICoL leaves the choice to the user; its Appendix A.1 says what a good one is. Learning from pairs of documents that
share labels would be supervised, so a good meta-path joins the same pairs: the Jensen-Shannon divergence between the
two distributions of d+ is small. Confident labels of a zero-shot tagger take the place of the gold labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import InputError, setting
from tagwright.graph.neighbours import Neighbours
from tagwright.graph.network import MEASURED_WALKS, Graph
from tagwright.types import Longs, Run

SAMPLE = 1000
"Documents over which the divergence is averaged."

BATCH = 64
"Documents whose partners are in memory at the same time."

_PLUS = re.compile(r'"[^"]*"|(\s\+\s)')
"A quoted name of a field, which may hold anything, or a plus between meta-paths."


@dataclass(frozen=True, slots=True)
class PathEstimate:
    """How well a meta-path approximates shared labels, averaged over documents that share a label with another.

    divergence: Eq. 17, from 0 to log 2; a document without neighbours counts log 2. share: of these documents, those
    with neighbours. precision: of a document's neighbours, those that share a label with it (Property 1). recall: of
    the documents that share a label with it, its neighbours (Property 2). documents: how many were measured.
    """

    expression: str
    divergence: float
    share: float
    precision: float
    recall: float
    documents: int


def rank_paths(
    graph: Graph, labels: Run, expressions: Sequence[str] | None = None, *, seed: int = 0
) -> list[PathEstimate]:
    """Estimate the divergence of each meta-path, the smallest first.

    The three counts of Eq. 17 are exact for each document: its neighbours, the documents that share a label with it,
    and those that are both. Documents are sampled: the same thousand for every meta-path or, for a meta-path with hubs,
    as many as take a few seconds.

    labels: a row for each document of the graph, such as the best few labels of a tagger. expressions: by default all
    usual meta-paths that join two documents. Raises InputError when there are none, or no two documents share a label.
    """
    expressions = graph.joining() if expressions is None else expressions
    if not expressions:
        fields = f"metadata {', '.join(graph.fields)}" if graph.fields else "no metadata"
        problem = f"no usual meta-path joins two of the {graph.documents} documents, which have {fields}"
        raise InputError(f"{problem}; learn from their text instead: {setting('pairs', 'names')}")
    partners = _Partners(labels)
    sample = partners.sample(seed)
    if not len(sample):
        raise InputError(f"no two of {graph.documents} documents share a label that was suggested; name a meta-path")
    found = [_estimate(graph.follow(expression), partners, sample) for expression in expressions]
    return sorted(found, key=lambda estimate: estimate.divergence)


def split_paths(expression: str) -> list[str]:
    """The meta-paths of a combination (A.5): those between " + ".

    >>> split_paths('P->P<-P + P-"a + b"-P')
    ['P->P<-P', 'P-"a + b"-P']
    """
    pluses = [match.span() for match in _PLUS.finditer(expression) if match[1]]
    starts, ends = [0, *(end for _, end in pluses)], [*(start for start, _ in pluses), len(expression)]
    return [expression[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def divergence(x: NDArray[np.floating], y: NDArray[np.floating], both: NDArray[np.floating]) -> NDArray[np.float64]:
    """MICoL Eq. 17: the Jensen-Shannon divergence of drawing from a neighbourhood and from documents of shared labels.

    Both are uniform, so the sums over documents are counts: x neighbours, y documents of shared labels (at least 1),
    `both` the number in both sets; (documents,), natural log. Without neighbours: log 2, the maximum.

    Equal sets: 0. Of two sets of 1 with nothing shared: 1/2 log 2 twice. One of one neighbour among two documents of
    shared labels: 1/2 log(2/3) + 1/2 log(4/3) + 1/2 (1/2) log(1 + 2) = 0.2158.

    >>> x, y, both = np.array([[3.0, 1.0, 1.0, 0.0], [3.0, 1.0, 2.0, 1.0], [3.0, 0.0, 1.0, 0.0]])
    >>> divergence(x, y, both).round(4)
    array([0.    , 0.6931, 0.2158, 0.6931])
    """
    some = np.maximum(x, 1)
    neighbourhood = np.log(2 * some / (some + y)) + (some - both) / some * np.log1p(some / y)
    partners = np.log(2 * y / (some + y)) + (y - both) / y * np.log1p(y / some)
    found: NDArray[np.float64] = np.where(x > 0, (neighbourhood + partners) / 2, np.log(2))
    return found


def _estimate(neighbours: Neighbours, partners: _Partners, sample: Longs) -> PathEstimate:
    walks = neighbours.walks[sample]
    sample = sample[np.cumsum(walks) - walks < MEASURED_WALKS]
    counts = [
        (len(near), len(sharing), len(np.intersect1d(near, sharing, assume_unique=True)))
        for near, sharing in zip(neighbours.lists(sample), partners(sample), strict=True)
    ]
    x, y, both = np.array(counts, np.float64).T
    some = x > 0
    return PathEstimate(
        expression=neighbours.expression,
        divergence=float(divergence(x, y, both).mean()),
        share=float(some.mean()),
        precision=float((both[some] / x[some]).mean()) if some.any() else 0.0,
        recall=float((both / y).mean()),
        documents=len(sample),
    )


class _Partners:
    """The documents that share a label with a document, without the document itself."""

    def __init__(self, labels: Run) -> None:
        from scipy import sparse

        width = int(labels.labels.max(initial=0)) + 1
        ones = np.ones(len(labels.labels), np.int32)
        self._labels: Any = sparse.csr_array((ones, labels.labels, labels.indptr), (len(labels), width))
        self._documents: Any = self._labels.T.tocsr()

    def sample(self, seed: int) -> Longs:
        """Documents that have a partner, at most SAMPLE of them, drawn at random."""
        common = np.diff(self._documents.indptr) > 1
        able = np.flatnonzero(self._labels @ common.astype(np.int32))
        return np.random.default_rng(seed).permutation(able)[:SAMPLE]

    def __call__(self, documents: Longs) -> Iterator[Longs]:
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            rows = self._labels[batch] @ self._documents
            for document, shared in zip(batch.tolist(), np.split(rows.indices, rows.indptr[1:-1]), strict=True):
                yield np.asarray(shared[shared != document], np.int64)
