"""Kills, full disks, read-only folders, races, damaged input: `python -m benchmarks storm [--hours 1]`.

Tries one disturbance after the other for some minutes, or until there were `--kills` kills, `--inputs` damaged inputs
and `--trials` of each, checks each time that nothing was lost, and prints what was tried and what was lost; `--results
FILE` adds it up over several storms. The same seed gives the same disturbances, but not quite the same moments. For
Linux and macOS.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import (
    storm_batch,
    storm_kills,
    storm_processes,
    storm_races,
    storm_readers,
    storm_tally,
    storm_training,
)
from benchmarks.storm_tally import Tally, Tried

Trial = Callable[[Path, random.Random], Tried]
"Disturb something in an empty folder; says what was done. Raises AssertionError saying what was lost."

TRIALS: Mapping[str, Trial] = {
    **storm_kills.TRIALS,
    **storm_batch.TRIALS,
    **storm_training.TRIALS,
    **storm_readers.TRIALS,
    **storm_races.TRIALS,
}

SAVED_EVERY = 10.0
"Seconds after which the results are written."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks storm", description=__doc__)
    parser.add_argument("--minutes", type=float, help="3, unless an amount is given")
    parser.add_argument("--hours", type=float, help="in place of minutes")
    parser.add_argument("--kills", type=int, default=0, help="at least so many, with those of --results")
    parser.add_argument("--inputs", type=int, default=0, help="at least so many, with those of --results")
    parser.add_argument("--trials", type=int, default=0, help="at least so many of each, with those of --results")
    parser.add_argument("--results", type=Path, help="a JSON file to which the results are added")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(TRIALS), default=list(TRIALS))
    options = parser.parse_args(arguments)
    if any(name in storm_training.TRIALS for name in options.only):
        storm_processes.preload(storm_training.HEAVY)
    tallies = storm_tally.read(options.results)
    storm(rounds(options, tallies), options.seed, tallies, options.results)
    for name in options.only:
        print(f"{name:24} {tallies.get(name, Tally())}")
    lost = [line for each in tallies.values() for line in each.lost]
    print(f"{len(lost)} lost", *lost, sep="\n")
    sys.exit(1 if lost else 0)


def rounds(options: argparse.Namespace, tallies: Mapping[str, Tally]) -> Iterator[Sequence[str]]:
    """The trials of each round, until the time is over, or the amounts are reached where there is no time.

    Where both amounts are asked for, the trials of one that is reached are left out.
    """
    amounts = options.kills or options.inputs or options.trials
    minutes = 60 * options.hours if options.hours else options.minutes or (math.inf if amounts else 3)
    end = time.monotonic() + 60 * minutes
    yield options.only
    while time.monotonic() < end and not (amounts and all(reached(options, tallies))):
        enough = reached(options, tallies) if options.kills and options.inputs else (False, False)
        yield [name for name in options.only if not enough[name in storm_readers.TRIALS]]


def reached(options: argparse.Namespace, tallies: Mapping[str, Tally]) -> tuple[bool, bool]:
    """Whether there were as many kills, and as many inputs, as were asked for."""
    kills, inputs = sum(each.kills for each in tallies.values()), sum(each.inputs for each in tallies.values())
    enough = all(tallies.get(name, Tally()).trials >= options.trials for name in options.only)
    return kills >= options.kills and enough, inputs >= options.inputs and enough


def storm(rounds: Iterable[Sequence[str]], seed: int, tallies: dict[str, Tally], results: Path | None = None) -> None:
    """Every trial of every round, counted in the tallies, which are written to a file from time to time."""
    saved = time.monotonic()
    for names in rounds:
        for name in names:
            attempt(name, seed, tallies.setdefault(name, Tally()))
            if results and time.monotonic() > saved + SAVED_EVERY:
                storm_tally.write(results, tallies)
                saved = time.monotonic()
    if results:
        storm_tally.write(results, tallies)


def attempt(name: str, seed: int, tally: Tally) -> None:
    """One trial in a folder of its own."""
    folder, number = Path(tempfile.mkdtemp(prefix="tagwright-storm-")), tally.trials
    try:
        tally.add(TRIALS[name](folder, random.Random(f"{seed} {number} {name}")))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(f"{type(error).__name__} {error}".split())[:300]
        tally.lose(f"{name}, round {number}: {said} ({Path(where.filename).name}:{where.lineno})")
        print(tally.lost[-1], file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
