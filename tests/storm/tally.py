"""What storms have tried and lost, added up in a file: a storm can be continued, and its rounds are never repeated."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks import figures


class Tried(NamedTuple):
    """One trial. what: its outcome; kills: processes that were killed; inputs: damaged files that were read."""

    what: str
    kills: int = 0
    inputs: int = 0


@dataclass
class Tally:
    """All trials of one name. outcomes: how often each; lost: a line for each loss."""

    kills: int = 0
    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    @property
    def trials(self) -> int:
        """How many there were: also the number of the next round."""
        return self.outcomes.total()

    def add(self, tried: Tried) -> None:
        """Count a trial."""
        self.kills += tried.kills
        self.inputs += tried.inputs
        self.outcomes[tried.what] += 1

    def lose(self, line: str) -> None:
        """Count a trial that lost something."""
        self.outcomes["lost"] += 1
        self.lost.append(line)

    def __str__(self) -> str:
        done = ", ".join(f"{what} {count:,}" for what, count in sorted(self.outcomes.items()))
        return f"{self.trials:8,} trials, {self.kills:6,} kills, {self.inputs:8,} inputs ({done})"


def read(path: Path | None) -> dict[str, Tally]:
    """Name -> tally; none where there is no file yet."""
    rows = figures.read(path).get("trials", {}) if path else {}
    return {
        name: Tally(row["kills"], row["inputs"], Counter(row["outcomes"]), row["lost"]) for name, row in rows.items()
    }


def write(path: Path, tallies: dict[str, Tally]) -> None:
    """Write in one step, with the sums and the machine."""
    sums = {
        "kills": sum(each.kills for each in tallies.values()),
        "inputs": sum(each.inputs for each in tallies.values()),
        "lost": sum(len(each.lost) for each in tallies.values()),
    }
    rows = {name: vars(each) for name, each in sorted(tallies.items())}
    figures.write(path, {**figures.read(path), **sums, "trials": rows})
