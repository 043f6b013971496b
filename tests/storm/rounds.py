"""Kills, full disks, read-only folders, races, damaged input: `python -m tests.storm [--minutes 60]`.

Tries one disturbance after the other for some minutes, or `--trials` of each, checks each time that nothing was lost,
and prints what was tried and what was lost; `--results FILE` adds it up over several storms. The same seed gives the
same disturbances, but not quite the same moments. For Linux and macOS.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.storm import batch, kills, processes, races, readers, tally, training
from tests.storm.tally import Tally, Tried

Trial = Callable[[Path, random.Random], Tried]
"Disturb something in an empty folder; says what was done. Raises AssertionError saying what was lost."

TRIALS: Mapping[str, Trial] = {
    **kills.TRIALS,
    **batch.TRIALS,
    **training.TRIALS,
    **readers.TRIALS,
    **races.TRIALS,
}

SAVED_EVERY = 10.0
"Seconds after which the results are written."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--trials", type=int, default=0, help="in place of minutes: so many of each, with --results")
    parser.add_argument("--results", type=Path, help="a JSON file to which the results are added")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(TRIALS), default=list(TRIALS))
    options = parser.parse_args(arguments)
    if any(name in training.TRIALS for name in options.only):
        processes.preload(training.HEAVY)
    tallies = tally.read(options.results)
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
    """Every trial of every round, counted in the tallies, which are written to a file from time to time."""
    saved = time.monotonic()
    for names in rounds:
        for name in names:
            attempt(name, seed, tallies.setdefault(name, Tally()))
            if results and time.monotonic() > saved + SAVED_EVERY:
                tally.write(results, tallies)
                saved = time.monotonic()
    if results:
        tally.write(results, tallies)


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
