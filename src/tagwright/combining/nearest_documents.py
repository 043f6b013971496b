"""Features from an unlabelled corpus: how its documents nearest to another one rank that one's candidates.

What a document only touches upon, its neighbours do not bring up; what it is about, they often do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.combining.features import reciprocal_ranks_within
from tagwright.types import Floats, Label, Longs, Run

COUNT = 10
"How many of the nearest documents are asked."

SAME = 0.999
"From this cosine on two documents are one text: it is no second opinion on itself."

BLOCK = 1 << 9
"Documents that are compared with the corpus at once."


@dataclass(frozen=True, slots=True, eq=False)
class NearestDocuments:
    """A corpus to ask. vectors: (documents, dim), each of norm 1, or 0 where there is no text. run: its labels."""

    vectors: Floats
    run: Run

    def support(self, vectors: Floats, candidates: Run) -> dict[str, Floats]:
        """What the nearest documents say of each candidate, two numbers (suggestions,).

        vectors: (documents, dim) of the documents of the candidates. reciprocal rank: the mean, over the documents
        asked, of 1 / rank of the label there, 0 where it is no candidate. share: of how many it is one.
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

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> NearestDocuments:
        """The same documents over other labels: those that are gone are left out."""
        place = {label.id: number for number, label in enumerate(labels)}
        new = np.array([place.get(label.id, -1) for label in before], np.int64)[self.run.labels]
        kept = self.run.keep(new >= 0)
        return NearestDocuments(self.vectors, Run.of(kept.indptr, new[new >= 0], kept.scores))

    def _nearest(self, vectors: Floats) -> tuple[Longs, Longs]:
        """(documents, 10) the nearest documents of each, -1 where there are no more, and (documents,) how many."""
        found = np.full((len(vectors), COUNT), -1)
        for start in range(0, len(vectors), BLOCK):
            cosines = vectors[start : start + BLOCK] @ self.vectors.T
            cosines[cosines >= SAME] = 0.0
            order = np.argsort(-cosines, axis=1, kind="stable")[:, :COUNT]
            asked = np.where(np.take_along_axis(cosines, order, axis=1) > 0, order, -1)
            found[start : start + BLOCK, : asked.shape[1]] = asked
        return found, (found >= 0).sum(axis=1)
