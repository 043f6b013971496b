"""Kills of trainings, batches, saves and stored decisions: `python -m tools.storm [--minutes 60]`.

Tries one kind of kill after the other for some minutes, checks each time that nothing was lost, and prints what was
tried and what was lost. The same seed gives the same kills, but not quite the same moments. For Linux and macOS.
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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.storm import batch, kills, processes, training
from tools.storm.processes import Trial

TRIALS: Mapping[str, Trial] = {**kills.TRIALS, **batch.TRIALS, **training.TRIALS}


@dataclass
class Tally:
    """All trials of one name. outcomes: how often each; lost: a line for each loss."""

    kills: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        done = ", ".join(f"{what} {count:,}" for what, count in sorted(self.outcomes.items()))
        return f"{self.outcomes.total():8,} trials, {self.kills:6,} kills ({done})"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(TRIALS), default=list(TRIALS))
    options = parser.parse_args(arguments)
    if any(name in training.TRIALS for name in options.only):
        processes.preload(training.HEAVY)
    tallies = {name: Tally() for name in options.only}
    end = time.monotonic() + 60 * options.minutes
    while True:
        for name, tally in tallies.items():
            attempt(name, options.seed, tally)
        if time.monotonic() > end:
            break
    for name, tally in tallies.items():
        print(f"{name:24} {tally}")
    lost = [line for each in tallies.values() for line in each.lost]
    print(f"{len(lost)} lost", *lost, sep="\n")
    sys.exit(1 if lost else 0)


def attempt(name: str, seed: int, tally: Tally) -> None:
    """One trial in a folder of its own, counted in the tally."""
    folder, number = Path(tempfile.mkdtemp(prefix="tagwright-storm-")), tally.outcomes.total()
    try:
        tried = TRIALS[name](folder, random.Random(f"{seed} {number} {name}"))
        tally.kills += tried.kills
        tally.outcomes[tried.what] += 1
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(f"{type(error).__name__} {error}".split())[:300]
        tally.outcomes["lost"] += 1
        tally.lost.append(f"{name}, round {number}: {said} ({Path(where.filename).name}:{where.lineno})")
        print(tally.lost[-1], file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
