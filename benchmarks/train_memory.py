"""Memory and time of training over the number of documents: `python -m benchmarks train_memory [--sizes 10000 50000]`.

The commands `train rts` with the static encoder, 50 steps, and `train svm`, on the made-up texts of `scale`, which are
read from a file. Labels are 100 words of middling frequency; the documents that hold one have it four times in five.
Every figure is measured in a process of its own with one thread: seconds of the processor, and peak memory of that
process, pages of mapped files included. Results are written as they come; those that are there are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.scale import ONE_THREAD
from benchmarks.scale_measures import Clock, peak_memory
from benchmarks.scale_texts import texts

RESULTS = Path(__file__).parent / "results" / "train_memory.json"
SIZES = (10_000, 50_000, 200_000)
METHODS = {
    "rts": ["--set", "encoder=static", "--set", "training.steps=50"],
    "svm": ["--set", "workers=1"],
}
LABELS, SKIPPED, KEPT = 100, 1_000, 0.8
"Words that are labels, more frequent ones that are none, and how often a label that fits is given."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks train_memory", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--work", type=Path, help="a folder for texts, which may be used again")
    parser.add_argument("--measure", choices=METHODS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measured(options.measure, options.work, options.sizes[0])))
        return
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for size in sorted(options.sizes):
            for method in options.only:
                add(options.output, method, size, work)


def add(output: Path, method: str, size: int, work: Path) -> None:
    """Measure one figure unless it is there."""
    from tagwright.store import replace_file

    result = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    rows = result.setdefault("rows", {}).setdefault(method, {})
    if str(size) in rows:
        return
    source = labelled_texts(work, size)
    command = [sys.executable, "-m", "benchmarks", "train_memory", "--measure", method, "--sizes", str(size)]
    done = subprocess.run(
        [*command, "--work", str(work)], check=True, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD}
    )
    rows[str(size)] = json.loads(done.stdout.splitlines()[-1])
    result |= {"machine": machine.describe(), "words": source}
    print(f"{method:6} {size:10,} {rows[str(size)]}", file=sys.stderr, flush=True)
    with replace_file(output) as file:
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def labelled_texts(work: Path, count: int) -> str:
    """Write so many documents with labels, and the labels, unless they are there. Returns where the words come from."""
    source, path = texts(work, "documents", count), work / f"labelled-{count}.jsonl"
    if path.is_file():
        return source
    rng, names = random.Random(count), _names(work / f"documents-{count}.jsonl")
    with path.with_suffix(".part").open("w", encoding="utf-8") as file:
        for record in _records(work / f"documents-{count}.jsonl"):
            fitting = sorted(names & set(record["abstract"].split()))
            record["labels"] = [name for name in fitting if rng.random() < KEPT]
            file.write(json.dumps(record) + "\n")
    vocabulary = "".join(json.dumps({"id": name, "names": [name]}) + "\n" for name in sorted(names))
    (work / f"vocabulary-{count}.jsonl").write_text(vocabulary, encoding="utf-8")
    path.with_suffix(".part").replace(path)
    return source


def measured(method: str, work: Path, size: int) -> dict[str, Any]:
    """Seconds and peak memory of one training, in this process."""
    from tagwright.app.cli import app

    clock = Clock()
    documents, labels = work / f"labelled-{size}.jsonl", work / f"vocabulary-{size}.jsonl"
    with tempfile.TemporaryDirectory(dir=work) as folder:
        where = ["--labels", str(labels), "--output", str(Path(folder) / "model")]
        command = ["train", method, str(documents), *where, *METHODS[method], "--no-check", "--quiet", "--offline"]
        app(command, standalone_mode=False)
    clock("train")
    return {**clock.rounded, "peak_mb": round(peak_memory(), 1)}


def _names(path: Path) -> set[str]:
    """Words of middling frequency in the first documents."""
    counts = Counter[str]()
    for record in islice(_records(path), 10_000):
        counts.update(set(record["abstract"].split()))
    return {word for word, _ in counts.most_common(SKIPPED + LABELS)[SKIPPED:]}


def _records(path: Path) -> Any:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
