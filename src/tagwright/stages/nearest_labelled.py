"""Suggest the labels of the labelled documents whose words are most similar (k nearest neighbours)."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from tagwright.core.saved import read_array, read_manifest, read_number, write_arrays, write_manifest
from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix, check_indptr, read_matrix, write_matrix
from tagwright.data.string_table import check_places
from tagwright.types import Distribution, Document, Floats, Label, Retriever, Run, places_of

NEIGHBOURS = 50
"Labelled documents that are asked: cosines weight them, so that more change little."


class NearestLabelled(Retriever):
    """Candidates by the labels of the most similar labelled documents. A types.Retriever.

    features: (labelled documents, words) CSR, the TF-IDF vector of each, of norm 1. gold: their labels, a row each. The
    score of a label is the sum of the cosines of the `neighbours` most similar documents that have it.
    """

    distribution: Distribution = "sparse"

    def __init__(
        self,
        labels: Sequence[Label],
        bag: BagOfWords,
        features: Matrix,
        gold: Run,
        k: int = 100,
        neighbours: int = NEIGHBOURS,
    ) -> None:
        self.labels, self.bag, self.features, self.gold = labels, bag, features, gold
        self.k, self.neighbours = k, neighbours

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels of the nearest labelled documents, for each document."""
        from sparse_dot_topn import sp_matmul_topn

        texts = self.bag.transform(document.text for document in documents)
        cosines = sp_matmul_topn(texts, self._postings, top_n=self.neighbours, sort=True)
        votes = (cosines.tocsr() @ self._votes).tocsr()
        return Run.of(votes.indptr, votes.indices, votes.data)

    def find(self, reading: Run) -> Run:
        """The k labels of largest score of each document; none for a document without known words."""
        return reading.top(self.k)

    def score(self, reading: Run, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate; 0 for a label that no neighbour has."""
        return reading.scores_of(candidates)

    def with_labels(self, labels: Sequence[Label]) -> "NearestLabelled":
        """Return a copy for another vocabulary: documents keep the remaining labels by id; new labels score 0."""
        gold = self.gold.moved(places_of(self.labels, labels))
        return NearestLabelled(labels, self.bag, self.features, gold, self.k, self.neighbours)

    def save(self, folder: Path) -> None:
        """Write the words, and the vectors and labels of the labelled documents."""
        write_manifest(folder, "nearest labelled documents", {"k": self.k, "neighbours": self.neighbours})
        (folder / "words").mkdir()
        self.bag.save(folder / "words")
        write_matrix(folder, self.features)
        write_arrays(folder, {"gold": self.gold.labels, "gold-indptr": self.gold.indptr})

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is damaged or does not fit."""
        manifest = read_manifest(folder, "nearest labelled documents")
        k, neighbours = (read_number(folder, manifest, name) for name in ("k", "neighbours"))
        bag = BagOfWords.load(folder / "words")
        indptr = read_array(folder, "gold-indptr", np.int64, (None,))
        gold = read_array(folder, "gold", np.int32, (None,))
        check_indptr(folder / "gold-indptr.npy", indptr, len(gold))
        check_places(folder / "gold.npy", gold, len(labels))
        features = read_matrix(folder, (len(indptr) - 1, len(bag.words)))
        return cls(labels, bag, features, Run(indptr, gold, np.ones(len(gold), np.float32)), k, neighbours)

    @cached_property
    def _postings(self) -> Matrix:
        """(words, labelled documents)."""
        return self.features.T.tocsr()

    @cached_property
    def _votes(self) -> Matrix:
        """(labelled documents, labels) 1 where a document has a label."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.gold.labels), np.float32)
        return csr_matrix((ones, self.gold.labels, self.gold.indptr), (len(self.gold), len(self.labels)))
