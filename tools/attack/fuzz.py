"""Damaged requests in, what a running server answers to each out; the server is a process of its own."""

from __future__ import annotations

import http.client
import os
import random
import re
import resource
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.serve_load import entered
from tools.attack.requests import Request, damaged, samples

HIDDEN = "Xanthoparmelia"
"A word in the labels and in the documents, which nobody may see who has no token."

LABELS = (
    f'{{"id": "bee", "names": ["Bees", "{HIDDEN}"], "description": "They fly."}}' + "\n"
    '{"id": "tax", "names": ["Tax law"]}\n'
)
DOCUMENTS = f'{{"id": "1", "title": "{HIDDEN} and bees", "abstract": "Tax law for bees."}}\n'

LONGEST = 150.0
"Seconds after which an answer to a whole request counts as missing: the server gives up reading a file after 60."

SHORTEST = 0.15
"Seconds that are waited for an answer to what is no whole request."

_TRACES = (b"Traceback (most recent call last)", b'File "/', b"site-packages")


class Server(NamedTuple):
    """A running server. log: the file of what it writes to stderr."""

    process: subprocess.Popen[str]
    address: tuple[str, int]
    log: Path

    def tracebacks(self) -> Counter[str]:
        """The last lines of the tracebacks in the log, with digits made alike."""
        found: Counter[str] = Counter()
        for each in self.log.read_text(encoding="utf-8", errors="replace").split("Traceback (most recent call last):")[
            1:
        ]:
            ends = [
                line
                for line in each.splitlines()
                if re.match(r"[A-Za-z_.]+(Error|Exception|Disconnect|Interrupt)\b", line)
            ]
            found[re.sub(r"\d+", "0", ends[-1][:200]) if ends else "?"] += 1
        return found

    def memory(self) -> int:
        """Bytes of the process that are in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return 1024 * int(found[1])

    @contextmanager
    def watched(self) -> Iterator[list[int]]:
        """Look at the memory every few milliseconds."""
        seen, ended = [self.memory()], threading.Event()

        def watch() -> None:
            while not ended.wait(0.02):
                seen.append(self.memory())

        thread = threading.Thread(target=watch)
        thread.start()
        yield seen
        ended.set()
        thread.join()


@contextmanager
def started(folder: Path, *options: str, environment: Mapping[str, str] | None = None, files: int = 0,
            command: Sequence[str] = ("serve",)) -> Iterator[Server]:  # fmt: skip
    """A server with these options; what it says on stderr is in a file. files: how many it may open; 0: as it is."""
    given = [sys.executable, "-m", "tagwright", *command, "--port", "0", "--quiet", "--language", "en", *options]
    log, own = folder / "log", {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
    limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files)) if files else None
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            given, cwd=folder, env=own, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=limit
        )
    try:
        assert process.stdout is not None
        said = re.search(r"http://([^/:]+):(\d+)", process.stdout.readline())
        assert said, log.read_text(encoding="utf-8")
        yield Server(process, (said[1], int(said[2])), log)
    finally:
        process.kill()
        process.communicate()


def serving(folder: Path, **more: Any) -> AbstractContextManager[Server]:
    """A server over two labels that match by name only, with one document to review."""
    (folder / "labels.jsonl").write_text(LABELS, encoding="utf-8")
    (folder / "documents.jsonl").write_text(DOCUMENTS, encoding="utf-8")
    words = ("--labels", "labels.jsonl", "--set", "stages=['exact_match']", "--set", "weights=[1.0]")
    reviews = ("--reviews", "reviews.sqlite", "--documents", "documents.jsonl", "--learn")
    return started(folder, *words, *reviews, **more)


@dataclass
class Tally:
    """What came back. lost: what must not be, in a line each."""

    answers: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)


def fuzz(address: tuple[str, int], requests: Sequence[Request], numbers: range, check: Callable[[int, bytes], str],
         clients: int = 4) -> Tally:  # fmt: skip
    """Send damaged requests, the same for the same numbers. check: status and answer in, what is wrong with it out."""
    tally, todo, lock = Tally(), iter(numbers), threading.Lock()

    def client() -> None:
        while True:
            with lock:
                number = next(todo, None)
            if number is None:
                return
            rng = random.Random(f"attack {number}")
            sent, whole = damaged(_drawn(requests, rng), requests, rng)
            outcome, problem = ask(address, sent, whole, check)
            with lock:
                tally.answers[outcome] += 1
                if problem:
                    tally.lost.append(f"request {number}: {problem} to {sent[:300]!r}")

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _drawn(requests: Sequence[Request], rng: random.Random) -> Request:
    """Uploads seldom: each of them starts a process."""
    found = rng.choice(requests)
    return rng.choice(requests) if found.target in ("/review/upload", "/api/files") else found


def ask(address: tuple[str, int], sent: bytes, whole: bool, check: Callable[[int, bytes], str]) -> tuple[str, str]:
    """Status of the answer, or how else it ended; and what is wrong with it, if anything."""
    try:
        with socket.create_connection(address, timeout=LONGEST if whole else SHORTEST) as connection:
            connection.sendall(sent)
            answer = http.client.HTTPResponse(connection, method=sent.partition(b" ")[0].decode("latin-1"))
            answer.begin()
            content = answer.read()
    except TimeoutError:
        return "no answer", f"no answer in {LONGEST:.0f} s" if whole else ""
    except (http.client.HTTPException, ConnectionError, ValueError):
        return "closed", ""
    if answer.status >= 500 and answer.status != 503:
        return str(answer.status), f"answered {answer.status}"
    if any(trace in content for trace in _TRACES):
        return str(answer.status), "a traceback"
    return str(answer.status), check(answer.status, content)


Attack = Callable[[Path, range], tuple[Tally, Counter[str]]]
"Sends the damaged requests with these numbers to a server in an empty folder. Returns tracebacks of its log as well."


def with_access(folder: Path, numbers: range) -> tuple[Tally, Counter[str]]:
    """Send requests with an admin token; return what the server's log says besides."""
    with serving(folder) as server:
        requests = samples("zero_shot", "bee", *entered(server.address))
        tally = fuzz(server.address, requests, numbers, lambda _, __: "")
        _still_there(server, tally)
        return tally, server.tracebacks()


def without_token(folder: Path, numbers: range) -> tuple[Tally, Counter[str]]:
    """Requests of somebody who has no token: nothing of labels and documents may come back."""

    def check(_: int, content: bytes) -> str:
        return "tells what nobody may know" if HIDDEN.encode() in content else ""

    with serving(folder, environment={"TAGWRIGHT_TOKEN": "a long and secret token"}) as server:
        tally = fuzz(server.address, samples("zero_shot", "bee", "tagwright_session=W10=.0", "0"), numbers, check)
        _still_there(server, tally)
        return tally, server.tracebacks()


def _still_there(server: Server, tally: Tally) -> None:
    outcome, _ = ask(server.address, Request("GET", "/health").wire(close=True), True, lambda _, __: "")
    if outcome != "200" or server.process.poll() is not None:
        tally.lost.append(f"the server is gone after these requests: {outcome}")
