"""Meta-path sampling on a corpus of a million documents, on one venue of 60,000, and on arXiv: time and memory.

    python -m benchmarks graph [--documents 1000000] [--arxiv FILE]

Prints one JSON object. Making the documents up or reading them is part of the building time. Memory is the peak of the
process so far, so that each network is measured in a process of its own; --only names the one to measure.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora

from tagwright.graph.neighbours import Neighbours
from tagwright.graph.network import Graph
from tagwright.types import Document

ARXIV = corpora.folder("arxiv") / "train.jsonl.gz"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="graph", description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000, help="size of the synthetic corpus")
    parser.add_argument("--arxiv", type=Path, default=ARXIV, help="train.jsonl.gz of the arxiv corpus")
    parser.add_argument("--only", choices=["citations", "venue", "arxiv"], help="measure one network, in this process")
    options = parser.parse_args(arguments)
    if options.only is None:
        networks = ["citations", "venue"] + (["arxiv"] if options.arxiv.is_file() else [])
        print(json.dumps({name: _in_own_process(name, arguments) for name in networks}, indent=1))
    elif options.only == "citations":
        print(json.dumps(_measure(citing(options.documents), ["P->P<-P", "P<-P->P", "P-A-P"], pairs=50_000)))
    elif options.only == "venue":
        print(json.dumps(_measure(_one_venue(60_000), ["P-V-P"], pairs=100_000)))
    else:
        print(json.dumps(_measure(_read(options.arxiv), ["P-A-P", "P-(A,A)-P"], pairs=50_000)))


def _in_own_process(name: str, arguments: list[str]) -> Any:
    program = f"from benchmarks.graph import main; main({[*arguments, '--only', name]!r})"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def _measure(documents: Iterable[Document], paths: list[str], pairs: int) -> dict[str, Any]:
    start, processor = time.perf_counter(), time.process_time()
    graph = Graph.of(documents)
    built: dict[str, Any] = {
        "documents": graph.documents,
        "build_s": _seconds_since(start),
        "build_cpu_s": round(time.process_time() - processor, 2),
        "build_peak_mb": _peak_mb(),
    }
    return built | {path: _sampling(graph, path, pairs) for path in paths} | {"peak_mb": _peak_mb()}


def _sampling(graph: Graph, path: str, pairs: int) -> dict[str, Any]:
    neighbours = graph.follow(path)
    figures: dict[str, Any] = {"pairs": pairs, "uniform": _draws(neighbours, pairs, by_value=False)}
    if "(" not in path:
        figures["by_value"] = _draws(neighbours, pairs, by_value=True)
    start = time.perf_counter()
    coverage = graph.coverage(path)
    figures |= {"share": round(coverage.share, 4), "median": coverage.median, "largest": coverage.largest}
    return figures | {"measured": coverage.measured, "coverage_s": _seconds_since(start)}


def _draws(neighbours: Neighbours, pairs: int, *, by_value: bool) -> dict[str, float]:
    """Seconds for the pairs, and how much hubs weigh: the median number of neighbours of the documents drawn as d+."""
    start = time.perf_counter()
    _, drawn = neighbours.sample(pairs, seed=0, by_value=by_value)
    seconds = _seconds_since(start)
    return {"seconds": seconds, "median_neighbours_of_drawn": float(np.median(neighbours.sizes(drawn[:200])))}


def citing(count: int, references: int = 10, authors: int = 4) -> Iterator[Document]:
    """References to works of the corpus and twice as many outside, skewed to the early ones; authors skewed too."""
    rng = np.random.default_rng(0)
    for number in range(count):
        cited = (3 * count * rng.random(references) ** 3).astype(int).tolist()
        wrote = (count * rng.random(authors) ** 2).astype(int).tolist()
        metadata = {"reference": tuple(f"W{work}" for work in cited), "author": tuple(f"A{one}" for one in wrote)}
        yield Document(f"W{number}", metadata=metadata)


def _one_venue(count: int) -> Iterator[Document]:
    return (Document(str(number), metadata={"venue": ("the only one",)}) for number in range(count))


def _read(path: Path) -> Iterator[Document]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield Document(row["id"], metadata={field: tuple(values) for field, values in row["metadata"].items()})


def _seconds_since(start: float) -> float:
    return round(time.perf_counter() - start, 2)


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
