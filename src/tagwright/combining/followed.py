"""A weighted sum of some stages first, the labels of another stage after it (FuTex 3.3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import Self

from tagwright.combining.fusion import followed
from tagwright.combining.pool import CandidatePool
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.checked import AtLeastOne, Checked
from tagwright.core.saved import read_manifest, read_options, write_manifest
from tagwright.errors import ConfigError
from tagwright.types import Label, Run


@dataclass(frozen=True, kw_only=True)
class FollowedOptions(Checked):
    """What follows, and after how many. Raises ConfigError for a value that cannot work."""

    by: str = ""
    "The retriever whose labels follow in their own order; it counts for nothing else."

    keep: AtLeastOne | None = None
    "How many labels of the sum stay before those that follow; None: all. Those that do not stay come last."


@dataclass(frozen=True)
class Followed:
    """Ranks candidates by a weighted sum; the labels of another stage follow (FuTex Example 3.1). A combiner."""

    first: WeightedSum
    options: FollowedOptions

    @property
    def estimates_confidence(self) -> bool:
        """Never: the labels that follow have none."""
        return False

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> None:
        """Raise ConfigError where the stage that follows is no retriever, or the sum does not fit the others."""
        by = self.options.by
        if by not in retrievers:
            raise ConfigError(f'the labels of "{by}" are to follow, the retrievers are {", ".join(retrievers)}')
        self.first.check([name for name in retrievers if name != by], rerankers)

    def combine(self, pool: CandidatePool) -> Run:
        """The labels of the sum, then those of the stage that follows, scored 1 / rank."""
        ranked, after = self.first.combine(pool.without(self.options.by)), pool.found[self.options.by]
        if self.options.keep is None:
            return followed(ranked, after)
        return followed(followed(ranked.top(self.options.keep), after), ranked)

    def describe(self, stages: Collection[str]) -> str:
        """The sum, and what follows."""
        by = self.options.by
        return f"{self.first.describe([name for name in stages if name != by])}; followed by {by}"

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """The same, as far as the sum is."""
        return replace(self, first=self.first.with_labels(before, labels))

    def save(self, folder: Path) -> None:
        """Write the options of both."""
        options = {"by": self.options.by, "keep": self.options.keep}
        write_manifest(folder, "weighted sum, followed", {"options": options})
        (folder / "first").mkdir()
        self.first.save(folder / "first")

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        options = read_options(folder, FollowedOptions, read_manifest(folder, "weighted sum, followed").get("options"))
        return cls(WeightedSum.load(folder / "first", labels), options)
