"""How often the monitor raises a false alarm, and how soon a right one: `python -m benchmarks monitor [--output FILE]`.

Documents of tib, tagged by words alone. In random order every alarm is false. Then they turn into documents of epmc, or
one label is suggested for all of them. Words alone estimate no confidences: scores, from 0 to 1, take their place.
Suggestions that are gold labels count as accepted. Of a small corpus the documents come again and again. What the file
has is kept: a run that was stopped goes on, and `--streams` says how many streams it then has.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import corpora, figures

from tagwright import zero_shot
from tagwright.combining.acceptance import SuggestOptions
from tagwright.monitoring.monitor import FALSE_ALARMS, FIRST, STREAM, WINDOW, Monitor, Signal
from tagwright.monitoring.record import Record

STREAMS, TURNS, PART = 1_000, 100, 10
"Streams in random order, turns of each kind, and streams after which the results are written."

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
    parser.add_argument("--turns", type=int, default=TURNS, help="of each kind")
    given = parser.parse_args(arguments)
    corpora.require(("tib", "epmc"))
    report, tib = figures.read(given.output), tagged("tib", BEFORE + AFTER, FIRST + STREAM)
    if "turns" not in report:
        others = [each.record for each in tagged("epmc", AFTER, AFTER)]
        report["turns"] = turns([each.record for each in tib], others, given.turns)
        figures.write(given.output, report)
    while (done := report.get("false alarms", {}).get("streams", 0)) < given.streams:
        found = [in_random_order(tib, seed) for seed in range(done, min(done + PART, given.streams))]
        report["false alarms"] = with_alarms(report.get("false alarms", {}), found, len(tib) - FIRST)
        figures.write(given.output, report)
        print(json.dumps(report["false alarms"]), flush=True)


def turns(before: Sequence[Record], others: Sequence[Record], count: int) -> dict[str, object]:
    """For each kind of turn, the delays of alarms over many streams."""
    rng = random.Random(0)
    kinds = {
        **{f"{share:.0%} from epmc": partial(turned, before, others, share, rng) for share in SHARES},
        "one label on every document": partial(flooded, before, rng),
    }
    return {name: delays(alarms(draw()) for _ in range(count)) for name, draw in kinds.items()}


def tagged(name: str, least: int, most: int) -> list[Tagged]:
    """Dev documents of a corpus, spread evenly, tagged with the labels of tib; repeated where they are too few."""
    tagger = zero_shot(corpora.labels("tib"), stages=["exact_match", "tfidf"])
    documents, found = corpora.documents(name, "dev"), []
    rows = range(0, len(documents), max(1, len(documents) // most))[:most]
    for document, row in tagger.suggestions([documents[i] for i in rows], SuggestOptions()):
        record = Record.of(document, "tib", [(each.id, each.score / (1 + each.score)) for each in row])
        found.append(Tagged(record, sum(each.id in document.labels for each in row) / max(1, len(row))))
    return found if len(found) >= least else [*islice(cycle(found), least)]


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


def with_alarms(former: Mapping[str, Any], found: Sequence[Mapping[Signal, int]], documents: int) -> dict[str, object]:
    """Streams in random order with an alarm of any signal, and of each: those counted before, and these.

    >>> counted = with_alarms({}, [{"language": 720, "label": 900}, {}, {}], 5_000)
    >>> counted["with an alarm"], counted["signals"]
    (1, {'label': 1, 'language': 1})
    >>> with_alarms(counted, [{"language": 800}], 5_000)["share"]
    0.5
    """
    signals = Counter(former.get("signals", {})) + Counter(name for each in found for name in each)
    streams = former.get("streams", 0) + len(found)
    wrong = former.get("with an alarm", 0) + sum(map(bool, found))
    return {
        "streams": streams, "documents each": documents, "with an alarm": wrong, "share": wrong / streams,
        "stated": FALSE_ALARMS, "signals": dict(sorted(signals.items())),
    }  # fmt: skip


def in_random_order(tib: Sequence[Tagged], seed: int) -> dict[Signal, int]:
    """The alarms of a stream; every document is reviewed."""
    stream = random.Random(seed).sample(tib, len(tib))
    return alarms([each.record for each in stream], [each.accepted for each in stream[FIRST:]])
