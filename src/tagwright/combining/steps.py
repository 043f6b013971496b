"""The steps of a ranking: each takes the ranking of the step before it and returns another.

A weighted sum comes first; labels may be appended, a learned combiner may rank anew, confidences are added, and a
language model may re-rank. Also what steps say of a score: what each stage, or group of features, adds to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.pool import CandidatePool
from tagwright.core.checked import build
from tagwright.types import Doubles, Floats, Label, Run


class Step(Protocol):
    """Turn a ranking of a pool of candidates into another one.

    To add one, write a frozen dataclass of typed options, and register it in your package as an entry point in the
    group `tagwright.steps`. Members with a default here may be left out; one that has more than options, as arrays,
    also writes `from_state`. This example ranks each candidate by its highest score in any stage:

        @dataclass(frozen=True, kw_only=True)
        class Best(Step):
            "Ranks candidates by their highest score in any stage, times the factor. Scores must share a scale."
            factor: float = 1.0

            def apply(self, pool, run):
                best = np.max([pool.scores(name) for name in pool.stages], axis=0)
                return pool.run.rescored(self.factor * best)

            def check(self, retrievers, rerankers):
                if len(retrievers) + len(rerankers) < 2:
                    raise ConfigError("this step needs two stages or more; add one, or use a weighted sum")
                return ()

            def describe(self, stages, before):
                return f"the best of {', '.join(stages)}"
    """

    def apply(self, pool: CandidatePool, run: Run) -> Run:
        """Return the new ranking. run: that of the step before; of the first step, the candidates of the pool.

        It may have candidates added or left out. A stage computes scores only when `pool.scores` is called for it.
        """
        ...

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:  # noqa: ARG002
        """Return what each stage or group of features adds to the new scores, and what made the confidences.

        run, before: the ranking that `apply` is given, and the same of it. A step that cannot say what it adds returns
        `Contributions.nothing(run)`.
        """
        return before

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> Collection[str]:  # noqa: ARG002
        """Return the stages that this step alone uses, which the pool of other steps does not show.

        Called when a tagger is made, with the stages that are left for this step. Raises ConfigError if the step
        cannot use them.
        """
        return ()

    def describe(self, stages: Collection[str], before: str) -> str:  # noqa: ARG002
        """Return one line that describes the ranking, such as "exact_match 0.5, tfidf 1; combined by evidence".

        before: the line of the step before.
        """
        return before

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:  # noqa: ARG002
        """Return a copy for another vocabulary. Parameters of a label are kept if both vocabularies have its id."""
        return self

    def state(self) -> Mapping[str, Any]:
        """Return what the step is made of, as `from_state` gets it back: see `core.saved`. By default, its fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:  # noqa: ARG003
        """Make the step of a saved state, for the same labels. By default, of fields that are options."""
        return build(cls, {field.name: state[field.name] for field in fields(cls)})  # type: ignore[arg-type]


S = TypeVar("S", bound=Step)

FIXED_SUM = "fixed sum"
"What the ranking that needs no labels adds to a score, in the features and contributions of a learned combiner."


def find_last(steps: Sequence[Step], kind: type[S]) -> S | None:
    """Return the last step of a kind; None where there is none."""
    return next((step for step in reversed(steps) if isinstance(step, kind)), None)


def before_last(steps: Sequence[Step], kind: type[Step]) -> tuple[Step, ...]:
    """Return the steps before the last one of a kind; all of them where there is none."""
    places = [place for place, step in enumerate(steps) if isinstance(step, kind)]
    return tuple(steps[: places[-1]]) if places else tuple(steps)


class Contribution(NamedTuple):
    """The share of a stage or a group of features in the score of a suggestion: "dense", 0.41."""

    feature: str
    added: float


class Estimate(NamedTuple):
    """What made a confidence. by: the curve or formula, in words. features: what it reads of the label, by name."""

    by: str
    features: tuple[tuple[str, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Return both, the features as a table."""
        return {"by": self.by, "features": dict(self.features)}


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """What made the confidences of a ranking. features: name -> (suggestions,) what is read of each of `ranked`.

    lowered_by: (documents,) the probability that no label fits, where that is likely and lowers confidences; else 0.
    """

    by: str
    ranked: Run
    features: Mapping[str, NDArray[np.generic]]
    lowered_by: Floats | None = None

    def of(self, row: int, labels: Collection[int]) -> dict[int, Estimate]:
        """Return what made the confidence of each of these labels of a document, as far as they are ranked.

        >>> found = Estimates("a curve", Run.from_rows([{7: 3.0}]), {"score": np.array([3.0])})
        >>> found.of(0, [7, 8])
        {7: Estimate(by='a curve', features=(('score', 3.0),))}
        >>> Estimates("a curve", found.ranked, {}, np.array([0.83])).of(0, [7])[7].by
        'a curve; lowered, as no label fits by 0.83'
        """
        none = 0.0 if self.lowered_by is None else float(self.lowered_by[row])
        by = f"{self.by}; lowered, as no label fits by {none:.2f}" if none else self.by
        places = _places(self.ranked, row)
        read = {label: places[label] for label in labels if label in places}
        return {
            label: Estimate(by, tuple((name, float(values[place])) for name, values in self.features.items()))
            for label, place in read.items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """The contributions to the scores of candidates, and what made their confidences.

    candidates: in any order. names: of the stages and groups. added: (suggestions, names). What is added to a candidate
    and a constant, the same for all candidates of a document, are its score. estimates: None without confidences, and
    where a step cannot say.
    """

    candidates: Run
    names: tuple[str, ...]
    added: Doubles
    estimates: Estimates | None = None

    @classmethod
    def nothing(cls, candidates: Run) -> Self:
        """Return what says nothing of the candidates."""
        return cls(candidates, (), np.zeros((len(candidates.labels), 0)))

    def of(self, row: int, labels: Collection[int]) -> dict[int, tuple[Contribution, ...]]:
        """Return the contributions to the score of each of these labels of a document, the largest first.

        A label that is no candidate has none.

        >>> found = Contributions(Run.from_rows([{7: 3.0}]), ("svm", "dense"), np.array([[-1.0, 4.0]]))
        >>> found.of(0, [7, 8])
        {7: (Contribution(feature='dense', added=4.0), Contribution(feature='svm', added=-1.0)), 8: ()}
        """
        places = _places(self.candidates, row)
        return {label: self._at(places[label]) if label in places else () for label in labels}

    def aligned(self, candidates: Run) -> dict[str, Doubles]:
        """Return what each stage or group adds to other candidates of the same documents, (suggestions,) each."""
        runs = (replace(self.candidates, scores=column.astype(np.float32)) for column in self.added.T)
        parts = (run.scores_of(candidates).astype(np.float64) for run in runs)
        return dict(zip(self.names, parts, strict=True))

    def _at(self, place: int) -> tuple[Contribution, ...]:
        values = self.added[place]
        order = np.argsort(-np.abs(values), kind="stable")
        return tuple(Contribution(self.names[each], float(values[each])) for each in order)


def _places(candidates: Run, row: int) -> dict[int, int]:
    """Label -> its place among all candidates, of the candidates of a document."""
    start, end = candidates.indptr[row : row + 2].tolist()
    return {label: start + place for place, label in enumerate(candidates.labels[start:end].tolist())}
