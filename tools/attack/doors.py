"""Eight honest clients beside what is cheap to send and dear to answer, one kind after the other, with and without it.

`python -m tools.attack.doors` prints a table and writes results/doors.json. Its exit status is 1 where a bound is
exceeded, see `BOUNDS`. For Linux; nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import io
import json
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import figures
from benchmarks.serve_load import entered
from tests.readers.documents.catalogue_records import marc_record, utf8
from tools.attack.fuzz import Server, started
from tools.attack.heavy import HONEST, MB, TOKENS, _asked, _connected, _latency, _post, _together, _with, _word, honest
from tools.attack.requests import FORM, JSON, MULTIPART, Request, part

from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.types import Document

BOUNDS = {"p99 times": 3.0, "most ms": 2000.0, "memory MB": 400.0, "log MB": 1.0}
"Of honest clients: the 99th percentile, times that without the attack; the longest wait. Of the server: above rest."

LABELS, LONG = 60_000, 4_500_000
"Labels of the vocabulary; characters of each of eight documents under review."


class Target(NamedTuple):
    """A server with the session of a reviewer."""

    address: tuple[str, int]
    cookie: str
    csrf: str


Attack = Callable[[Target, float], list[int]]
"Sends requests until a time; the statuses of the answers, 0 for none."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.attack.doors", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="of each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--results", type=Path, default=figures.RESULTS / "doors.json")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = measured(Path(folder), name, options.seconds, options.turns)
        print(row(name, found[name]), flush=True)
        figures.write(options.results, found)
    sys.exit(1 if any(each["exceeded"] for each in found.values()) else 0)


def row(name: str, found: Mapping[str, Any]) -> str:
    """A line of the table."""
    quiet, loud = found["without the attack"], found["with the attack"]
    waits = ", ".join(f"{each} {quiet[each]:.0f} -> {loud[each]:.0f}" for each in ("p50 ms", "p99 ms", "most ms"))
    rest = f"memory +{found['memory above rest, MB']} MB, log {found['log, MB']} MB, answers {found['attack']}"
    return f"{name:10} {waits}; /health most {found['health, most ms']:.0f} ms; {rest}; exceeded: {found['exceeded']}"


def measured(folder: Path, name: str, seconds: float, turns: int) -> dict[str, Any]:
    """Latency of honest clients with and without an attack, in turns; memory, log, and the answers to the attack."""
    quiet, loud, health, statuses = list[float](), list[float](), list[float](), Counter[str]()
    with serving(folder, tools=name == "mcp") as (server, target):
        honest(server.address, 3)
        rest, log = server.memory(), server.log.stat().st_size
        with server.watched() as peak:
            for _ in range(turns):
                quiet += honest(server.address, seconds)
                with attacked(ATTACKS[name], target, seconds) as collected, probed(server.address, health):
                    loud += honest(server.address, seconds)
                statuses.update(map(str, collected))
        grown = server.log.stat().st_size - log
    without, beside = _latency(quiet), _latency(loud)
    figures_ = {
        "p99 times": beside["p99 ms"] / without["p99 ms"], "most ms": max(beside["most ms"], 1000 * max(health)),
        "memory MB": (max(peak) - rest) / MB, "log MB": grown / MB,
    }  # fmt: skip
    return {
        "honest clients": HONEST, "without the attack": without, "with the attack": beside,
        "health, most ms": round(1000 * max(health), 1), "p99 times": round(figures_["p99 times"], 2),
        "memory above rest, MB": round(figures_["memory MB"]), "log, MB": round(figures_["log MB"], 3),
        "attack": dict(statuses), "exceeded": [each for each, most in BOUNDS.items() if figures_[each] > most],
    }  # fmt: skip


@contextmanager
def serving(folder: Path, *, tools: bool) -> Iterator[tuple[Server, Target]]:
    """A server over many labels, exact match and TF-IDF, with a review; or one with tools for assistants."""
    rng = random.Random(0)
    with (folder / "labels.jsonl").open("w", encoding="utf-8") as labels:
        for number in range(LABELS):
            names = [f"{_word(rng)} {_word(rng)}"]
            labels.write(
                json.dumps({"id": f"x{number}", "names": names, "broader": [f"x{number // 10}"][:number]}) + "\n"
            )
    tokens = "".join(f"{token} {'review' if name == 'files' else 'suggest'} {name}\n" for name, token in TOKENS.items())
    (folder / "tokens").write_text(tokens, encoding="utf-8")
    words = ("--labels", "labels.jsonl", "--set", "stages=['exact_match', 'tfidf']", "--tokens", "tokens")
    if tools:
        with started(folder, *words, command=("mcp", "--http")) as server:
            yield server, Target(server.address, "", "")
        return
    with closing(ReviewFile(folder / "reviews.sqlite")) as file:
        text = " ".join(_word(rng) for _ in range(LONG // 7))
        ReviewedDocuments(file).add(Document(f"m{number}", str(number), text) for number in range(8))
        for number in range(8):
            given: dict[str, Any] = {"document": f"m{number}", "reviewer": "Ann"}
            Decisions(file).add_all([Decision(action="accept", label="x1", **given), Decision(action="done", **given)])
    with started(folder, *words, "--reviews", "reviews.sqlite") as server:
        yield server, Target(server.address, *entered(server.address, token=TOKENS["files"]))


@contextmanager
def attacked(attack: Attack, target: Target, seconds: float) -> Iterator[list[int]]:
    """Attack in a process of its own for as long as this block runs; then the statuses of the answers."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def run() -> None:
        os.nice(10)  # it comes from another machine: it takes no processor from the server
        there.send(attack(target, time.monotonic() + seconds))

    process = context.Process(target=run)
    process.start()
    found = list[int]()
    try:
        yield found
        if here.poll(60):
            found += here.recv()
    finally:
        process.kill()
        process.join()


@contextmanager
def probed(address: tuple[str, int], waits: list[float]) -> Iterator[None]:
    """Ask again and again whether the server is alive. waits: gets the seconds until each answer."""
    ended = threading.Event()

    def probe() -> None:
        while not ended.wait(0.02):
            begun = time.monotonic()
            connection = http.client.HTTPConnection(*address, timeout=60)
            connection.request("GET", "/health")
            connection.getresponse().read()
            connection.close()
            waits.append(time.monotonic() - begun)

    thread = threading.Thread(target=probe)
    thread.start()
    yield
    ended.set()
    thread.join()


def repeated(requests: Sequence[Request], at_once: int) -> Attack:
    """Send these requests again and again, so many at once."""

    def attack(target: Target, end: float) -> list[int]:
        statuses, mine = list[int](), [_for(each, target) for each in requests]

        def client(number: int) -> None:
            while time.monotonic() < end:
                statuses.append(_asked(target.address, mine[number % len(mine)], end))
                number += 1

        _together([lambda number=number: client(number) for number in range(at_once)])  # type: ignore[misc]
        return statuses

    return attack


def _for(request: Request, target: Target) -> Request:
    """The request with the session of the reviewer, or with a token."""
    if not request.target.startswith("/review"):
        return _with(request, "bodies")
    body = request.body.replace(b"CSRF", target.csrf.encode())
    return request._replace(headers=(*request.headers, ("Cookie", target.cookie)), body=body)


def records(good: int, bad: int = 0) -> Request:
    """A form with a compressed file of so many records, and of so many that cannot be read."""
    record = utf8(marc_record([("001", "m1"), ("245", ("00", "aHoney bees"))]))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6) as file:
        for start in range(0, good, 10_000):
            file.write(record * min(10_000, good - start))
        file.write(b"x\x1d" * bad)
    head = b'--limit\r\nContent-Disposition: form-data; name="records"; filename="in.mrc.gz"\r\n\r\n'
    form = part("csrf", "CSRF", end=b"") + part("source", "local", end=b"")
    return Request(
        "POST", "/review/enrich", (("Content-Type", MULTIPART),), form + head + packed.getvalue() + b"\r\n--limit--\r\n"
    )


def unread(target: Target, end: float) -> list[int]:
    """Ask for forty exports and read none; look at the overview meanwhile."""
    request = _for(Request("GET", "/review/export?format=csv"), target)
    held = [each for each in (_connected(target.address) for _ in range(40)) if each]
    for each in held:
        with suppress(OSError):
            each.sendall(request.wire())
    statuses = list[int]()
    while time.monotonic() < end:
        statuses.append(_asked(target.address, _for(Request("GET", "/review/overview"), target), end))
    for each in held:
        each.close()
    return statuses


def reconcile() -> Request:
    """Five queries with a hundred candidates each and a thousand values of a property."""
    values = [f"bo{number} ba" for number in range(1000)]
    queries = {
        f"q{number}": {"query": f"b{'aeiou'[number]}", "limit": 100, "properties": [{"pid": "broader", "v": values}]}
        for number in range(5)
    }
    return _post("/reconcile", FORM, b"queries=" + json.dumps(queries).encode())


def message(arguments: Mapping[str, Any]) -> Request:
    """A call of a tool."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "suggest", "arguments": arguments}}
    accept = ("Accept", "application/json, text/event-stream")
    request = _post("/mcp", JSON, json.dumps(call).encode())
    return request._replace(headers=(*request.headers, accept))


ATTACKS: Mapping[str, Attack] = {
    "records": lambda target, end: repeated([records(12_000_000), records(1_000_000)], 4)(target, end),
    "log lines": lambda target, end: repeated([records(1, 300_000)], 4)(target, end),
    "exports": unread,
    "reconcile": repeated([reconcile()], 8),
    "mcp": lambda target, end: repeated(
        [message({"text": "b", "only": ["1"] * 1_000_000}), message({"text": "bees and " * 440_000})], 10
    )(target, end),
}
"N2, N3, N4, N5 and N8 of the third attack."

if __name__ == "__main__":
    main(sys.argv[1:])
