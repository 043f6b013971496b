"""A million labels in; how long a search among them takes, and what a page of a review over them weighs, out."""

from __future__ import annotations

import http.client
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks import corpora
from benchmarks.attack_fuzz import entered
from benchmarks.serve_load import Service, milliseconds

from tagwright.data.vocabulary import Vocabulary
from tagwright.server.label_search import LabelSearch

LABELS = 1_000_000
SEARCHES = 5000

Serve = Callable[..., AbstractContextManager[Service]]


def label_search(serve: Serve) -> dict[str, Any]:
    """All that is measured."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory(prefix="tagwright-labels-") as name:
        folder = Path(name)
        records = made_up(rng)
        with (folder / "labels.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        queries = [typed(rng.choice(rng.choice(records)["names"]), rng) for _ in range(SEARCHES)]
        vocabulary = Vocabulary.read(folder / "labels.jsonl")
        begun = time.perf_counter()
        search = LabelSearch(vocabulary, folder / "index.sqlite")
        built = time.perf_counter() - begun
        found = {"labels": LABELS, "seconds to build the index": round(built), "library": searched(search, queries)}
        search.close()
        document = {
            "id": "1",
            "title": records[7]["names"][0],
            "text": " ".join(each["names"][0] for each in records[:300]),
        }
        (folder / "documents.jsonl").write_text(json.dumps(document) + "\n", encoding="utf-8")
        given = (
            "--language",
            "en",
            "--reviews",
            str(folder / "reviews.sqlite"),
            "--documents",
            str(folder / "documents.jsonl"),
        )
        with serve(("exact_match",), "--set", "weights=[1.0]", *given, labels=folder / "labels.jsonl") as service:
            return {**found, "over HTTP": over_http(service, queries), "page": page(service)}


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
    took = list[float]()
    for query in queries:
        start = time.perf_counter()
        search(query, 10)
        took.append(time.perf_counter() - start)
    return {"searches": len(took), **milliseconds(took), "longest ms": round(1000 * max(took), 1)}


def over_http(service: Service, queries: Sequence[str]) -> dict[str, Any]:
    """The same through the server, one after the other, after its index is there."""
    connection = http.client.HTTPConnection(*service.address, timeout=600)

    def ask(query: str, limit: int) -> Sequence[int]:
        connection.request("GET", f"/api/labels?q={quote(query)}&limit={limit}")
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return []

    ask("a", 10)
    return searched(ask, queries)


def page(service: Service) -> dict[str, int]:
    """Bytes of a page with a document, and of all that it loads."""
    cookie, _ = entered(service.address)
    connection = http.client.HTTPConnection(*service.address, timeout=600)
    found = {}
    for path in ("/review/documents/1", "/static/review.css", "/static/review.js", "/static/icon.svg"):
        connection.request("GET", path, headers={"Cookie": cookie})
        found[path.rpartition("/")[2]] = len(connection.getresponse().read())
    return {**found, "all": sum(found.values())}
