"""Kills, full disks, read-only folders, two at one output, damaged input: `python -m benchmarks storm [--hours 1]`.

Tries one disturbance after the other for some minutes, checks each time that nothing was lost, and prints what was
tried and what was lost. The same seed gives the same disturbances, but not the same moments. For Linux and macOS.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import storm_kills, storm_readers

Trial = Callable[[Path, random.Random], str]
"Disturb something in an empty folder; says what was done. Raises AssertionError saying what was lost."

TRIALS: Mapping[str, Trial] = {**storm_kills.TRIALS, **storm_readers.TRIALS}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--hours", type=float, help="in place of minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(TRIALS), default=list(TRIALS))
    options = parser.parse_args(arguments)
    seconds = 3600 * options.hours if options.hours else 60 * options.minutes
    tried, lost = storm(options.only, until(time.monotonic() + seconds), options.seed)
    for name in options.only:
        done = ", ".join(f"{what} {count:,}" for what, count in sorted(tried[name].items()))
        print(f"{name:12} {tried[name].total():8,} tried ({done})")
    print(f"{len(lost)} lost", *lost, sep="\n")
    sys.exit(1 if lost else 0)


def until(end: float) -> Iterator[int]:
    """Rounds, from 0, as long as there is time."""
    number = 0
    while not number or time.monotonic() < end:
        yield number
        number += 1


def storm(names: Sequence[str], rounds: Iterator[int], seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Every trial once a round. Returns how often each did what, and a line for each loss."""
    tried: dict[str, Counter[str]] = {name: Counter() for name in names}
    lost: list[str] = []
    for number in rounds:
        for name in names:
            folder = Path(tempfile.mkdtemp(prefix="tagwright-storm-"))
            try:
                tried[name][TRIALS[name](folder, random.Random(f"{seed} {number} {name}"))] += 1
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                said = " ".join(f"{type(error).__name__} {error}".split())[:300]
                lost.append(f"{name}, round {number}: {said} ({Path(where.filename).name}:{where.lineno})")
                tried[name]["lost"] += 1
                print(lost[-1], file=sys.stderr, flush=True)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return tried, lost
