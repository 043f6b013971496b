"""Describe candidates by what an unlabelled corpus and the vocabulary tell of their labels; gold labels are not needed.

A label that is a candidate for every document is rarely right, and so is one that is similar to none of them. Similar
documents often share the subjects of a document, but not the subjects that it only mentions.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.combining.fusion import reciprocal_ranks_within
from tagwright.types import Floats, Label, Longs, Run, places_of

FIRST = 10
"Depth of a ranking to count labels in."

NEAREST = 10
"Number of nearest documents to use."

SAME = 0.999
"Documents with at least this cosine are the same text, and not used as neighbours."

BLOCK = 1 << 9
"Number of documents compared with the corpus at a time."


def count_labels(ranked: Run, runs: Mapping[str, Run], labels: int) -> dict[str, Longs]:
    """Count the documents with each label: in the first ten, in the first ten of each retriever, and in its whole run.

    ranked: the corpus ranked by the fixed sum. runs: of the retrievers, by name. labels: size of the vocabulary.
    Returns (labels,) for each kind of count.

    >>> runs = Run.from_rows([{0: 0.9, 2: 0.8}, {2: 0.7}])
    >>> {name: each.tolist() for name, each in count_labels(runs, {"dense": runs}, 3).items()}
    {'first ten': [1, 0, 2], 'first ten of dense': [1, 0, 2], 'found by dense': [1, 0, 2]}
    """

    def count(run: Run) -> Longs:
        return np.bincount(run.labels, minlength=labels)

    return {
        "first ten": count(ranked.top(FIRST)),
        **{f"first ten of {name}": count(run.top(FIRST)) for name, run in runs.items()},
        **{f"found by {name}": count(run) for name, run in runs.items()},
    }


def label_properties(labels: Sequence[Label]) -> dict[str, Floats]:
    """Numbers (labels,): words and characters of the preferred name, names, length of the description, depth, narrower.

    All but the words and the depth are logarithms, log(1 + x).
    """
    sizes = [(len(label.name), len(label.names), len(label.description)) for label in labels]
    characters, names, described = np.log1p(np.array(sizes, np.float32).reshape(-1, 3)).T
    place = {label.id: number for number, label in enumerate(labels)}
    broader = [[place[above] for above in label.broader if above in place] for label in labels]
    narrower = np.bincount([above for parents in broader for above in parents], minlength=len(labels))
    return {
        "words": np.array([len(label.name.split()) for label in labels], np.float32),
        "characters": characters,
        "names": names,
        "description": described,
        "depth": _depths(broader),
        "narrower": np.log1p(narrower).astype(np.float32),
    }


def _depths(broader: Sequence[Sequence[int]]) -> Floats:
    """(labels,) steps on the shortest way to a label that has none above it; 0 too for those in cycles."""
    narrower: list[list[int]] = [[] for _ in broader]
    for label, above in enumerate(broader):
        for parent in above:
            narrower[parent].append(label)
    depth = {label: 0 for label, above in enumerate(broader) if not above}
    ahead = deque(depth)
    while ahead:
        label = ahead.popleft()
        for below in narrower[label]:
            if below not in depth:
                depth[below] = depth[label] + 1
                ahead.append(below)
    return np.array([depth.get(label, 0) for label in range(len(broader))], np.float32)


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
        nearest = np.full((len(vectors), NEAREST), -1)
        for start in range(0, len(vectors), BLOCK):
            cosines = vectors[start : start + BLOCK] @ self.vectors.T
            cosines[cosines >= SAME] = 0.0
            order = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
            asked = np.where(np.take_along_axis(cosines, order, axis=1) > 0, order, -1)
            nearest[start : start + BLOCK, : asked.shape[1]] = asked
        return nearest, (nearest >= 0).sum(axis=1)
