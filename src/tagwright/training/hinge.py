"""Linear SVMs of many labels over the same documents: exact, although each is trained on few of the documents.

The SVM of a label is min 1/2 |w|^2 + 1/2 b^2 + C sum loss(y (w x + b)) over all documents. Documents whose margin y (w
x + b) is 1 or more have no loss, and without them the solution is the same. So each label is solved by liblinear on a
working set: the documents that have it, the most similar others, and some at random to represent the rest. One product
then scores all documents, for many labels at a time; those whose margin is below 1 - tolerance join the set, until none
is left. Then the solution is that of all documents: to leave out documents that lack at most the tolerance changes no
margin by more than about that.

The sets stay small. The duals of the documents without the label sum up to those of the documents with it, minus b;
for the squared hinge a margin of 1 - tolerance has the dual 2 C tolerance, so there cannot be many of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from tagwright.data.sparse_arrays import Matrix
from tagwright.types import Floats, Ints

Loss: TypeAlias = Literal["hinge", "squared_hinge"]

Weights: TypeAlias = tuple[Ints, Floats]
"The words whose weight is not 0, and their weights."

_NOTHING: Weights = np.zeros(0, np.int32), np.zeros(0, np.float32)

NEAR, FAR = 192, 128
"Documents without the label in the initial working set: similar ones, and random ones."

JOIN = 256
"The most documents that join a working set in a round, unless it is larger itself."

TOGETHER, CELLS = 128, 1 << 24
"The most labels that are scored together: a float32 per word and per document for each label."

TELLING = 0.02
"Similar documents are found by words that at most this share of the documents holds."

STEPS = 100_000
"The most passes of liblinear over a working set; it takes about 30."


def solve(
    features: Matrix,
    positives: Sequence[Ints],
    *,
    loss: Loss,
    cost: float,
    tolerance: float,
    prune: float = 0.0,
    seed: int = 0,
) -> tuple[Matrix, Floats]:
    """(labels, words) float32 CSR weights and (labels,) biases, given the documents that have each label.

    features: (documents, words) float32 CSR. tolerance, prune: as in `SvmOptions`. A label of all documents depends on
    no word: weights 0, bias 1.
    """
    from scipy.sparse import csr_matrix
    from sklearn.svm import LinearSVC

    documents, words = features.shape
    precise = csr_matrix((features.data.astype(np.float64), features.indices, features.indptr), shape=features.shape)
    svm = LinearSVC(loss=loss, C=cost, tol=tolerance / 2, dual=True, max_iter=STEPS, random_state=seed)
    sets, bias = _first_sets(features, positives, seed), np.zeros(len(positives), np.float32)
    weights = [_NOTHING] * len(positives)
    active, together = list(range(len(positives))), max(1, min(TOGETHER, CELLS // max(documents, words)))
    while active:
        lacking: list[int] = []
        for batch in (active[start : start + together] for start in range(0, len(active), together)):
            columns = np.zeros((words, len(batch)), np.float32)
            for row, label in enumerate(batch):
                weights[label], bias[label] = _fit(svm, precise[sets[label]], len(positives[label]))
                columns[weights[label][0], row] = weights[label][1]
            scores = features @ columns
            for row, joining in _joining(scores, [sets[label] for label in batch], tolerance - 1 - bias[batch]):
                sets[batch[row]] = np.concatenate([sets[batch[row]], joining])
                lacking.append(batch[row])
        active = lacking
    found = _rows([chosen for chosen, _ in weights], [values for _, values in weights], words)
    found.data[np.abs(found.data) < prune] = 0
    found.eliminate_zeros()
    return found, bias


def _first_sets(features: Matrix, positives: Sequence[Ints], seed: int) -> list[Ints]:
    """The first working set of each label, the documents that have it first."""
    from sparse_dot_topn import sp_matmul_topn

    documents, words = features.shape
    holding = np.bincount(features.indices, minlength=words)
    telling = features[:, np.flatnonzero(holding <= max(TELLING * documents, 2))]
    postings = telling.T.tocsr()
    far = np.random.default_rng(seed).choice(documents, min(FAR, documents), replace=False)
    sets: list[Ints] = []
    for start in range(0, len(positives), TOGETHER):
        some = positives[start : start + TOGETHER]
        sums = _rows(some, [np.ones(len(own), np.float32) for own in some], documents) @ telling
        near = sp_matmul_topn(sums, postings, top_n=NEAR + max(map(len, some)), sort=True)
        for row, own in enumerate(some):
            alike = near.indices[near.indptr[row] : near.indptr[row + 1]]
            alike = alike[~np.isin(alike, own)][:NEAR]
            sets.append(np.concatenate([own, np.setdiff1d(np.union1d(alike, far), own)]).astype(np.int32))
    return sets


def _fit(svm: Any, features: Matrix, positives: int) -> tuple[Weights, float]:
    """Weights and bias, where the first documents have the label; without any other, no weights and bias 1."""
    from sklearn import config_context

    if positives == features.shape[0]:
        return _NOTHING, 1.0
    with config_context(assume_finite=True, skip_parameter_validation=True):  # a fit is faster than its checks
        svm.fit(features, np.arange(features.shape[0]) < positives)
    found = np.flatnonzero(svm.coef_[0])
    return (found.astype(np.int32), svm.coef_[0][found].astype(np.float32)), float(svm.intercept_[0])


def _joining(scores: Floats, sets: Sequence[Ints], limits: Floats) -> Iterator[tuple[int, Ints]]:
    """The labels whose working sets lack documents, and a few of these documents each.

    Those above the limit, the highest first.

    scores: (documents, labels), changed here. limits: (labels,).
    """
    for label, chosen in enumerate(sets):
        scores[chosen, label] = -np.inf
    documents, labels = np.divmod(np.flatnonzero(scores > limits), len(sets))
    order = np.argsort(labels, kind="stable")
    documents, labels = documents[order], labels[order]
    starts = np.searchsorted(labels, np.arange(len(sets) + 1))
    for label in np.flatnonzero(np.diff(starts)).tolist():
        found, most = documents[starts[label] : starts[label + 1]], max(JOIN, len(sets[label]))
        if len(found) > most:
            found = found[np.argpartition(scores[found, label], -most)[-most:]]
        yield label, found.astype(np.int32)


def _rows(indices: Sequence[Ints], values: Sequence[Floats], width: int) -> Matrix:
    """CSR (rows, width) with these values at these places of each row."""
    from scipy.sparse import csr_matrix

    indptr = np.cumsum([0, *map(len, indices)])
    return csr_matrix((np.concatenate(values), np.concatenate(indices), indptr), shape=(len(indices), width))
