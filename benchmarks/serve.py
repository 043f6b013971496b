"""A running server: documents a second and milliseconds of an answer for 1, 8 and 64 clients, and its memory.

`python -m benchmarks serve` asks servers over 30,764 labels for one document and for 32 a request: one with exact
match and TF-IDF, one with the default and its encoder. For Linux.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from benchmarks import corpora, figures
from benchmarks.machine import family

CORPUS, CHARACTERS, TOGETHER = "epmc", 2000, 32
"The vocabulary and the texts, of each of which so many characters are sent, one or so many at a time."

CLIENTS = (1, 8, 64)

SERVERS: Mapping[str, Sequence[str]] = {"words": ("--set", "stages=['exact_match', 'tfidf']"), "zero-shot": ()}
"Name -> options of the server."


class Ask(NamedTuple):
    """A kind of request. bodies: sent in turn; documents: of each."""

    path: str
    bodies: Sequence[bytes]
    kind: str
    documents: int = 1


def main(arguments: list[str]) -> None:
    parser = corpora.parser("serve", __doc__, ())
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of clients")
    options = parser.parse_args(arguments)
    corpora.require((CORPUS,))
    found = figures.read(options.output)
    for name, chosen in SERVERS.items():
        with serving(chosen) as (address, pid):
            load(address, requests()["single"], 2, 3.0)
            found[name] = {
                kind: [measured(address, pid, ask, clients, options.seconds) for clients in CLIENTS]
                for kind, ask in requests().items()
            }
            found[name]["memory MB"] = resident(pid)
        figures.write(options.output, found)
        print(name, json.dumps(found[name]), flush=True)


def requests() -> dict[str, Ask]:
    """One document in a form, and several in JSON."""
    texts = [document.text[:CHARACTERS] for document in corpora.documents(CORPUS, "dev")]
    project = "/v1/projects/zero_shot"
    forms = [urlencode({"text": text}).encode() for text in texts]
    groups = [texts[start : start + TOGETHER] for start in range(0, len(texts) - TOGETHER + 1, TOGETHER)]
    batches = [json.dumps({"documents": [{"text": text} for text in group]}).encode() for group in groups]
    return {
        "single": Ask(f"{project}/suggest", forms, "application/x-www-form-urlencoded"),
        f"batches of {TOGETHER}": Ask(f"{project}/suggest-batch", batches, "application/json", TOGETHER),
    }


@contextmanager
def serving(options: Sequence[str]) -> Iterator[tuple[tuple[str, int], int]]:
    """The address and the process of a server over the vocabulary."""
    path = corpora.folder(CORPUS) / "labels.jsonl.gz"
    command = [sys.executable, "-m", "tagwright", "serve", "--labels", str(path), "--port", "0", "--quiet", *options]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = re.search(r"http://([^/:]+):(\d+)", process.stdout.readline())
        assert said, "the server did not start"
        yield (said[1], int(said[2])), process.pid
    finally:
        process.kill()
        process.communicate()


def load(address: tuple[str, int], ask: Ask, clients: int, seconds: float) -> tuple[list[float], Counter[int]]:
    """Seconds of the answers 200, and how often each status was answered; a refused client waits as it is told."""
    took, statuses, lock = list[float](), Counter[int](), threading.Lock()
    end = time.monotonic() + seconds

    def client(first: int) -> None:
        connection = http.client.HTTPConnection(*address, timeout=300)
        number = first
        while (start := time.monotonic()) < end:
            connection.request("POST", ask.path, ask.bodies[number % len(ask.bodies)], {"Content-Type": ask.kind})
            answer = connection.getresponse()
            answer.read()
            with lock:
                statuses[answer.status] += 1
                took.extend([time.monotonic() - start] * (answer.status == 200))
            if answer.status == 503:
                time.sleep(float(answer.getheader("Retry-After", "0")))
            number += clients
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, statuses


def measured(address: tuple[str, int], pid: int, ask: Ask, clients: int, seconds: float) -> dict[str, Any]:
    """Documents a second, milliseconds of a request, and what a document costs the server's processors."""
    before, begun = processor_seconds(pid), time.monotonic()
    took, statuses = load(address, ask, clients, seconds)
    documents = ask.documents * len(took)
    return {
        "clients": clients,
        "documents/s": round(documents / (time.monotonic() - begun), 1),
        **milliseconds(took),
        "processor ms a document": round(1000 * (processor_seconds(pid) - before) / documents, 2),
        "statuses": {str(status): count for status, count in statuses.items()},
        "load of the machine": round(os.getloadavg()[0], 1),
    }


def milliseconds(took: Sequence[float]) -> dict[str, float]:
    """Percentiles of seconds, in milliseconds.

    >>> milliseconds([0.001 * i for i in range(1, 101)])
    {'p50 ms': 50.0, 'p95 ms': 95.0, 'p99 ms': 99.0}
    """
    ordered = sorted(took)
    return {f"p{share} ms": round(1000 * ordered[(share * len(ordered) + 99) // 100 - 1], 1) for share in (50, 95, 99)}


def processor_seconds(pid: int) -> float:
    """What a process and those below it have used so far (Linux)."""
    fields = [Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split() for each in family(pid)]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Megabytes of memory that a process and those below it hold (Linux)."""
    texts = (Path(f"/proc/{each}/status").read_text(encoding="utf-8") for each in family(pid))
    lines = (line for text in texts for line in text.splitlines() if line.startswith("VmRSS"))
    return sum(int(line.split()[1]) for line in lines) // 1024
