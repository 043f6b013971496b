"""A server in; how many requests it answers and how fast, by number of clients; its memory and processor time, out."""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from benchmarks.machine import family

FORM, JSON = {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "application/json"}


class Service(NamedTuple):
    """A running server that speaks Annif's interface. pid: of its process, or of the parent of its processes."""

    address: tuple[str, int]
    project: str
    pid: int


class Ask(NamedTuple):
    """A kind of request. bodies: sent in turn; documents: of each."""

    path: str
    bodies: Sequence[bytes]
    headers: Mapping[str, str]
    documents: int = 1


def single(project: str, texts: Sequence[str]) -> Ask:
    """One document in a form."""
    return Ask(f"/v1/projects/{project}/suggest", [urlencode({"text": text}).encode() for text in texts], FORM)


def batches(project: str, texts: Sequence[str], size: int = 32) -> Ask:
    """Several documents in JSON."""
    groups = [texts[start : start + size] for start in range(0, len(texts) - size + 1, size)]
    bodies = [json.dumps({"documents": [{"text": text} for text in group]}).encode() for group in groups]
    return Ask(f"/v1/projects/{project}/suggest-batch", bodies, JSON, size)


def entered(address: tuple[str, int], name: str = "Ann", token: str = "") -> tuple[str, str]:
    """Cookie and CSRF token of a reviewer who comes in."""
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request("POST", "/review/enter", f"name={name}&token={token}", FORM)
    answer = connection.getresponse()
    answer.read()
    cookie = answer.headers["set-cookie"].partition(";")[0]
    connection.request("GET", "/review/overview", headers={"Cookie": cookie})
    page = connection.getresponse().read().decode()
    connection.close()
    csrf = re.search(r'name="csrf" value="(\w+)"', page)
    assert csrf
    return cookie, csrf[1]


@dataclass
class Seen:
    """Seconds of each answer, by its status."""

    took: dict[int, list[float]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def statuses(self) -> Counter[int]:
        """Answers with each status."""
        return Counter({status: len(times) for status, times in self.took.items()})


def load(service: Service, ask: Ask, clients: int, wanted: Callable[[int, float], bool], pace: float = 0.0) -> Seen:
    """Every client asks again when it is answered, or at the time that a refusal names.

    wanted: requests and seconds so far in, whether to go on, out. pace: requests a second, whatever is answered.
    """
    seen, lock, count = Seen(), threading.Lock(), 0
    begun = time.perf_counter()

    def client() -> None:
        nonlocal count
        connection = http.client.HTTPConnection(*service.address, timeout=300)
        while True:
            with lock:
                number, count = count, count + 1
            if pace:
                time.sleep(max(0.0, begun + number / pace - time.perf_counter()))
            start = time.perf_counter()
            if not wanted(number, start - begun):
                break
            connection.request("POST", ask.path, ask.bodies[number % len(ask.bodies)], dict(ask.headers))
            answer = connection.getresponse()
            answer.read()
            took = time.perf_counter() - start
            with lock:
                seen.took.setdefault(answer.status, []).append(took)
            if pace:
                connection.close()  # which the server does as well while it is idle
            elif answer.status == 503:
                time.sleep(float(answer.getheader("Retry-After", "0")))
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen.seconds = time.perf_counter() - begun
    return seen


def measured(service: Service, ask: Ask, clients: int, seconds: float) -> dict[str, Any]:
    """Documents a second, milliseconds of a request, and what a document costs the server's processors."""
    before = processor_seconds(service.pid)
    seen = load(service, ask, clients, lambda _, elapsed: elapsed < seconds)
    used = processor_seconds(service.pid) - before
    documents = ask.documents * seen.statuses[200]
    return {
        "clients": clients,
        "documents/s": round(documents / seen.seconds, 1),
        **milliseconds(seen.took.get(200, [])),
        "processor ms a document": round(1000 * used / documents, 2) if documents else None,
        "statuses": {str(status): count for status, count in seen.statuses.items()},
        "load of the machine": round(os.getloadavg()[0], 1),
    }


def milliseconds(took: Sequence[float]) -> dict[str, float]:
    """Percentiles of seconds, in milliseconds.

    >>> milliseconds([0.001 * i for i in range(1, 101)])
    {'p50 ms': 50.0, 'p95 ms': 95.0, 'p99 ms': 99.0}
    """
    ordered = sorted(took)
    if not ordered:
        return {}
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
