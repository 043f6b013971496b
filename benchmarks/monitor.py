"""How often the monitor raises a false alarm, and how soon a right one: `python -m benchmarks monitor [--output FILE]`.

Documents of tib, tagged by words alone. In random order every alarm is false. Then they turn into documents of epmc, or
one label is suggested for all of them. Words alone estimate no confidences: scores, from 0 to 1, take their place.
Suggestions that are gold labels count as accepted.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import corpora, figures

from tagwright import zero_shot
from tagwright.combining.acceptance import SuggestOptions
from tagwright.monitoring.monitor import FALSE_ALARMS, FIRST, STREAM, WINDOW, Monitor, Signal
from tagwright.monitoring.record import Record

STREAMS, TURNS, PROCESSES = 1_000, 100, 2
BEFORE, AFTER = FIRST + WINDOW + 300, 400
"Documents before a turn and after it."

SHARES = (1.0, 0.5, 0.25)
"Of the documents after a turn, those that are others."


class Tagged(NamedTuple):
    """A record, and the share of the suggestions that are gold labels."""

    record: Record
    accepted: float


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks monitor", description=__doc__)
    parser.add_argument("--output", type=Path, default=figures.RESULTS / "monitor.json")
    parser.add_argument("--streams", type=int, default=STREAMS)
    given = parser.parse_args(arguments)
    corpora.require(("tib", "epmc"))
    tib, rng = tagged("tib", FIRST + STREAM), random.Random(0)
    before, others = [each.record for each in tib], [each.record for each in tagged("epmc", AFTER)]
    turns = {f"{share:.0%} from epmc": [turned(before, others, share, rng) for _ in range(TURNS)] for share in SHARES}
    turns["one label on every document"] = [flooded(before, rng) for _ in range(TURNS)]
    report: dict[str, object] = {
        "turns": {name: delays(map(alarms, streams)) for name, streams in turns.items()},
        "false alarms": false_alarms(tib, given.streams),
    }
    print(json.dumps(report, indent=1))
    figures.write(given.output, report)


def tagged(name: str, most: int) -> list[Tagged]:
    """Dev documents of a corpus, spread evenly, tagged with the labels of tib."""
    tagger, documents = (
        zero_shot(corpora.labels("tib"), stages=["exact_match", "tfidf"]),
        corpora.documents(name, "dev"),
    )
    found = []
    rows = range(0, len(documents), max(1, len(documents) // most))[:most]
    for document, row in tagger.suggestions([documents[i] for i in rows], SuggestOptions()):
        record = Record.of(document, "tib", [(each.id, each.score / (1 + each.score)) for each in row])
        found.append(Tagged(record, sum(each.id in document.labels for each in row) / max(1, len(row))))
    return found


def turned(before: Sequence[Record], others: Sequence[Record], share: float, rng: random.Random) -> list[Record]:
    """Documents, then as many others among them as the share says."""
    drawn, new = rng.sample(before, BEFORE + AFTER), rng.sample(others, len(others))
    return [*drawn[:BEFORE], *(new.pop() if new and rng.random() < share else each for each in drawn[BEFORE:])]


def flooded(before: Sequence[Record], rng: random.Random) -> list[Record]:
    """Documents, then such with one more label, the same for all."""
    drawn = rng.sample(before, BEFORE + AFTER)
    label = rng.choice([label for each in drawn for label in each.labels])
    return [*drawn[:BEFORE], *(replace(each, labels=(label, *each.labels)) for each in drawn[BEFORE:])]


def alarms(records: Sequence[Record], accepted: Sequence[float] = ()) -> dict[Signal, int]:
    """Signal -> documents before its first alarm."""
    monitor = Monitor()
    for record in records:
        monitor.add(record)
    firsts = {name: [look.at for look in looks if look.is_alarm] for name, looks in monitor.looks(accepted).items()}
    return {name: found[0] for name, found in firsts.items() if found}


def delays(found: Iterable[dict[Signal, int]]) -> dict[str, object]:
    """Documents between the turn and the first alarm of each signal; those before the turn are false ones."""
    streams, after = 0, dict[str, list[int]]()
    for each in found:
        streams += 1
        for name, at in each.items():
            after.setdefault(name, []).append(at - BEFORE)
    signals = {
        name: {"alarms": len(each), "false": sum(delay <= 0 for delay in each), "median": statistics.median(each),
               "most": max(each)}
        for name, each in sorted(after.items())
    }  # fmt: skip
    return {"streams": streams, "signals": signals}


def false_alarms(tib: Sequence[Tagged], streams: int) -> dict[str, object]:
    """Streams in random order with an alarm of any signal, and of each."""
    with ProcessPoolExecutor(PROCESSES) as processes:
        found = list(processes.map(partial(in_random_order, tib), range(streams), chunksize=10))
    signals, wrong = Counter(name for each in found for name in each), sum(map(bool, found))
    return {
        "streams": streams, "documents each": len(tib) - FIRST, "with an alarm": wrong, "share": wrong / streams,
        "stated": FALSE_ALARMS, "signals": dict(sorted(signals.items())),
    }  # fmt: skip


def in_random_order(tib: Sequence[Tagged], seed: int) -> dict[Signal, int]:
    """The alarms of a stream; every document is reviewed."""
    stream = random.Random(seed).sample(tib, len(tib))
    return alarms([each.record for each in stream], [each.accepted for each in stream[FIRST:]])
