"""The first tag: seconds of `suggest` on one document, with nothing cached and again, and what its rule costs.

By that rule rough vectors propose labels to the encoder, which would otherwise have to encode and compare all of them.
Quality is that of the zero-shot method on dev documents. Needs the packaged MiniLM and the corpora.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import corpora, figures, machine

from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.significance import compare
from tagwright.stages.dense import Dense
from tagwright.tagger import Tagger, zero_shot

MEASURES = ("P@1", "P@5", "nDCG@5", "R@100")

TIMED = ("epmc", "mdn")
"Corpora on which seconds are measured; where neither is asked for, the first that is."


def main(arguments: list[str]) -> None:
    parser = corpora.parser("first", __doc__)
    parser.add_argument("--documents", type=int, default=500, help="of each corpus, for the quality; 0: leave it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version, timed in turns with this one")
    parser.add_argument("--load", help="what else the machine does, for the table of conditions")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    found: dict[str, Any] = figures.read(options.output) or {"quality": {}}
    found |= {"seconds": {}, **({"load": options.load} if options.load else {})}
    for name in [name for name in TIMED if name in options.corpora] or options.corpora[:1]:
        levels = machine.levels().items()
        found["seconds"][name] = {
            level: seconds(name, variables, options.rounds, None if variables else options.before)
            for level, variables in levels
        }
        print(name, found["seconds"][name], flush=True)
    for name in options.corpora if options.documents else ():
        found["quality"][name] = quality(name, options.documents)
        print(name, found["quality"][name], flush=True)
    figures.write(options.output, found)


def seconds(name: str, variables: Mapping[str, str], rounds: int, before: Path | None) -> dict[str, Any]:
    """To the first line and of the whole process, on one dev document with an empty cache each time, and again.

    before: the same of another checkout, under this name. Median, least and most.
    """
    times = {"": list[dict[str, float]](), "before": list[dict[str, float]]()}
    first = json.dumps(asdict(corpora.documents(name, "dev", 1)[0]), ensure_ascii=False)
    for _ in range(rounds):
        for version, found in times.items():
            if version and before is None:
                continue
            source = {"PYTHONPATH": f"{before}/src"} if version else {}
            with tempfile.TemporaryDirectory() as folder:
                document = Path(folder) / "document.jsonl"
                document.write_text(first + "\n", encoding="utf-8")
                environment = {**os.environ, **variables, **source, "TAGWRIGHT_CACHE": folder}
                (line, whole), (_, again) = (suggest(name, document, environment) for _ in range(2))
            found.append({"line": line, "whole": whole, "again": again})
    now, then = (summary(found) for found in times.values())
    return {**now, **({"before": then} if before else {})}


def suggest(name: str, document: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds from the start of the process to its first line and to its end."""
    labels, start = str(corpora.folder(name) / "labels.jsonl.gz"), time.perf_counter()
    command = [sys.executable, "-m", "tagwright", "suggest", str(document), "--labels", labels]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        line = time.perf_counter() - start
        process.stdout.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return line, time.perf_counter() - start


def summary(rounds: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """What was measured -> median, least and most of all rounds."""
    found = {what: [each[what] for each in rounds] for what in (rounds[0] if rounds else ())}
    parts: dict[str, Callable[[list[float]], float]] = {"median": statistics.median, "min": min, "max": max}
    return {what: {part: round(of(times), 2) for part, of in parts.items()} for what, times in found.items()}


def quality(name: str, most: int) -> dict[str, Any]:
    """The rule, and every label compared."""
    dev = corpora.scored(name, most)
    tagger, gold = zero_shot.fit(dev.labels), dev.gold
    quick, full = (dev.without_self(each.tag(dev.documents, 101), 100) for each in (tagger, comparing_all(tagger)))
    found: dict[str, Any] = {"documents": len(dev.documents)}
    for way, run in (("quick", quick), ("full", full)):
        scores = evaluate(run, gold, measures=MEASURES).measures
        found[way] = {measure: round(scores[measure].value, 4) for measure in MEASURES}
    found["quick against full"] = compare(quick, full, gold, measures=MEASURES).to_json()["measures"]
    return found


def comparing_all(tagger: Tagger) -> Tagger:
    """The same tagger without proposals."""
    dense = tagger.retrievers["dense"]
    assert isinstance(dense, Dense)
    exact = Dense(dense.labels, dense.encoder, replace(dense.options, proposed=None), dense.search)
    return replace(tagger, retrievers={**tagger.retrievers, "dense": exact})
