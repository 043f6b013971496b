"""The first tag: seconds of `suggest` on one document with nothing cached, and what its rule costs in quality.

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
from collections.abc import Mapping
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
    parser.add_argument("--documents", type=int, default=500, help="of each corpus, for the quality")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    found: dict[str, Any] = {"seconds": {}, "quality": {}}
    for name in [name for name in TIMED if name in options.corpora] or options.corpora[:1]:
        levels = machine.levels().items()
        found["seconds"][name] = {level: seconds(name, variables, options.rounds) for level, variables in levels}
        print(name, found["seconds"][name], flush=True)
    for name in options.corpora:
        found["quality"][name] = quality(name, options.documents)
        print(name, found["quality"][name], flush=True)
    figures.write(options.output, found)


def seconds(name: str, variables: Mapping[str, str], rounds: int) -> dict[str, float]:
    """The whole process on one dev document, with an empty cache each time: median, least and most."""
    times = []
    first = corpora.documents(name, "dev", 1)[0]
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            document = Path(folder) / "document.jsonl"
            document.write_text(json.dumps(asdict(first), ensure_ascii=False) + "\n", encoding="utf-8")
            command = [sys.executable, "-m", "tagwright", "suggest", str(document), "--labels"]
            start = time.perf_counter()
            subprocess.run(
                [*command, str(corpora.folder(name) / "labels.jsonl.gz")],
                env={**os.environ, **variables, "TAGWRIGHT_CACHE": folder},
                stdout=subprocess.DEVNULL,
                check=True,
            )
            times.append(time.perf_counter() - start)
    return {"median": round(statistics.median(times), 1), "min": round(min(times), 1), "max": round(max(times), 1)}


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
