"""A million labels in; how long a search among them takes, and what a page of a review over them weighs, out."""

from __future__ import annotations

import http.client
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.serve_load import Service, entered, milliseconds

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.label_search import kept_index

LABELS = 1_000_000
SEARCHES = 5000

Serve = Callable[..., AbstractContextManager[Service]]


def label_search() -> dict[str, Any]:
    """Searches among made-up labels. The index is made on disk first, and kept for the next time."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory(prefix="tagwright-labels-") as name:
        path, records = Path(name) / "labels.jsonl", made_up(rng)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        queries = [typed(rng.choice(rng.choice(records)["names"]), rng) for _ in range(SEARCHES)]
        search = kept_index(Vocabulary.read(path))
        return {"labels": LABELS, **searched(search, queries)}


def page_weight(serve: Serve) -> dict[str, int]:
    """Bytes of a page with a document of 300 names, 20 suggestions, and of all that it loads."""
    with tempfile.TemporaryDirectory(prefix="tagwright-page-") as name:
        folder = Path(name)
        text = ", ".join(label.name for label in corpora.labels("epmc")[:300])
        document = {"id": "1", "title": "Subject headings", "text": text}
        (folder / "documents.jsonl").write_text(json.dumps(document) + "\n", encoding="utf-8")
        reviewed = ("--reviews", str(folder / "reviews.sqlite"), "--documents", str(folder / "documents.jsonl"))
        with serve(("exact_match", "tfidf"), *reviewed) as service:
            return page(service)


def made_up(rng: random.Random) -> list[dict[str, Any]]:
    """Labels whose names join those of two subject headings; half of them have another name."""
    names = [label.name for label in corpora.labels("epmc")]
    return [
        {"id": f"L{number}", "names": [f"{rng.choice(names)}, {rng.choice(names)}" for _ in range(rng.choice((1, 2)))]}
        for number in range(LABELS)
    ]


def typed(name: str, rng: random.Random) -> str:
    """What somebody may have typed who looks for a label: its beginning, two begun words, or part of a word."""
    words = name.split()
    way = rng.choice(("beginning", "beginning", "words", "inside"))
    if way == "beginning":
        return name[: rng.randint(1, len(name))]
    if way == "words":
        return " ".join(word[: rng.randint(1, len(word))] for word in rng.sample(words, min(2, len(words))))
    start = rng.randrange(max(1, len(name) - 3))
    return name[start : start + rng.randint(3, 8)]


def searched(search: Callable[[str, int], Sequence[int]], queries: Sequence[str]) -> dict[str, Any]:
    """Times, and those of this thread on the processor, which a busy machine does not change as much."""
    took, used = list[float](), list[float]()
    for query in queries:
        start, before = time.perf_counter(), time.thread_time()
        search(query, 10)
        took.append(time.perf_counter() - start)
        used.append(time.thread_time() - before)
    found = {"searches": len(took), **milliseconds(took), "longest ms": round(1000 * max(took), 1)}
    return {**found, "processor": milliseconds(used), "load of the machine": round(os.getloadavg()[0], 1)}


def page(service: Service) -> dict[str, int]:
    """Bytes of a page with a document, and of all that it loads."""
    cookie, _ = entered(service.address)
    connection = http.client.HTTPConnection(*service.address, timeout=600)
    found = {}
    for path in ("/review/documents/1", "/static/page.css", "/static/page.js", "/static/review.js", "/static/icon.svg"):
        connection.request("GET", path, headers={"Cookie": cookie})
        found[path.rpartition("/")[2]] = len(connection.getresponse().read())
    return {**found, "all": sum(found.values())}
