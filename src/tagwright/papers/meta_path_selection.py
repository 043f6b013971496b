"""Choose a meta-path without gold labels: estimate how often its neighbours share labels.

MICoL leaves the choice to the user; its Appendix A.1 defines a good meta-path. Pairs of documents that share labels
would be the best to learn from, but need gold labels. So a good meta-path joins about the same pairs: the
Jensen-Shannon divergence between the two distributions of d+ is small. Confident labels of a zero-shot tagger replace
the gold labels.

A field with few values, such as the year or the type of a document, joins nearly everything. Its neighbourhoods contain
the documents that share a label, which Eq. 17 rewards, and teach nothing: such paths come last.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import InputError, setting
from tagwright.graph.neighbours import Neighbours
from tagwright.graph.network import MEASURED_WALKS, Graph
from tagwright.types import Longs, Run

SAMPLE = 1000
"Number of documents to average the divergence over."

BATCH = 64
"Number of documents whose partners are in memory at a time."

HUB = 2
"A path leads through hubs if its neighbours do not share labels this many times as often as documents at random."


PathEstimate: TypeAlias = tuple[bool, float, str]
"""How well a meta-path approximates shared labels, averaged over documents that share a label with another.

First whether it leads through hubs: the neighbours share labels hardly more often than any documents, as those of one
year do. Then the divergence of Eq. 17, from 0 to log 2, which it is for a document without neighbours. Last the path.
"""


def rank_paths(
    graph: Graph, labels: Run, expressions: Sequence[str] | None = None, *, seed: int = 0
) -> list[PathEstimate]:
    """Estimate the divergence of each meta-path, the smallest first, those through hubs after all others.

    Each document has exact counts for Eq. 17: neighbours, documents with a shared label, and both. Documents are
    sampled: the same thousand for every meta-path; fewer for a meta-path with hubs, to take a few seconds only.

    labels: a row for each document of the graph, such as the best few labels of a tagger. expressions: all usual
    meta-paths that join two documents if None. Raises InputError if there are none, or no two documents share a label.
    """
    expressions = graph.joining() if expressions is None else expressions
    if not expressions:
        fields = f"metadata {', '.join(graph.fields)}" if graph.fields else "no metadata"
        problem = f"no usual meta-path joins two of the {graph.documents} documents, which have {fields}"
        raise InputError(f"{problem}; learn from their text instead: {setting('pairs', 'names')}")
    sharing = _matrix(labels)
    able = np.flatnonzero(sharing @ (sharing.sum(axis=0) > 1))  # share a label with another document
    sample = np.random.default_rng(seed).permutation(able)[:SAMPLE]
    if not len(sample):
        raise InputError(f"no two of {graph.documents} documents share a suggested label; name a meta-path")
    estimates = [_estimate(graph.follow(expression), sharing, sample) for expression in expressions]
    return sorted(estimates, key=lambda estimate: estimate[:2])


def split_paths(expression: str) -> list[str]:
    """Split a combination of meta-paths (A.5) at " + ".

    >>> split_paths('P->P<-P + P-"a + b"-P')
    ['P->P<-P', 'P-"a + b"-P']
    """
    either = r'"[^"]*"|(\s\+\s)'  # a quoted name of a field, which may hold anything, or a plus between meta-paths
    pluses = [match.span() for match in re.finditer(either, expression) if match[1]]
    starts, ends = [0, *(end for _, end in pluses)], [*(start for start, _ in pluses), len(expression)]
    return [expression[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def divergence(x: NDArray[np.floating], y: NDArray[np.floating], both: NDArray[np.floating]) -> NDArray[np.float64]:
    """MICoL Eq. 17: Jensen-Shannon divergence between drawing neighbours and drawing documents with a shared label.

    Both are uniform, so the sums over documents are counts: x neighbours, y documents with a shared label (at least 1),
    `both` the number in both sets; (documents,), natural log. Without neighbours: log 2, the maximum.

    Equal sets: 0. Two disjoint sets of 1: 1/2 log 2 twice. One neighbour, which is one of two documents with a shared
    label: 1/2 log(2/3) + 1/2 log(4/3) + 1/2 (1/2) log(1 + 2) = 0.2158.

    >>> x, y, both = np.array([[3.0, 1.0, 1.0, 0.0], [3.0, 1.0, 2.0, 1.0], [3.0, 0.0, 1.0, 0.0]])
    >>> divergence(x, y, both).round(4)
    array([0.    , 0.6931, 0.2158, 0.6931])
    """
    some = np.maximum(x, 1)
    neighbourhood = np.log(2 * some / (some + y)) + (some - both) / some * np.log1p(some / y)
    partners = np.log(2 * y / (some + y)) + (y - both) / y * np.log1p(y / some)
    means: NDArray[np.float64] = np.where(x > 0, (neighbourhood + partners) / 2, np.log(2))
    return means


def _estimate(neighbours: Neighbours, labels: Matrix, sample: Longs) -> PathEstimate:
    walks = neighbours.walks[sample]
    sample = sample[np.cumsum(walks) - walks < MEASURED_WALKS]
    counts = [
        (len(near), len(sharing), len(np.intersect1d(near, sharing, assume_unique=True)))
        for near, sharing in zip(neighbours.lists(sample), _partners(labels, sample), strict=True)
    ]
    x, y, both = np.array(counts, np.float64).T
    some = x > 0
    precision = float((both[some] / x[some]).mean()) if some.any() else 0.0
    chance = float(y.mean()) / (len(neighbours) - 1)
    return precision < HUB * chance, float(divergence(x, y, both).mean()), neighbours.expression


def _matrix(run: Run) -> Matrix:
    """(documents, labels) 1 where the run has the label."""
    from scipy import sparse

    width = int(run.labels.max(initial=0)) + 1
    return sparse.csr_array((np.ones(len(run.labels), np.int32), run.labels, run.indptr), (len(run), width))


def _partners(labels: Matrix, documents: Longs) -> Iterator[Longs]:
    """The documents that share a label with each of these, without the document itself."""
    of_labels = labels.T.tocsr()
    for start in range(0, len(documents), BATCH):
        batch = documents[start : start + BATCH]
        rows = labels[batch] @ of_labels
        for document, shared in zip(batch.tolist(), np.split(rows.indices, rows.indptr[1:-1]), strict=True):
            yield np.asarray(shared[shared != document], np.int64)
