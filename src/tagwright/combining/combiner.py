"""The interface of combiners: rank candidate labels by the scores of several stages (retrievers and re-rankers).

Also what a combiner says of a score: what each stage, or group of features, adds to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from tagwright.combining.pool import CandidatePool
from tagwright.errors import ConfigError
from tagwright.types import Doubles, Label, Mask, Run

if TYPE_CHECKING:
    from tagwright.combining.candidate_features import CandidateFeatures
    from tagwright.combining.weighted_sum import WeightedSum


class Combiner(Protocol):
    """Rank a pool of candidates by the scores of all stages; a combiner may also estimate confidences.

    To add one, write a frozen dataclass of typed options, and register it in your package as an entry point in the
    group `tagwright.combiners`. `save` stores the options, and arrays if there are any. Methods with a default here may
    be left out. This example ranks each candidate by its highest score in any stage:

        @dataclass(frozen=True, kw_only=True)
        class Best(Combiner):
            "Ranks candidates by their highest score in any stage, times the factor. Scores must share a scale."
            factor: float = 1.0

            estimates_confidence = False

            def check(self, retrievers, rerankers):
                if len(retrievers) + len(rerankers) < 2:
                    raise ConfigError("this combiner needs two stages or more; add one, or use the default combiner")

            def combine(self, pool):
                best = np.max([pool.scores(name) for name in pool.stages], axis=0)
                return pool.run.rescored(self.factor * best)  # with confidences: rescored(scores, confidences)

            def describe(self, stages):
                return f"the best of {', '.join(stages)}"

            def with_labels(self, before, labels):
                return self  # no parameter belongs to a label

            def save(self, folder):
                write_manifest(folder, "best score", {"options": asdict(self)})

            @classmethod
            def load(cls, folder, labels):
                return read_options(folder, cls, read_manifest(folder, "best score").get("options"))
    """

    @property
    def estimates_confidence(self) -> bool:
        """Whether `combine` returns confidences."""
        ...

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError if the combiner cannot combine these stages. Called when a tagger is made."""
        ...

    def combine(self, pool: CandidatePool) -> Run:
        """Return the ranking, with confidences if `estimates_confidence`. It may have candidates added or left out.

        A stage computes scores only when `pool.scores` is called for it.
        """
        ...

    def describe(self, stages: Collection[str]) -> str:
        """Return one line that describes the combination, such as "exact_match 0.5, tfidf 1; combined by evidence"."""
        ...

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary. Parameters of a label are kept if both vocabularies have its id."""
        ...

    def save(self, folder: Path) -> None:
        """Write the combiner into an existing empty folder; the caller moves the folder to its place atomically."""
        ...

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Load a combiner saved for the same labels. Raises ModelError when files are missing or damaged."""
        ...

    def explain(self, pool: CandidatePool) -> Contributions | None:  # noqa: ARG002
        """Return what each stage or group of features adds to the scores; None if the combiner cannot say."""
        return None

    def calibrated(self, ranked: Run, right: Mask) -> Self:  # noqa: ARG002
        """Return a copy with confidences learned from its ranking of documents whose labels no stage has seen.

        right: (suggestions,) whether each is. Returns itself if it learns none so; raises ConfigError without
        suggestions.
        """
        return self

    def label_free_for(self, labels: int) -> Self:  # noqa: ARG002
        """Return a copy with confidences without labelled documents, for this many labels; itself if it has none."""
        return self

    @property
    def weighted_sum(self) -> WeightedSum | None:
        """The weighted sum on top of which a combiner is learned from labels; None if this is not one."""
        return None

    @property
    def learned_features(self) -> CandidateFeatures | None:
        """The features of candidates that the combiner was trained with; None if it was not learned from labels."""
        return None

    def check_can_learn(self) -> None:
        """Raise ConfigError if nothing can be learned from labels on top of this combiner."""
        if self.weighted_sum is None and self.learned_features is None:
            raise ConfigError(
                f"the tagger combines its stages by {type(self).__name__}, expected a weighted sum or a learned "
                "combiner"
            )


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

    def aligned(self, candidates: Run) -> dict[str, Doubles]:
        """Return what each stage or group adds to other candidates of the same documents, (suggestions,) each."""
        head = self.candidates
        runs = (Run(head.indptr, head.labels, each.astype(np.float32)) for each in self.added.T)
        parts = (run.scores_of(candidates).astype(np.float64) for run in runs)
        return dict(zip(self.names, parts, strict=True))

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
