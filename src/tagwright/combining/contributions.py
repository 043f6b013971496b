"""What each stage, or group of features, adds to the score of a candidate."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tagwright.types import Doubles, Run


class Contribution(NamedTuple):
    """What a stage or a group of features adds to the score of a suggestion: "dense", 0.41."""

    feature: str
    added: float


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """The contributions to the scores of candidates.

    candidates: in any order. names: of the stages and groups. added: (suggestions, names). What is added to a candidate
    and a constant, the same for all candidates of a document, are its score.
    """

    candidates: Run
    names: tuple[str, ...]
    added: Doubles

    def of(self, row: int, labels: Collection[int]) -> dict[int, tuple[Contribution, ...]]:
        """Return the contributions to the score of each of these labels of a document, the largest first.

        A label that is no candidate has none.

        >>> found = Contributions(Run.from_rows([{7: 3.0}]), ("svm", "dense"), np.array([[-1.0, 4.0]]))
        >>> found.of(0, [7, 8])
        {7: (Contribution(feature='dense', added=4.0), Contribution(feature='svm', added=-1.0)), 8: ()}
        """
        start, end = self.candidates.indptr[row : row + 2].tolist()
        places = {label: start + place for place, label in enumerate(self.candidates.labels[start:end].tolist())}
        return {label: self._at(places[label]) if label in places else () for label in labels}

    def _at(self, place: int) -> tuple[Contribution, ...]:
        values = self.added[place]
        order = np.argsort(-np.abs(values), kind="stable")
        return tuple(Contribution(self.names[each], float(values[each])) for each in order)


def centred(candidates: Run, added: Doubles) -> Doubles:
    """(suggestions, features) beside the mean candidate of the document: what is the same for all becomes 0.

    >>> centred(Run.from_rows([{1: 2.0, 2: 1.0}]), np.array([[5.0, 3.0], [5.0, 1.0]])).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    sizes = np.maximum(np.diff(candidates.indptr), 1)
    means = [np.bincount(candidates.rows, column, len(candidates)) / sizes for column in added.T]
    return added - np.stack(means, axis=1)[candidates.rows] if means else added


def grouped(names: Collection[str], added: Doubles) -> dict[str, Doubles]:
    """Add up the features of each group: "svm: score" and "svm: reciprocal rank" are of the group "svm".

    >>> added = np.array([[0.5, 1.0, 0.25]])
    >>> {name: each.tolist() for name, each in grouped(["svm: score", "dense: score", "svm: rank"], added).items()}
    {'svm': [0.75], 'dense': [1.0]}
    """
    sums = dict[str, Doubles]()
    for name, column in zip(names, added.T, strict=True):
        group = name.partition(": ")[0]
        sums[group] = sums[group] + column if group in sums else column.copy()
    return sums


def divided(whole: Doubles, parts: Mapping[str, Doubles]) -> tuple[dict[str, Doubles], Doubles]:
    """Divide what a sum adds among its parts, in proportion to each; returns the shares and what is left.

    Where the sum lowers a score, or all its parts are 0, none of them is to blame, and all is left.

    >>> shares, left = divided(np.array([6.0, -1.0]), {"tfidf": np.array([1.0, 1.0]), "dense": np.array([2.0, 0.0])})
    >>> {name: each.tolist() for name, each in shares.items()}, left.tolist()
    ({'tfidf': [2.0, 0.0], 'dense': [4.0, 0.0]}, [0.0, -1.0])
    """
    positive = {name: np.maximum(each, 0.0) for name, each in parts.items()}
    total = sum(positive.values(), np.zeros(len(whole)))
    divisible = (whole > 0) & (total > 0)
    rate = np.divide(whole, total, out=np.zeros(len(whole)), where=divisible)
    return {name: rate * each for name, each in positive.items()}, np.where(divisible, 0.0, whole)
