"""Weights of linear classifiers over bags of words, after training.

Training reads hard negatives and keywords off them; the stages score with them. They are trained by
stages/linear/svm.py.
"""

from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from tagwright.core.saved import read_array, read_manifest, read_number, write_arrays, write_manifest
from tagwright.data.sparse_arrays import Matrix, largest_products, read_matrix, write_matrix
from tagwright.errors import ModelError
from tagwright.types import Floats, Longs, Run

CELLS = 1 << 23
"The most scores in memory at a time."


class LinearModel:
    """One weight per label and word, most of them 0: the score of a label is weights @ words + bias.

    weights: (labels, words) float32 CSR. bias: (labels,) float32, -inf for a label without training documents.
    """

    def __init__(self, weights: Matrix, bias: Floats) -> None:
        self.weights, self.bias = weights, bias

    @cached_property
    def known(self) -> Longs:
        """The labels with training documents."""
        return np.flatnonzero(np.isfinite(self.bias))

    def scores(self, features: Matrix, k: int) -> Run:
        """The k labels of largest score for each row of features (documents, words).

        Only labels with training documents. A score above 0 means yes, one below -1 a clear no; labels are returned
        whatever their score.
        """
        from scipy.sparse import csr_matrix, hstack

        ones = csr_matrix(np.ones((features.shape[0], 1), np.float32))
        queries, k = hstack([features, ones], format="csr"), max(1, min(k, len(self.known)))
        best = largest_products(queries, self._known_words, k, float(np.finfo(np.float32).min))
        return Run.of(best.indptr, self.known[best.labels], best.scores)

    def score(self, features: Matrix, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate; -inf for a label without training documents."""
        parts, step = [np.zeros(0, np.float32)], max(1, CELLS // max(1, len(self.bias)))
        for start in range(0, len(candidates), step):
            some = candidates.take(np.arange(start, min(start + step, len(candidates))))
            products = (features[start : start + step] @ self._words).toarray()
            parts.append(products[some.rows, some.labels] + self.bias[some.labels])
        return np.concatenate(parts)

    def keywords(self, label: int, k: int) -> list[int]:
        """DEPL 3.2: the k words of largest weight above 0, the largest first; fewer if there are fewer."""
        start, end = self.weights.indptr[label], self.weights.indptr[label + 1]
        words, weights = self.weights.indices[start:end], self.weights.data[start:end]
        order = np.lexsort((words, -weights))[:k]
        return [int(word) for word in words[order[weights[order] > 0]]]

    def take(self, labels: Longs) -> "LinearModel":
        """The model of these labels, in this order; -1: a label without training documents."""
        chosen = self.weights[np.maximum(labels, 0)]
        chosen.data[np.repeat(labels < 0, np.diff(chosen.indptr))] = 0
        chosen.eliminate_zeros()
        return LinearModel(chosen, np.where(labels < 0, np.float32(-np.inf), self.bias[labels]))

    def save(self, folder: Path) -> None:
        """Write into an existing folder."""
        write_manifest(folder, "linear model", {"words": self.weights.shape[1]})
        write_matrix(folder, self.weights)
        write_arrays(folder, {"bias": self.bias})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Memory-map what `save` wrote. Raises ModelError when it is missing or damaged."""
        words = read_number(folder, read_manifest(folder, "linear model"), "words")
        bias = _read_bias(folder)
        return cls(read_matrix(folder, (len(bias), words)), bias)

    @cached_property
    def _words(self) -> Matrix:
        return self.weights.T.tocsr()

    @cached_property
    def _known_words(self) -> Matrix:
        """(words + 1, known labels) the weights of the labels that have any, and their biases as one more word."""
        from scipy.sparse import csr_matrix, hstack

        biases = csr_matrix(self.bias[self.known][:, None])
        return hstack([self.weights[self.known], biases], format="csr").T.tocsr()


def _read_bias(folder: Path) -> Floats:
    """(labels,) finite, or -inf for a label without training documents."""
    bias: Floats = read_array(folder, "bias", np.float32, (None,), finite=False)
    if np.isnan(bias).any() or (bias == np.inf).any():
        raise ModelError(f"{folder / 'bias.npy'}: cannot be read (holds no numbers); save the model again")
    return bias
