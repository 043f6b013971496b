"""A running server: requests a second against the library and Annif, memory, overload, label search, weight of a page.

`python -m benchmarks serve` writes each part to results/serve.json when it is measured; a part that is there is left
out, until --again. Annif runs in the environment that `python -m benchmarks peers --install` makes. For Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from benchmarks import corpora
from benchmarks.attack_server import write
from benchmarks.machine import describe
from benchmarks.serve_annif import annif
from benchmarks.serve_labels import label_search
from benchmarks.serve_load import Service, batches, load, measured, milliseconds, resident, single

from tagwright.methods import zeroshot

RESULTS = Path(__file__).parent / "results" / "serve.json"
CORPUS = "epmc"
CHARACTERS = 2000
"Of each text."
CLIENTS = (1, 8, 64)
Stages = tuple[Literal["exact_match", "tfidf"], ...]
WORDS: Stages = ("exact_match", "tfidf")
QUEUE = 256
"Requests that may wait before others are refused."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of clients")
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--again", action="store_true", help="measure what is there already as well")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    corpora.require((CORPUS,))
    for name in options.only:
        found = json.loads(options.results.read_text(encoding="utf-8")) if options.results.exists() else {}
        if name not in found or options.again:
            found["machine"] = describe()
            found[name] = PARTS[name](options.seconds)
            write(options.results, found)
            print(name, json.dumps(found[name]), flush=True)


def texts() -> list[str]:
    """The beginnings of the documents of the development set."""
    return [document.text[:CHARACTERS] for document in corpora.documents(CORPUS, "dev")]


@contextmanager
def tagwright(stages: Stages = (), *more: str, labels: Path | None = None) -> Iterator[Service]:
    """Our server over the vocabulary: zero-shot, with these stages or those of the default."""
    path = labels or corpora.FOLDER / CORPUS / "labels.jsonl.gz"
    chosen = ["--set", f"stages={list(stages)}"] if stages else []
    command = [sys.executable, "-m", "tagwright", "serve", "--labels", str(path), "--port", "0", "--quiet", *chosen]
    own = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([*command, *more], env=own, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = re.search(r"http://([^/:]+):(\d+)", process.stdout.readline())
        assert said, "the server did not start"
        yield Service((said[1], int(said[2])), "zero-shot", process.pid)
    finally:
        process.kill()
        process.communicate()


def answers(service: Service, seconds: float) -> dict[str, Any]:
    """One document a request and 32, at several numbers of clients, after a few requests to warm up."""
    given = texts()
    load(service, single(service.project, given), 2, lambda number, _: number < 20)
    return {
        "single": [measured(service, single(service.project, given), clients, seconds) for clients in CLIENTS],
        "batches of 32": [measured(service, batches(service.project, given), clients, seconds) for clients in CLIENTS],
        "memory MB": resident(service.pid),
    }


def library(stages: Stages, seconds: float) -> dict[str, Any]:
    """One call of the library for each document, one after the other."""
    tagger = zeroshot.fit(corpora.labels(CORPUS), zeroshot.Config(stages=stages) if stages else zeroshot.Config())
    given, took = texts(), list[float]()
    for text in given[:10]:
        tagger.suggest([text], k=10, progress=False)
    begun, used = time.perf_counter(), time.process_time()
    while (start := time.perf_counter()) - begun < seconds:
        tagger.suggest([given[len(took) % len(given)]], k=10, progress=False)
        took.append(time.perf_counter() - start)
    return {
        "documents/s": round(len(took) / sum(took), 1),
        **milliseconds(took),
        "processor ms a document": round(1000 * (time.process_time() - used) / len(took), 2),
        "load of the machine": round(os.getloadavg()[0], 1),
    }


def against_library(stages: Stages, seconds: float) -> dict[str, Any]:
    """The server, and the library just before and after it."""
    before = library(stages, seconds)
    with tagwright(stages) as service:
        found = answers(service, seconds)
    return {**found, "library": [before, library(stages, seconds)]}


def against_annif(seconds: float) -> dict[str, Any]:
    """Annif's tfidf and mllm over the same vocabulary, learnt from the training set."""
    with tempfile.TemporaryDirectory(prefix="tagwright-annif-") as folder, annif(Path(folder), CORPUS) as services:
        return {service.project: answers(service, seconds) for service in services}


def memory(_: float, requests: int = 20_000) -> dict[str, Any]:
    """Megabytes after every 2,000 requests of 8 clients."""
    given = texts()
    with tagwright(WORDS) as service:
        ask = single(service.project, given)
        held = [resident(service.pid)]
        for _ in range(requests // 2000):
            load(service, ask, 8, lambda number, _: number < 2000)
            held.append(resident(service.pid))
    return {"requests": requests, "MB after every 2,000": held}


def overload(seconds: float) -> dict[str, Any]:
    """Ten times as many clients as may wait, each asking again at once; then one client."""
    given = texts()
    with tagwright() as service:
        ask = single(service.project, given)
        load(service, ask, 2, lambda number, _: number < 20)
        usual = measured(service, ask, 1, seconds)
        seen = load(service, ask, 10 * QUEUE, lambda _, elapsed: elapsed < 3 * seconds)
        ended = time.perf_counter()
        first = load(service, ask, 1, lambda number, _: number < 1)
        recovered = time.perf_counter() - ended
        after = measured(service, ask, 1, seconds)
    rate = seen.statuses.total() / seen.seconds
    return {
        "one client before": usual,
        "clients": 10 * QUEUE,
        "answered/s": round(seen.statuses[200] / seen.seconds, 1),
        "asked/s": round(rate, 1),
        "asked, times what is answered": round(rate / (seen.statuses[200] / seen.seconds), 1),
        "statuses": {str(status): count for status, count in seen.statuses.items()},
        "refused (503)": milliseconds(seen.took.get(503, [])),
        "answered (200)": milliseconds(seen.took.get(200, [])),
        "first answer afterwards": {"statuses": dict(first.statuses), "seconds": round(recovered, 2)},
        "one client afterwards": after,
    }


def labels(_: float) -> dict[str, Any]:
    """Searches among a million labels, in the library and over HTTP, and the bytes of a page of a review over them."""
    return label_search(tagwright)


PARTS: Mapping[str, Callable[[float], dict[str, Any]]] = {
    "words": lambda seconds: against_library(WORDS, seconds),
    "zero-shot": lambda seconds: against_library((), seconds),
    "annif": against_annif,
    "overload": overload,
    "labels": labels,
    "memory": memory,
}
"words: exact matches and TF-IDF; zero-shot: the default, with an encoder."
