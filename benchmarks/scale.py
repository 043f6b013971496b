"""Time and memory over the number of documents and of labels: `python -m benchmarks scale [--sizes 10000 100000]`.

Texts and names of labels are drawn word by word, with the frequencies of words and the lengths of real ones where the
corpora are beside the project (abstracts of arxiv, labels of epmc), and by Zipf's law otherwise. Every figure is
measured in a process of its own with one thread and no cache: seconds of the processor, so that other work on the
machine counts as little as possible, and peak memory. The slope is that of a line through the logarithms: 1 is
proportional. Results are written as they come; those that are there are kept.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import corpora, figures, machine
from benchmarks.scale_measures import FIXED, MEASURES, Clock
from benchmarks.scale_texts import texts

SIZES = (10_000, 100_000, 1_000_000)
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
ENVIRONMENT = {**ONE_THREAD, "TAGWRIGHT_CACHE_LIMIT": "0"}


def main(arguments: list[str]) -> None:
    parser = corpora.parser("scale", __doc__, ())
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", nargs="+", choices=sorted(MEASURES), default=list(MEASURES))
    parser.add_argument("--work", type=Path, help="a folder for texts, which may be used again")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measured(options.measure, options.work, options.sizes[0])))
        return
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for size in sorted(options.sizes):
            for name in options.only:
                add(options.output, name, size, work)


def add(output: Path, name: str, size: int, work: Path) -> None:
    """Measure one figure unless it is there, and fit its slope anew."""
    result = figures.read(output)
    rows = result.setdefault("rows", {}).setdefault(name, {})
    if str(size) in rows:
        return
    axis = MEASURES[name][0]
    source = texts(work, "documents", size if axis == "documents" else FIXED["labels"])
    texts(work, "labels", size if axis == "labels" else FIXED["documents"])
    asked = ("--measure", name, "--sizes", str(size), "--work", str(work))
    rows[str(size)] = machine.in_own_process("scale", *asked, variables=ENVIRONMENT)
    result |= {"words": source, "slopes": slopes(result["rows"])}
    print(f"{name:28} {size:10,} {rows[str(size)]} slope {result['slopes'].get(name)}", file=sys.stderr, flush=True)
    figures.write(output, result)


def slopes(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """By figure, of each of its seconds and of peak memory, where there are two sizes and something at each."""
    return {
        name: {
            what: round(slope([int(size) for size in found], [each[what] for each in found.values()]), 3)
            for what in next(iter(found.values()))
            if all(each[what] > 0 for each in found.values())
        }
        for name, found in rows.items()
        if len(found) > 1
    }


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms.

    Twice as much for twice as many, four times as much for four times as many:

    >>> slope([1, 2, 4], [3.0, 6.0, 12.0])
    1.0
    """
    x, y = ([math.log(value) for value in each] for each in (sizes, values))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return round(products / sum((a - mean_x) ** 2 for a in x), 12)


def measured(name: str, work: Path, size: int) -> dict[str, Any]:
    """Time and peak memory of one figure, in this process."""
    axis, measure = MEASURES[name]
    documents, labels = (
        work / f"{kind}-{size if axis == kind else FIXED[axis]}.jsonl" for kind in ("documents", "labels")
    )
    clock = Clock()
    measure(documents, labels, clock)
    return {**clock.rounded, "peak_mb": round(machine.peak_mb(), 1)}
