"""What an attack costs others: `python -m benchmarks attack`.

The server: eight honest clients beside bodies of 20 MB that are cheap to send and dear to read, files that never end,
bodies whose last byte is withheld, and silent connections; with and without the attack in turns, so that both figures
are of one run. The readers: how the time grows when a file of each format is doubled. Written to results/attack.json.
For Linux.
"""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import io
import json
import multiprocessing
import os
import random
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from benchmarks import figures
from benchmarks.attack_requests import FORM, JSON, MULTIPART, Request

MB = 1024 * 1024
HONEST, SILENT, WITHHELD, FILES = 8, 400, 40, 256
"Honest clients; silent connections; bodies whose last byte is withheld; the limit of open files of the server."

TOKENS = {name: f"a-long-enough-token-of-{name}" for name in ("honest", "bodies", "files", "withheld")}
Answer = tuple[str, str, int, str, float]
"Attack, with which token, status, what the refusal says, and seconds until it came."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks attack", description=__doc__)
    parser.add_argument("--only", choices=["server", "readers"])
    parser.add_argument("--seconds", type=float, default=20, help="of each turn with and without the attack")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--results", type=Path, default=figures.RESULTS / "attack.json")
    options = parser.parse_args(arguments)
    found = figures.read(options.results)
    if options.only != "readers":
        with tempfile.TemporaryDirectory() as folder:
            found["beside honest clients"] = measured(Path(folder), options.seconds, options.turns)
        figures.write(options.results, found)
        _print(found["beside honest clients"])
    if options.only != "server" and importlib.util.find_spec("benchmarks.attack_readers"):
        found["doubled files"] = importlib.import_module("benchmarks.attack_readers").doubling()
        figures.write(options.results, found)


def bodies(size: int = 20 * MB - 4096) -> Mapping[str, Request]:
    """Requests that are long and hold as many items as possible; the limit is 20 MB."""
    suggest, batch = "/v1/projects/zero_shot/suggest", "/v1/projects/zero_shot/suggest-batch"
    keys = b",".join(b'"%d":"b"' % number for number in range(1_400_000))
    values = b",".join([b'"1"'] * (size // 4))
    query = b'{"q":{"query":"%s"}}' % (b"b" * size)
    properties = b'{"q":{"query":"b","properties":[{"pid":"notation","v":[%s]}]}}' % values
    return {
        "form of empty fields": _post(suggest, FORM, b"text=bees" + b"&a" * (size // 2)),
        "form of empty fields, reconcile": _post("/reconcile", FORM, b"queries={}" + b"&a" * (size // 2)),
        "sections": _post("/api/suggest", JSON, b'{"sections":[%s{}]}' % (b"{}," * (size // 3))),
        "nested lists": _post("/api/suggest", JSON, b'{"text":[%s[]]}' % (b"[]," * (size // 3))),
        "empty paragraphs": _post(
            "/api/suggest", JSON, b'{"sections":[{"paragraphs":[%s""]}]}' % (b'"",' * (size // 3))
        ),
        "keys of metadata": _post(batch, JSON, b'{"documents":[{"text":"b","metadata":{%s}}]}' % keys),
        "a long query": _post("/reconcile", FORM, b"queries=" + query),
        "values of properties": _post("/reconcile", FORM, b"queries=" + properties),
    }


def _post(target: str, kind: str, body: bytes) -> Request:
    return Request("POST", target, (("Content-Type", kind),), body)


def endless_docx() -> Request:
    """A Word file with two styles that are each based on the other."""
    import docx
    from docx.enum.style import WD_STYLE_TYPE

    file, buffer = docx.Document(), io.BytesIO()
    first, second = (file.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH) for name in ("A", "B"))
    first.base_style, second.base_style = second, first
    file.add_paragraph("Bees", first)
    file.save(buffer)
    head = b'--limit\r\nContent-Disposition: form-data; name="file"; filename="a.docx"\r\n\r\n'
    return _post("/api/files", MULTIPART, head + buffer.getvalue() + b"\r\n--limit--\r\n")


def measured(folder: Path, seconds: float, turns: int) -> dict[str, Any]:
    """Latency of honest clients with and without an attack, in turns; memory; and what the refusals say."""
    sent, quiet, loud, answers, idle = bodies(), list[float](), list[float](), list[Answer](), list[float]()
    used = [0.0, 0.0]
    with serving(folder) as server:
        honest(server.address, 2)
        rest = server.memory()
        with server.watched() as peak:
            for _ in range(turns):
                begun = server.processor()
                quiet += honest(server.address, seconds)
                between = server.processor()
                with attack(server.address, sent, seconds) as collected:
                    loud += honest(server.address, seconds)
                    used = [used[0] + between - begun, used[1] + server.processor() - between]
                    idle.append(_health(server.address))
                answers += collected
        log = server.log.read_text(encoding="utf-8", errors="replace")
    return {
        "honest clients": HONEST,
        "without the attack": _latency(quiet, used[0]), "with the attack": _latency(loud, used[1]),
        "p99 with / without": round(_quantile(loud, 0.99) / _quantile(quiet, 0.99), 2),
        "/health beside silent connections, ms": round(1000 * max(idle), 1),
        "memory at rest, MB": round(rest / MB), "memory above it, MB": round((max(peak) - rest) / MB),
        "attacks": _answers(answers), "tracebacks in the log": log.count("Traceback"), "bytes of the log": len(log),
    }  # fmt: skip


class Server(NamedTuple):
    """A running server."""

    process: subprocess.Popen[str]
    address: tuple[str, int]
    log: Path

    def memory(self) -> int:
        """Bytes of the process that are in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return 1024 * int(found[1])

    def processor(self) -> float:
        """Seconds of the processor that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

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
def serving(folder: Path) -> Iterator[Server]:
    """A server over 2,000 labels, exact match and TF-IDF, which may open few files."""
    rng, tokens = random.Random(0), folder / "tokens"
    labels = (f"{_word(rng)} {_word(rng)}" for _ in range(2000))
    (folder / "labels.txt").write_text("\n".join(dict.fromkeys(labels)) + "\n", encoding="utf-8")
    tokens.write_text("".join(f"{token} suggest {name}\n" for name, token in TOKENS.items()), encoding="utf-8")
    command = [sys.executable, "-m", "tagwright", "serve", "--labels", "labels.txt", "--port", "0", "--quiet",
               "--language", "en", "--tokens", "tokens", "--set", "stages=['exact_match', 'tfidf']"]  # fmt: skip
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, stderr=log,
            text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
        )  # fmt: skip
    try:
        assert process.stdout is not None
        said = re.search(r"http://([^/:]+):(\d+)", process.stdout.readline())
        assert said, (folder / "log").read_text(encoding="utf-8")
        yield Server(process, (said[1], int(said[2])), folder / "log")
    finally:
        process.kill()
        process.communicate()


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(rng.randrange(2, 5)))


def honest(address: tuple[str, int], seconds: float) -> list[float]:
    """Seconds that each answer took; every client asks again when it has its answer."""
    end, waits, problems = time.monotonic() + seconds, list[float](), list[str]()

    def client(number: int) -> None:
        rng = random.Random(number)
        connection = http.client.HTTPConnection(*address, timeout=60)
        headers = {"Authorization": f"Bearer {TOKENS['honest']}", "Content-Type": FORM}
        while time.monotonic() < end:
            text = " ".join(_word(rng) for _ in range(300))
            begun = time.monotonic()
            connection.request("POST", "/v1/projects/zero_shot/suggest", f"text={quote(text)}", headers)
            answer = connection.getresponse()
            content = answer.read()
            waits.append(time.monotonic() - begun)
            if answer.status != 200:
                problems.append(f"{answer.status}: {content[:200]!r}")

    _together([lambda number=number: client(number) for number in range(HONEST)])  # type: ignore[misc]
    assert not problems, problems[0]
    return waits


def _together(tasks: Sequence[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def attack(address: tuple[str, int], sent: Mapping[str, Request], seconds: float) -> Iterator[list[Answer]]:
    """Attack in a process of its own for as long as this block runs; then what was answered."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=lambda: there.send(_attack(address, sent, time.monotonic() + seconds)))
    process.start()
    found: list[Answer] = []
    try:
        yield found
        found += here.recv()
    finally:
        process.kill()
        process.join()


def _attack(address: tuple[str, int], sent: Mapping[str, Request], end: float) -> list[Answer]:
    """Every kind of attack at once, with a token and without, until the time is over."""
    answers, docx = list[Answer](), endless_docx()
    silent = [each for each in (_connected(address) for _ in range(SILENT)) if each]
    long = _post("/api/suggest", JSON, b'{"text":"%s"}' % (b"b" * (20 * MB - 4096)))
    held = [each for each in (_withheld(address, long) for _ in range(WITHHELD)) if each]

    def repeat(name: str, request: Request, token: str) -> None:
        answers.append((name, token or "none", *_asked(address, _with(request, token), end)))

    def forms(token: str) -> None:
        while time.monotonic() < end:
            for name, request in sent.items():
                if time.monotonic() < end:
                    repeat(name, request, token)

    def files() -> None:
        while time.monotonic() < end:
            repeat("endless docx", docx, "files")

    _together([lambda: forms("bodies"), lambda: forms(""), *[files] * 4])
    for each in (*silent, *held):
        each.close()
    return answers


def _connected(address: tuple[str, int]) -> socket.socket | None:
    try:
        return socket.create_connection(address, timeout=5)
    except OSError:
        return None


def _withheld(address: tuple[str, int], request: Request) -> socket.socket | None:
    """A connection on which all but the last byte of a body has been sent, as far as the server takes it."""
    connection = _connected(address)
    if connection:
        connection.settimeout(0.05)
        with suppress(OSError):
            connection.sendall(_with(request, "withheld").wire()[:-1])
    return connection


def _with(request: Request, token: str) -> Request:
    held = (("Authorization", f"Bearer {TOKENS[token]}"),) if token else ()
    return request._replace(headers=(*request.headers, *held))


def _asked(address: tuple[str, int], request: Request, end: float) -> tuple[int, str, float]:
    """Status and detail of the answer, 0 where none comes before the end, and after how many seconds."""
    begun = time.monotonic()
    try:
        with socket.create_connection(address, timeout=max(0.1, end - begun)) as connection:
            with suppress(ConnectionError):  # refused before it was sent; the answer may be there
                connection.sendall(request.wire())
            answer = http.client.HTTPResponse(connection, method="POST")
            answer.begin()
            content = json.loads(answer.read() or b"{}")
            return (
                answer.status,
                str(content.get("detail", "") if isinstance(content, dict) else ""),
                time.monotonic() - begun,
            )
    except (OSError, http.client.HTTPException, ValueError) as error:
        return 0, type(error).__name__, time.monotonic() - begun


def _health(address: tuple[str, int]) -> float:
    """Seconds until the server says that it is well, on a new connection beside silent ones."""
    others = [each for each in (_connected(address) for _ in range(SILENT)) if each]
    begun = time.monotonic()
    connection = http.client.HTTPConnection(*address, timeout=60)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    for each in others:
        each.close()
    return time.monotonic() - begun


def _quantile(seconds: Sequence[float], share: float) -> float:
    return sorted(seconds)[int(share * (len(seconds) - 1))]


def _latency(seconds: Sequence[float], used: float) -> dict[str, float]:
    shown = {f"{name} ms": round(1000 * _quantile(seconds, share), 1)
             for name, share in (("p50", 0.5), ("p99", 0.99), ("most", 1.0))}  # fmt: skip
    return {
        "answers": len(seconds),
        **shown,
        "processor ms of the server an answer": round(1000 * used / len(seconds), 1),
    }


def _answers(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Each attack: how often it was answered how, how late at most, and what its refusals said, digits made alike."""
    rows = []
    for name, token in dict.fromkeys((each[0], each[1]) for each in answers):
        own = [each for each in answers if each[:2] == (name, token)]
        said = Counter(re.sub(r"\d+(,\d+)*", "0", each[3]) for each in own if each[3])
        rows.append({
            "attack": name, "token": token, "statuses": dict(Counter(str(each[2]) for each in own)),
            "latest answer, s": round(max(each[4] for each in own), 2), "said": next(iter(said), ""),
            "example": own[0][3],
        })  # fmt: skip
    return rows


def _print(found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        if name != "attacks":
            print(f"{name}: {value}")
    for each in found["attacks"]:
        how = f"{each['statuses']}, {each['latest answer, s']} s; {each['example']}"
        print(f"{each['attack']} (token: {each['token']}): {how}")
