"""Combiners as steps of a ranking: those of other packages, and those in taggers that 0.9 and 0.10 saved.

Both go with 0.12. Until then a combiner of another package is one step, with a warning that says so.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from tagwright.combining.confidence import Confidence, Curve, Mapped, load_score_map
from tagwright.combining.label_free import LabelFree
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.pool import CandidatePool
from tagwright.combining.reranked import Reranked, RerankOptions
from tagwright.combining.steps import Contributions, Step
from tagwright.combining.weighted_sum import AppendLabels, AppendOptions, WeightedSum
from tagwright.core.saved import read_manifest, read_options, write_manifest
from tagwright.errors import ModelError
from tagwright.registry import load_part, saved_kind
from tagwright.types import Label, Run

_log = logging.getLogger(__name__)

KIND = "combiner of another package"
"What the manifest of a saved `Adapted` says."


class Combiner(Protocol):
    """The interface of 0.10's group `tagwright.combiners`; new packages write a `Step`."""

    @property
    def estimates_confidence(self) -> bool:
        """Whether `combine` returns confidences."""
        ...

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError if the combiner cannot combine these stages."""
        ...

    def combine(self, pool: CandidatePool) -> Run:
        """Return the ranking, with confidences if `estimates_confidence`."""
        ...

    def describe(self, stages: Collection[str]) -> str:
        """Return one line that describes the combination."""
        ...

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary."""
        ...

    def save(self, folder: Path) -> None:
        """Write the combiner into an existing empty folder."""
        ...


@dataclass(frozen=True)
class Adapted(Step):
    """A combiner of another package as a step. What it was written for, 0.9 or 0.10, decides which members it has."""

    combiner: Any

    def apply(self, pool: CandidatePool, run: Run) -> Run:  # noqa: ARG002
        """Return what it makes of the pool."""
        ranked: Run = self.combiner.combine(pool)
        return ranked

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:  # noqa: ARG002
        """Return what it says of its scores, if it can."""
        explain = getattr(self.combiner, "explain", None)
        return (explain(pool) if explain else None) or Contributions.nothing(run)

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> tuple[str, ...]:
        """Raise ConfigError if it cannot combine these stages."""
        self.combiner.check(retrievers, rerankers)
        return ()

    def describe(self, stages: Collection[str], before: str) -> str:  # noqa: ARG002
        """Return its own line."""
        return str(self.combiner.describe(stages))

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary."""
        return replace(self, combiner=self.combiner.with_labels(before, labels))

    def save(self, folder: Path) -> None:
        """Write which package registers it, and the combiner itself into a folder of its own."""
        write_manifest(folder, KIND, {"combiner": saved_kind(self.combiner, "combiners")})
        (folder / "combiner").mkdir()
        self.combiner.save(folder / "combiner")

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        kind = read_manifest(folder, KIND).get("combiner")
        return cls(load_part("combiners", kind, folder / "combiner", labels))


class AdaptedConfident(Adapted, Confidence):
    """The same where the combiner estimates confidences."""


def as_step(combiner: Any) -> Step:
    """Return a combiner of another package as a step, and warn that it works for one more version."""
    _log.warning(
        "%s is a combiner, which 0.12 will not know: write it as a step (tagwright.combining.steps.Step)",
        type(combiner).__name__,
    )
    return AdaptedConfident(combiner) if combiner.estimates_confidence else Adapted(combiner)


def load_steps(kind: object, folder: Path, labels: Sequence[Label]) -> tuple[Step, ...]:
    """Load the combiner of a tagger that 0.9 or 0.10 saved, as steps. kind: its class, as the manifest names it.

    Raises ModelError when it is missing or damaged, or its package is not installed.
    """
    readers = {
        "WeightedSum": _weighted_sum,
        "AppendLabels": _load_appended,
        "LearnedCombiner": _load_learned,
        "Reranked": _load_reranked,
    }
    if isinstance(kind, str) and kind in readers:
        return readers[kind](folder, labels)
    return (as_step(load_part("combiners", kind, folder, labels)),)


@dataclass(frozen=True, kw_only=True)
class _SavedSum(WeightedSum):
    """The options of a weighted sum that 0.10 saved, which had confidences of its own."""

    confidence: str = "none"
    curve: tuple[float, float] = (0.0, 0.0)
    slope_of_scores: float = 0.0
    labels_per_document: float | None = None
    few_labels: int | None = None


def _weighted_sum(folder: Path, labels: Sequence[Label], *, log_scores: bool = False) -> tuple[Step, ...]:  # noqa: ARG001
    saved = read_options(folder, _SavedSum, read_manifest(folder, "weighted sum").get("options"))
    ranked = WeightedSum(**{name: getattr(saved, name) for name in WeightedSum.__dataclass_fields__})
    if saved.confidence == "none":
        return (ranked,)
    if saved.confidence == "fitted":
        slope, intercept = saved.curve
        of_scores = saved.slope_of_scores
        return ranked, Curve(slope=slope, intercept=intercept, slope_of_scores=of_scores, log_scores=log_scores)
    if saved.confidence == "label_free":
        many = saved.labels_per_document
        return ranked, LabelFree(labels_per_document=many, few_labels=saved.few_labels, log_scores=log_scores)
    raise ModelError(f"{folder}: is damaged (no confidence {saved.confidence}); save the tagger again")


def _load_appended(folder: Path, labels: Sequence[Label]) -> tuple[Step, ...]:
    options = read_options(folder, AppendOptions, read_manifest(folder, "weighted sum, followed").get("options"))
    ranked, *confidence = _weighted_sum(folder / "first", labels, log_scores=True)
    return ranked, AppendLabels(options), *confidence


def _load_learned(folder: Path, labels: Sequence[Label]) -> tuple[Step, ...]:
    confident = read_manifest(folder, "learned combiner").get("confidence")
    if not isinstance(confident, bool):
        raise ModelError(f"{folder}: its manifest does not say whether it has confidences; save the tagger again")
    features = folder / "features"
    if (features / "first" / "features" / "first" / "features").exists():
        raise ModelError(f"{folder}: has learned combiners within each other, expected at most two; train it again")
    first = _load_first(features / "first", read_manifest(features, "candidate features").get("first"), labels)
    confidence = [Mapped(load_score_map(folder / "confidence"))] if confident else []
    return *first, LearnedCombiner.read(folder, labels), *confidence


def _load_reranked(folder: Path, labels: Sequence[Label]) -> tuple[Step, ...]:
    manifest = read_manifest(folder, "reranked")
    confidence = load_score_map(folder / "confidence") if manifest.get("confidence") is True else None
    options = read_options(folder, RerankOptions, manifest.get("options"))
    return *_load_first(folder / "first", manifest.get("first"), labels), Reranked(options, confidence)


def _load_first(folder: Path, kind: object, labels: Sequence[Label]) -> tuple[Step, ...]:
    """Load what ranks first: a weighted sum, of which old manifests say nothing, or a learned combiner."""
    if kind in ("WeightedSum", None):
        return _weighted_sum(folder, labels)
    if kind == "LearnedCombiner":
        return _load_learned(folder, labels)
    raise ModelError(f"{folder}: is damaged (no combiner ranks first); save the tagger again")
