"""Train a linear SVM for each label over the same documents: exact solutions from a few documents each.

The SVM of a label is min 1/2 |w|^2 + 1/2 b^2 + C sum loss(y (w x + b)) over all documents. Documents with a margin y (w
x + b) of 1 or more have no loss, and leaving them out does not change the solution. So liblinear solves each label on a
working set: the positive documents, the most similar negatives, and random negatives. One product then scores all
documents, for many labels at a time. Documents with a margin below 1 - TOLERANCE join the working set, until there are
none. This is the solution for all documents: a document that misses the margin by at most the tolerance would change
no margin by more than about the tolerance.

Working sets stay small. The duals of the negatives sum up to those of the positives, minus b; for the squared hinge a
margin of 1 - TOLERANCE has the dual 2 C TOLERANCE, so a working set cannot hold many negatives.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from tagwright.data.sparse_arrays import Matrix
from tagwright.types import Floats, Ints, Longs

Loss: TypeAlias = Literal["hinge", "squared_hinge"]

Weights: TypeAlias = tuple[Ints, Floats]
"The words whose weight is not 0, and their weights."

_NOTHING: Weights = np.zeros(0, np.int32), np.zeros(0, np.float32)

TOLERANCE = 0.02
"""How far below 1 the margin of an omitted document may be: P@k is that of scikit-learn within 0.4 points on tib;
larger values are faster and less accurate."""

NEAR, FAR = 192, 128
"Negatives in the initial working set: similar ones, and random ones."

JOIN = 256
"Maximum number of documents that join a working set in a round; a larger set may double."

TOGETHER, CELLS = 128, 1 << 24
"Maximum number of labels scored together, and of weights in memory: a float32 for each word of each label."

PART = 1 << 21
"Scores computed at a time."

SHORT = 8
"As a rule, at most one score in this many is above the limit; all scores above it are in memory together."

TELLING = 0.02
"Search similar documents by words that occur in at most this share of the documents."

STEPS = 100_000
"Maximum number of passes of liblinear over a working set; it takes about 30."


Postings: TypeAlias = tuple[Longs, Matrix]
"An inverted index of rare words: their columns, ascending, and (words, documents) float32 CSR."


def postings_of(features: Matrix) -> Postings:
    """Index the features (documents, words)."""
    counts = np.bincount(features.indices, minlength=features.shape[1])
    words = np.flatnonzero(counts <= max(TELLING * features.shape[0], 2))
    return words, features[:, words].T.tocsr()


def solve(
    features: Matrix,
    postings: Postings,
    positives: Sequence[Ints],
    *,
    loss: Loss,
    cost: float,
    prune: float = 0.0,
    seed: int = 0,
) -> tuple[Matrix, Floats]:
    """Train the SVM of each label. Returns (labels, words) float32 CSR weights and (labels,) biases.

    features: (documents, words) float32 CSR. postings: their index. positives: the documents of each label. prune:
    as in `SvmOptions`. A label that all documents have gets weights 0 and bias 1.
    """
    from sklearn.svm import LinearSVC

    documents, words = features.shape
    svm = LinearSVC(loss=loss, C=cost, tol=TOLERANCE / 2, dual=True, max_iter=STEPS, random_state=seed)
    sets, bias = _first_sets(features, postings, positives, seed), np.zeros(len(positives), np.float32)
    weights = [_NOTHING] * len(positives)
    active = list(range(len(positives)))
    together = max(1, min(TOGETHER, CELLS // words, SHORT * CELLS // documents))
    while active:
        lacking: list[int] = []
        for batch in (active[start : start + together] for start in range(0, len(active), together)):
            columns = np.zeros((words, len(batch)), np.float32)
            for row, label in enumerate(batch):
                chosen = features[sets[label]].astype(np.float64)
                weights[label], bias[label] = _fit(svm, chosen, len(positives[label]))
                columns[weights[label][0], row] = weights[label][1]
            limits = TOLERANCE - 1 - bias[batch]
            for row, joining in _find_joining(features, columns, [sets[label] for label in batch], limits):
                sets[batch[row]] = np.concatenate([sets[batch[row]], joining])
                lacking.append(batch[row])
        active = lacking
    trained = _rows([chosen for chosen, _ in weights], [values for _, values in weights], words)
    trained.data[np.abs(trained.data) < prune] = 0
    trained.eliminate_zeros()
    return trained, bias


def _first_sets(features: Matrix, postings: Postings, positives: Sequence[Ints], seed: int) -> list[Ints]:
    """Return the initial working set of each label; the positives come first."""
    from sparse_dot_topn import sp_matmul_topn

    documents = features.shape[0]
    far = np.random.default_rng(seed).choice(documents, min(FAR, documents), replace=False)
    words, weights = postings
    sets: list[Ints] = []
    together = max(1, min(TOGETHER, CELLS // (NEAR + max(map(len, positives)))))
    for start in range(0, len(positives), together):
        some = positives[start : start + together]
        sums = (_rows(some, [np.ones(len(own), np.float32) for own in some], documents) @ features)[:, words]
        near = sp_matmul_topn(sums, weights, top_n=NEAR + max(map(len, some)), sort=True)
        for row, own in enumerate(some):
            alike = near.indices[near.indptr[row] : near.indptr[row + 1]]
            alike = alike[~np.isin(alike, own)][:NEAR]
            sets.append(np.concatenate([own, np.setdiff1d(np.union1d(alike, far), own)]).astype(np.int32))
    return sets


def _fit(svm: Any, features: Matrix, positives: int) -> tuple[Weights, float]:
    """Return weights and bias. The first rows are the positives; without negatives: no weights, bias 1."""
    from sklearn import config_context

    if positives == features.shape[0]:
        return _NOTHING, 1.0
    with config_context(assume_finite=True, skip_parameter_validation=True):  # a fit is faster than its checks
        svm.fit(features, np.arange(features.shape[0]) < positives)
    words = np.flatnonzero(svm.coef_[0])
    return (words.astype(np.int32), svm.coef_[0][words].astype(np.float32)), float(svm.intercept_[0])


def _find_joining(
    features: Matrix, columns: Floats, sets: Sequence[Ints], limits: Floats
) -> Iterator[tuple[int, Ints]]:
    """Yield each label whose working set must grow, with the documents of highest score that join it.

    columns: (words, labels) weights. limits: (labels,) documents with higher scores belong to the working set.
    """
    documents, labels, scores = _find_exceeding(features, columns, limits)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(len(sets) + 1))
    for label, chosen in enumerate(sets):
        own = order[starts[label] : starts[label + 1]]
        own = own[~np.isin(documents[own], chosen)]
        most = max(JOIN, len(chosen))
        if len(own) > most:
            own = own[np.argpartition(scores[own], -most)[-most:]]
        if len(own):
            yield label, documents[own]


def _find_exceeding(features: Matrix, columns: Floats, limits: Floats) -> tuple[Ints, Ints, Floats]:
    """Return documents, labels and values of all scores above the limits, by document. See `_find_joining`."""
    documents, labels, scores = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    size = max(1, PART // columns.shape[1])
    for start in range(0, features.shape[0], size):
        products = features[start : start + size] @ columns
        rows, columns_above = np.nonzero(products > limits)
        documents.append((rows + start).astype(np.int32))
        labels.append(columns_above.astype(np.int32))
        scores.append(products[rows, columns_above])
    return np.concatenate(documents), np.concatenate(labels), np.concatenate(scores)


def _rows(indices: Sequence[Ints], values: Sequence[Floats], width: int) -> Matrix:
    """Build a CSR matrix (rows, width) from the column indices and values of each row."""
    from scipy.sparse import csr_matrix

    indptr = np.cumsum([0, *map(len, indices)])
    return csr_matrix((np.concatenate(values), np.concatenate(indices), indptr), shape=(len(indices), width))
