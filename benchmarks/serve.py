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
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from benchmarks import corpora, figures
from benchmarks.serve_annif import annif
from benchmarks.serve_labels import label_search, page_weight
from benchmarks.serve_load import Service, batches, load, measured, milliseconds, resident, single

from tagwright.tagger import zero_shot

RESULTS = figures.RESULTS / "serve.json"
CORPUS = "epmc"
CHARACTERS = 2000
"Of each text."
CLIENTS = (1, 8, 64)
Stages = tuple[Literal["exact_match", "tfidf"], ...]
WORDS: Stages = ("exact_match", "tfidf")
OURS = "tagwright"
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
        found = figures.read(options.results)
        if name not in found or options.again:
            found[name] = PARTS[name](options.seconds)
            figures.write(options.results, found)
            print(name, json.dumps(found[name]), flush=True)


def texts() -> list[str]:
    """The beginnings of the documents of the development set."""
    return [document.text[:CHARACTERS] for document in corpora.documents(CORPUS, "dev")]


@contextmanager
def tagwright(stages: Stages = (), *more: str) -> Iterator[Service]:
    """Our server over the vocabulary: zero_shot, with these stages or those of the default."""
    path = corpora.folder(CORPUS) / "labels.jsonl.gz"
    chosen = ["--set", f"stages={list(stages)}"] if stages else []
    command = [sys.executable, "-m", "tagwright", "serve", "--labels", str(path), "--port", "0", "--quiet", *chosen]
    own = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([*command, *more], env=own, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = re.search(r"http://([^/:]+):(\d+)", process.stdout.readline())
        assert said, "the server did not start"
        yield Service((said[1], int(said[2])), "zero_shot", process.pid)
    finally:
        process.kill()
        process.communicate()


def answers(services: Mapping[str, Service], seconds: float) -> dict[str, Any]:
    """One document a request and 32, at several numbers of clients: the servers in turn, after a few requests each."""
    given, found = texts(), dict[str, dict[str, Any]]()
    for name, service in services.items():
        load(service, single(service.project, given), 2, lambda number, _: number < 20)
        found[name] = {"single": [], "batches of 32": []}
    for kind, ask in (("single", single), ("batches of 32", batches)):
        for clients in CLIENTS:
            for name, service in services.items():
                found[name][kind].append(measured(service, ask(service.project, given), clients, seconds))
    for name, service in services.items():
        found[name]["memory MB"] = resident(service.pid)
    return found


def library(stages: Stages, seconds: float) -> dict[str, Any]:
    """One call of the library for each document, one after the other."""
    tagger = zero_shot.fit(corpora.labels(CORPUS), zero_shot.Config(stages=stages) if stages else zero_shot.Config())
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
        found = answers({OURS: service}, seconds)[OURS]
    return {**found, "library": [before, library(stages, seconds)]}


def against_annif(seconds: float) -> dict[str, Any]:
    """Exact matches and TF-IDF against Annif's tfidf and mllm, in turn, over one vocabulary."""
    with annif(CORPUS) as services, tagwright(WORDS) as service:
        return answers({OURS: service} | {each.project: each for each in services}, seconds)


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
    """Ten times as many requests a second as 64 clients get answered; then one client."""
    given = texts()
    with tagwright() as service:
        ask = single(service.project, given)
        load(service, ask, 2, lambda number, _: number < 20)
        before, most = measured(service, ask, 1, seconds), measured(service, ask, 64, seconds)
        lasts, pace = 6 * seconds, 10 * most["documents/s"]
        seen = load(service, ask, QUEUE + 64, lambda _, elapsed: elapsed < lasts, pace)
        after = measured(service, ask, 1, seconds)
    return {
        "one client before": before,
        "64 clients before": most,
        "asked/s": round(seen.statuses.total() / lasts, 1),
        "seconds": lasts,
        "seconds until all who waited are answered": round(seen.seconds - lasts, 1),
        "statuses": {str(status): count for status, count in seen.statuses.items()},
        "refused (503)": milliseconds(seen.took.get(503, [])),
        "answered (200)": milliseconds(seen.took.get(200, [])),
        "one client afterwards": after,
    }


PARTS: Mapping[str, Callable[[float], dict[str, Any]]] = {
    "words": lambda seconds: against_library(WORDS, seconds),
    "zero-shot": lambda seconds: against_library((), seconds),
    "annif": against_annif,
    "overload": overload,
    "labels": lambda _: label_search(),
    "page": lambda _: page_weight(tagwright),
    "memory": memory,
}
"words: exact matches and TF-IDF; zero_shot: the default, with an encoder."
