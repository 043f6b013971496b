"""Kills, full disks, read-only folders, races, damaged input: `python -m tools.storm [--minutes 60]`.

Tries one disturbance after the other for some minutes, or `--trials` of each, checks each time that nothing was lost,
and prints what was tried and what was lost; `--results FILE` adds it up over several storms, whose rounds are never
repeated. The same seed gives the same disturbances, but not quite the same moments. For Linux and macOS.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import figures
from tools.storm import batch, kills, processes, races, readers, taggers, training
from tools.storm.processes import Trial, Tried

TRIALS: Mapping[str, Trial] = {
    **kills.TRIALS,
    **batch.TRIALS,
    **training.TRIALS,
    **readers.TRIALS,
    **taggers.TRIALS,
    **races.TRIALS,
}


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


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--trials", type=int, default=0, help="in place of minutes: so many of each, with --results")
    parser.add_argument("--results", type=Path, help="a JSON file to which the results are added")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(TRIALS), default=list(TRIALS))
    options = parser.parse_args(arguments)
    if any(name in training.TRIALS for name in options.only):
        processes.preload(training.HEAVY)
    tallies = read(options.results)
    storm(rounds(options, tallies), options.seed, tallies, options.results)
    for name in options.only:
        print(f"{name:24} {tallies.get(name, Tally())}")
    lost = [line for each in tallies.values() for line in each.lost]
    print(f"{len(lost)} lost", *lost, sep="\n")
    sys.exit(1 if lost else 0)


def rounds(options: argparse.Namespace, tallies: Mapping[str, Tally]) -> Iterator[Sequence[str]]:
    """The trials of each round, until the time is over, or there were as many of each as asked for."""
    end = time.monotonic() + 60 * options.minutes
    yield options.only
    while options.trials or time.monotonic() < end:
        wanted = [name for name in options.only if not options.trials or tallies[name].trials < options.trials]
        if not wanted:
            return
        yield wanted


def storm(rounds: Iterable[Sequence[str]], seed: int, tallies: dict[str, Tally], results: Path | None = None) -> None:
    """Every trial of every round, counted in the tallies, which are written to a file every ten seconds."""
    saved = time.monotonic()
    for names in rounds:
        for name in names:
            attempt(name, seed, tallies.setdefault(name, Tally()))
            if results and time.monotonic() > saved + 10:
                write(results, tallies)
                saved = time.monotonic()
    if results:
        write(results, tallies)


def attempt(name: str, seed: int, counts: Tally) -> None:
    """One trial in a folder of its own."""
    folder, number = Path(tempfile.mkdtemp(prefix="tagwright-storm-")), counts.trials
    try:
        counts.add(TRIALS[name](folder, random.Random(f"{seed} {number} {name}")))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(f"{type(error).__name__} {error}".split())[:300]
        counts.lose(f"{name}, round {number}: {said} ({Path(where.filename).name}:{where.lineno})")
        print(counts.lost[-1], file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
