"""Describe each label by numbers from its name and from an unlabelled corpus.

A label that is a candidate for every document is rarely right, and so is a label that is similar to none of them. Gold
labels are not needed.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.types import Floats, Label, Longs, Run, places_of

FIRST = 10
"Depth of a ranking to count labels in."


@dataclass(frozen=True, slots=True, eq=False)
class LabelCounts:
    """Document counts of labels. documents: size of the corpus. counts: name -> (labels,)."""

    documents: int
    counts: Mapping[str, Longs]

    def features(self) -> dict[str, Floats]:
        """Return log(1 + count) for each kind of count."""
        return {name: np.log1p(each).astype(np.float32) for name, each in self.counts.items()}

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> "LabelCounts":
        """Return the counts for another vocabulary, by label id; 0 for a new label."""
        old = places_of(labels, before)  # of a new label -1, the 0 at the end
        return LabelCounts(self.documents, {name: np.append(each, 0)[old] for name, each in self.counts.items()})


def count_labels(ranked: Run, runs: Mapping[str, Run], labels: int) -> LabelCounts:
    """Count the documents with each label: in the first ten, in the first ten of each retriever, and in its whole run.

    ranked: the corpus ranked by the fixed sum. runs: of the retrievers, by name. labels: size of the vocabulary.

    >>> runs = Run.from_rows([{0: 0.9, 2: 0.8}, {2: 0.7}])
    >>> {name: each.tolist() for name, each in count_labels(runs, {"dense": runs}, 3).counts.items()}
    {'first ten': [1, 0, 2], 'first ten of dense': [1, 0, 2], 'found by dense': [1, 0, 2]}
    """

    def count(run: Run) -> Longs:
        return np.bincount(run.labels, minlength=labels)

    counts = {"first ten": count(ranked.top(FIRST))}
    counts |= {f"first ten of {name}": count(run.top(FIRST)) for name, run in runs.items()}
    counts |= {f"found by {name}": count(run) for name, run in runs.items()}
    return LabelCounts(len(ranked), counts)


def label_properties(labels: Sequence[Label]) -> dict[str, Floats]:
    """Numbers (labels,): words and characters of the preferred name, names, length of the description, depth, narrower.

    All but the words and the depth are logarithms, log(1 + x).
    """
    sizes = [(len(label.name), len(label.names), len(label.description)) for label in labels]
    characters, names, described = np.log1p(np.array(sizes, np.float32).reshape(-1, 3)).T
    broader = _broader(labels)
    narrower = np.bincount([above for each in broader for above in each], minlength=len(labels))
    return {
        "words": np.array([len(label.name.split()) for label in labels], np.float32),
        "characters": characters,
        "names": names,
        "description": described,
        "depth": _depths(broader),
        "narrower": np.log1p(narrower).astype(np.float32),
    }


def _broader(labels: Sequence[Label]) -> list[list[int]]:
    """The places of the labels above each, as far as they are in the vocabulary."""
    place = {label.id: number for number, label in enumerate(labels)}
    return [[place[above] for above in label.broader if above in place] for label in labels]


def _depths(broader: Sequence[Sequence[int]]) -> Floats:
    """(labels,) steps on the shortest way to a label that has none above it; 0 too for those in cycles."""
    narrower: list[list[int]] = [[] for _ in broader]
    for label, above in enumerate(broader):
        for each in above:
            narrower[each].append(label)
    depth = {label: 0 for label, above in enumerate(broader) if not above}
    ahead = deque(depth)
    while ahead:
        label = ahead.popleft()
        for below in narrower[label]:
            if below not in depth:
                depth[below] = depth[label] + 1
                ahead.append(below)
    return np.array([depth.get(label, 0) for label in range(len(broader))], np.float32)
