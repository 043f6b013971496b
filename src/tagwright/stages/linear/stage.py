"""Linear classifiers as a stage: labels by the words of their training documents, with these words as evidence.

The classifiers are trained by stages/linear/svm.py.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix, largest_products, matrix_of, matrix_state
from tagwright.stages.evidence import first_places, strongest_spans
from tagwright.text.words import word_spans, words
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Longs, Retriever, Run, places_of

SPANS = 5
"The most evidence spans of a label."

BOUNDARY = 1.0
"The score of a label whose decision value is 0."

CELLS = 1 << 23
"The most scores in memory at a time."


class Linear(Retriever):
    """Candidates by a linear SVM: the decision value of a label is weights @ words + bias. A types.Retriever.

    weights: (labels, words) float32 CSR, most of them 0. bias: (labels,) float32, -inf for a label without training
    documents. A score is the decision value plus 1, at least 0: 0 for a clear negative, 1 at the decision boundary, 2
    and more for a confident positive.
    """

    distribution: Distribution = "sparse"
    meaning = "words typical of its labelled documents"

    def __init__(self, labels: Sequence[Label], bag: BagOfWords, weights: Matrix, bias: Floats, k: int = 100) -> None:
        self.labels, self.bag, self.weights, self.bias, self.k = labels, bag, weights, bias, k

    def read(self, documents: Sequence[Document]) -> Matrix:
        """(documents, words) the TF-IDF vector of each document."""
        return self.bag.transform(document.text for document in documents)

    def find(self, reading: Matrix) -> Run:
        """The k labels of largest score that had training documents; none for a document without known words."""
        run = self.decisions(reading, self.k)
        kept = run.keep((run.scores > -1) & (np.diff(reading.indptr) > 0)[run.rows])
        return kept.rescored(kept.scores + BOUNDARY)

    def decisions(self, reading: Matrix, k: int) -> Run:
        """The k labels of largest decision value, whatever it is, that had training documents."""
        from scipy.sparse import csr_matrix, hstack

        ones = csr_matrix(np.ones((reading.shape[0], 1), np.float32))
        queries, k = hstack([reading, ones], format="csr"), max(1, min(k, len(self._known)))
        best = largest_products(queries, self._known_words, k, float(np.finfo(np.float32).min))
        return Run.of(best.indptr, self._known[best.labels], best.scores)

    def score(self, reading: Matrix, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate; 0 for a label that no training document had."""
        parts, step = [np.zeros(0, np.float32)], max(1, CELLS // max(1, len(self.bias)))
        for start in range(0, len(candidates), step):
            some = candidates.take(np.arange(start, min(start + step, len(candidates))))
            products = (reading[start : start + step] @ self._words).toarray()
            parts.append(products[some.rows, some.labels] + self.bias[some.labels])
        scores: Floats = np.maximum(np.concatenate(parts) + BOUNDARY, 0)
        return scores

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the first occurrence of the up to 5 words that add most to the score, with what they add."""
        reading, text = self.read([document]), document.text
        first = first_places(words(text), word_spans(text))
        evidence = list[tuple[EvidenceSpan, ...]]()
        for label in labels:
            added = reading.multiply(self.weights[[label]]).tocsr()
            parts = zip(added.indices.tolist(), added.data.tolist(), strict=True)
            spans = ((*first[self.bag.words[word]], part) for word, part in parts if part > 0)
            evidence.append(strongest_spans(spans, SPANS))
        return evidence

    def keywords(self, count: int) -> dict[str, tuple[str, ...]]:
        """The `count` words of largest weight above 0 of each label, the largest first, by its id (DEPL 3.2)."""
        found = dict[str, tuple[str, ...]]()
        for label, start, end in zip(self.labels, self.weights.indptr, self.weights.indptr[1:], strict=False):
            columns, weights = self.weights.indices[start:end], self.weights.data[start:end]
            order = np.lexsort((columns, -weights))[:count]
            found[label.id] = tuple(self.bag.words[int(word)] for word in columns[order[weights[order] > 0]])
        return found

    def with_labels(self, labels: Sequence[Label]) -> "Linear":
        """Return a copy for another vocabulary: weights are kept by id; new labels score 0."""
        places = places_of(labels, self.labels)
        weights = self.weights[np.maximum(places, 0)]
        weights.data[np.repeat(places < 0, np.diff(weights.indptr))] = 0
        weights.eliminate_zeros()
        bias = np.where(places < 0, np.float32(-np.inf), self.bias[places])
        return Linear(labels, self.bag, weights, bias, self.k)

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        model = {"weights": matrix_state(self.weights), "bias": self.bias}
        return {"k": self.k, "words": self.bag, "model": model}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state, for the same labels."""
        weights, bias = matrix_of(state["model"]["weights"]), state["model"]["bias"]
        return cls(labels, BagOfWords.from_state(state["words"]), weights, bias, state["k"])

    @cached_property
    def _known(self) -> Longs:
        """The labels with training documents."""
        return np.flatnonzero(np.isfinite(self.bias))

    @cached_property
    def _words(self) -> Matrix:
        return self.weights.T.tocsr()

    @cached_property
    def _known_words(self) -> Matrix:
        """(words + 1, known labels) the weights of the labels that have any, and their biases as one more word."""
        from scipy.sparse import csr_matrix, hstack

        biases = csr_matrix(self.bias[self._known][:, None])
        return hstack([self.weights[self._known], biases], format="csr").T.tocsr()
