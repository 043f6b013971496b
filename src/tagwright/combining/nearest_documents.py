"""Compute features from an unlabelled corpus: how the documents most similar to a document rank its candidates.

Similar documents often share the subjects of a document, but not the subjects that it only mentions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.combining.features import reciprocal_ranks_within
from tagwright.types import Floats, Label, Longs, Run, places_of

COUNT = 10
"Number of nearest documents to use."

SAME = 0.999
"Documents with at least this cosine are the same text, and not used as neighbours."

BLOCK = 1 << 9
"Number of documents compared with the corpus at a time."


@dataclass(frozen=True, slots=True, eq=False)
class NearestDocuments:
    """A corpus. vectors: (documents, dim), of norm 1, or 0 without text. run: the ranked labels of each document."""

    vectors: Floats
    run: Run

    def support(self, vectors: Floats, candidates: Run) -> dict[str, Floats]:
        """Return two features of each candidate from the nearest documents, each (suggestions,).

        vectors: (documents, dim) of the documents of the candidates. reciprocal rank: mean of 1 / rank of the label in
        the nearest documents, 0 where it is no candidate. share: share of the nearest documents with this candidate.
        """
        ranks = Run(self.run.indptr, self.run.labels, reciprocal_ranks_within(self.run, self.run.scores))
        nearest, counts = self._nearest(vectors)
        total, times = np.zeros((2, len(candidates.labels)), np.float32)
        for asked in nearest.T if len(self.run) else ():
            known = ranks.take(np.maximum(asked, 0)).scores_of(candidates) * (asked >= 0)[candidates.rows]
            total += known
            times += known > 0
        counted = np.maximum(counts, 1).astype(np.float32)[candidates.rows]
        return {"reciprocal rank": total / counted, "share": times / counted}

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> "NearestDocuments":
        """Return the same documents for another vocabulary, without the labels it lacks."""
        return NearestDocuments(self.vectors, self.run.moved(places_of(before, labels)))

    def _nearest(self, vectors: Floats) -> tuple[Longs, Longs]:
        """Return the nearest documents of each, (documents, 10) padded with -1, and their number, (documents,)."""
        found = np.full((len(vectors), COUNT), -1)
        for start in range(0, len(vectors), BLOCK):
            cosines = vectors[start : start + BLOCK] @ self.vectors.T
            cosines[cosines >= SAME] = 0.0
            order = np.argsort(-cosines, axis=1, kind="stable")[:, :COUNT]
            asked = np.where(np.take_along_axis(cosines, order, axis=1) > 0, order, -1)
            found[start : start + BLOCK, : asked.shape[1]] = asked
        return found, (found >= 0).sum(axis=1)
