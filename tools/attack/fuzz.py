"""Damaged requests to a running server: `python -m tools.attack [--requests 80000] [--without-token 20000]`.

Some have an admin token, the others none. An answer counts as lost if it is a server error, shows a traceback or, to
somebody without a token, a label or document, or if it does not come. The same numbers give the same requests.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tools.attack.requests import FORM, Request, damaged, samples

HIDDEN = "Xanthoparmelia"
"A word in the labels and in the documents, which nobody may see who has no token."

LABELS = (
    f'{{"id": "bee", "names": ["Bees", "{HIDDEN}"], "description": "They fly."}}' + "\n"
    '{"id": "tax", "names": ["Tax law"]}\n'
)
OPTIONS = (
    *("serve", "--port", "0", "--quiet", "--language", "en", "--learn"),
    *("--labels", "labels.jsonl", "--set", "stages=['exact_match']", "--set", "weights=[1.0]"),
    *("--reviews", "reviews.sqlite", "--documents", "documents.jsonl"),
)
DOCUMENTS = f'{{"id": "1", "title": "{HIDDEN} and bees", "abstract": "Tax law for bees."}}\n'

LONGEST = 150.0
"Seconds after which an answer to a whole request counts as missing: the server gives up reading a file after 60."

SHORTEST = 0.15
"Seconds that are waited for an answer to what is no whole request."

ENDS = re.compile(r"[A-Za-z_.]+(Error|Exception|Disconnect|Interrupt)\b")
"The last line of a traceback."

_TRACES = (b"Traceback (most recent call last)", b'File "/', b"site-packages")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.attack", description=__doc__)
    parser.add_argument("--requests", type=int, default=80_000, help="damaged, with an admin token")
    parser.add_argument("--without-token", type=int, default=20_000, help="damaged, of somebody who has no token")
    options = parser.parse_args(arguments)
    lost = 0
    for attack, count in ((with_access, options.requests), (without_token, options.without_token)):
        with tempfile.TemporaryDirectory() as folder:
            tally, tracebacks = attack(Path(folder), range(count))
        lost += len(tally.lost)
        print(f"{attack.__name__}: {count:,} tried, {len(tally.lost)} lost; answers {dict(tally.answers)}")
        print(*tally.lost, *(f"traceback in the log: {each}" for each in tracebacks), sep="\n")
    sys.exit(bool(lost))


class Server(NamedTuple):
    """A running server. log: the file of what it writes to stderr."""

    process: subprocess.Popen[str]
    address: tuple[str, int]
    log: Path

    def tracebacks(self) -> Counter[str]:
        """The last lines of the tracebacks in the log, with digits made alike."""
        found: Counter[str] = Counter()
        _, *traces = self.log.read_text(encoding="utf-8", errors="replace").split("Traceback (most recent call last):")
        for each in traces:
            ends = [line for line in each.splitlines() if ENDS.match(line)]
            found[re.sub(r"\d+", "0", ends[-1][:200]) if ends else "?"] += 1
        return found


@contextmanager
def serving(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server over two labels that match by name only, with one document to review; its stderr is in a file."""
    (folder / "labels.jsonl").write_text(LABELS, encoding="utf-8")
    (folder / "documents.jsonl").write_text(DOCUMENTS, encoding="utf-8")
    log, own = folder / "log", {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
    with log.open("w", encoding="utf-8") as errors:
        command = [sys.executable, "-m", "tagwright", *OPTIONS]
        process = subprocess.Popen(command, cwd=folder, env=own, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        said = re.search(r"http://([^/:]+):(\d+)", process.stdout.readline())
        assert said, log.read_text(encoding="utf-8")
        yield Server(process, (said[1], int(said[2])), log)
    finally:
        process.kill()
        process.communicate()


def entered(address: tuple[str, int]) -> tuple[str, str]:
    """Cookie and CSRF token of a reviewer who comes in."""
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request("POST", "/review/enter", "name=Ann&token=", {"Content-Type": FORM})
    answer = connection.getresponse()
    answer.read()
    cookie = answer.headers["set-cookie"].partition(";")[0]
    connection.request("GET", "/review/overview", headers={"Cookie": cookie})
    page = connection.getresponse().read().decode()
    connection.close()
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    assert csrf
    return cookie, csrf[1]


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
