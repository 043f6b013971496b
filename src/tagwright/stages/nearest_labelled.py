"""Suggest the labels of the labelled documents that are most similar (k nearest neighbours), by words or by meaning."""

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix, matrix_of, matrix_state, run_of, run_state
from tagwright.stages.evidence import FindsAtOnce
from tagwright.types import Distribution, Document, Floats, Label, Run, places_of

NEIGHBOURS = 50
"Labelled documents that are asked: cosines weight them, so that more change little."

SHARPNESS = 4
"""The power of a cosine by which a document near in meaning votes: vectors of any two texts are somewhat alike.
Compared with 1 on train documents of mdn, where 300 have labels."""

BLOCK = 256
"Documents that are compared with all labelled ones at a time."


class LabelledNeighbours(FindsAtOnce):
    """Candidates by the labels of the nearest labelled documents, each of which votes for its labels.

    gold: their labels, a row each. k: candidates of a document. neighbours: labelled documents that vote.
    """

    distribution: Distribution = "sparse"

    def __init__(self, labels: Sequence[Label], gold: Run, k: int, neighbours: int) -> None:
        self.labels, self.gold, self.k, self.neighbours = labels, gold, k, neighbours

    def with_labels(self, labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary: documents keep the remaining labels by id; new labels score 0."""
        other = copy.copy(self)
        other.labels, other.gold = labels, self.gold.moved(places_of(self.labels, labels))
        other.__dict__.pop("_voters", None)  # of the labels before
        return other

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {"k": self.k, "neighbours": self.neighbours, "gold": run_state(self.gold, len(self.labels))}

    @staticmethod
    def read_state(state: Mapping[str, Any]) -> tuple[Run, int, int]:
        """Return labels, k and neighbours of a saved state."""
        return run_of(state["gold"]), state["k"], state["neighbours"]

    @cached_property
    def _voters(self) -> Matrix:
        """(labelled documents, labels) 1 where a document has a label."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.gold.labels), np.float32)
        return csr_matrix((ones, self.gold.labels, self.gold.indptr), (len(self.gold), len(self.labels)))

    def _counted(self, similarities: Matrix) -> Run:
        """The votes by similarities (documents, labelled documents) of the neighbours."""
        votes = (similarities @ self._voters).tocsr()
        return Run.of(votes.indptr, votes.indices, votes.data)


class NearestLabelled(LabelledNeighbours):
    """Candidates by the labels of the labelled documents whose words are most similar. A types.Retriever.

    features: (labelled documents, words) CSR, the TF-IDF vector of each, of norm 1. The score of a label is the sum of
    the cosines of the `neighbours` most similar documents that have it.
    """

    meaning = "labels of labelled documents with similar words"

    def __init__(
        self,
        labels: Sequence[Label],
        bag: BagOfWords,
        features: Matrix,
        gold: Run,
        k: int = 100,
        neighbours: int = NEIGHBOURS,
    ) -> None:
        super().__init__(labels, gold, k, neighbours)
        self.bag, self.features = bag, features

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels of the nearest labelled documents, for each document."""
        from sparse_dot_topn import sp_matmul_topn

        texts = self.bag.transform(document.text for document in documents)
        return self._counted(sp_matmul_topn(texts, self._postings, top_n=self.neighbours, sort=True).tocsr())

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {**super().state(), "words": self.bag, "features": matrix_state(self.features)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state, for the same labels."""
        return cls(labels, BagOfWords.from_state(state["words"]), matrix_of(state["features"]), *cls.read_state(state))

    @cached_property
    def _postings(self) -> Matrix:
        """(words, labelled documents)."""
        return self.features.T.tocsr()


class NearestByMeaning(LabelledNeighbours):
    """Candidates by the labels of the labelled documents whose vectors are nearest. A types.Retriever.

    vectors: (labelled documents, dim) float16, of norm 1. shares: the dense stage of the tagger, by whose encoder these
    were made: what it reads is compared with them. The score of a label is the sum of the cosines of the `neighbours`
    nearest documents that have it, each to the power of `SHARPNESS`.
    """

    meaning = "labels of labelled documents close in meaning"

    def __init__(
        self,
        labels: Sequence[Label],
        vectors: NDArray[np.float16],
        gold: Run,
        k: int = 100,
        neighbours: int = NEIGHBOURS,
        shares: str = "dense",
    ) -> None:
        super().__init__(labels, gold, k, neighbours)
        self.vectors, self.shares = vectors, shares

    def read(self, documents: Sequence[Document]) -> Run:  # noqa: ARG002
        """Never called: `shares` names the stage that reads. Raises ValueError."""
        raise ValueError(f"nearest documents are found with what the stage {self.shares} reads, not with documents")

    def read_with(self, reading: Any) -> Run:
        """All labels of the nearest labelled documents, for each document. reading: of the dense stage."""
        from scipy.sparse import csr_matrix, vstack

        count = min(self.neighbours, len(self.gold))
        blocks = [csr_matrix((0, len(self.gold)), dtype=np.float32)]
        for start in range(0, len(reading.vectors), BLOCK):
            queries = reading.vectors[start : start + BLOCK] * reading.written[start : start + BLOCK, None]
            cosines = queries @ self._transposed
            nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
            cosines = np.einsum("ij,ikj->ik", queries, self.vectors[nearest].astype(np.float32))  # `@` rounds by rows
            votes = np.maximum(cosines, 0) ** SHARPNESS
            indptr = np.arange(0, nearest.size + 1, count)
            blocks.append(csr_matrix((votes.ravel(), nearest.ravel(), indptr), (len(queries), len(self.gold))))
        similarities: Matrix = vstack(blocks).tocsr()
        similarities.eliminate_zeros()
        return self._counted(similarities)

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {**super().state(), "vectors": self.vectors, "shares": self.shares}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state, for the same labels."""
        return cls(labels, state["vectors"], *cls.read_state(state), state["shares"])

    @cached_property
    def _transposed(self) -> Floats:
        """(dim, labelled documents)."""
        return np.ascontiguousarray(self.vectors.T, np.float32)
