"""Honest clients beside heavy bodies, files that never end, withheld bytes and silent connections: what they wait."""

from __future__ import annotations

import http.client
import io
import multiprocessing
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tools.attack.fuzz import Server, started
from tools.attack.requests import FORM, JSON, MULTIPART, Request

MB = 1024 * 1024
HONEST, SILENT, WITHHELD, FILES = 8, 400, 40, 256
"Honest clients; silent connections; bodies whose last byte is withheld; the limit of open files of the server."

TOKENS = {name: f"a-long-enough-token-of-{name}" for name in ("honest", "bodies", "files", "withheld")}
Answer = tuple[str, str, int]
"Attack, with which token, and the status of the answer."


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
    """Latency of honest clients with and without an attack, in turns; memory; and how the attacks are answered."""
    sent, quiet, loud, answers = bodies(), list[float](), list[float](), list[Answer]()
    with busy(folder) as server:
        honest(server.address, 2)
        rest = server.memory()
        with server.watched() as peak:
            for _ in range(turns):
                quiet += honest(server.address, seconds)
                with attack(server.address, sent, seconds) as collected:
                    loud += honest(server.address, seconds)
                answers += collected
        tracebacks = server.tracebacks().total()
    return {
        "honest clients": HONEST, "without the attack": _latency(quiet), "with the attack": _latency(loud),
        "memory at rest, MB": round(rest / MB), "memory above it, MB": round((max(peak) - rest) / MB),
        "attacks": _answers(answers), "tracebacks in the log": tracebacks,
    }  # fmt: skip


def busy(folder: Path) -> AbstractContextManager[Server]:
    """A server over 2,000 labels, exact match and TF-IDF, which may open few files."""
    rng = random.Random(0)
    labels = (f"{_word(rng)} {_word(rng)}" for _ in range(2000))
    (folder / "labels.txt").write_text("\n".join(dict.fromkeys(labels)) + "\n", encoding="utf-8")
    tokens = "".join(f"{token} suggest {name}\n" for name, token in TOKENS.items())
    (folder / "tokens").write_text(tokens, encoding="utf-8")
    words = ("--labels", "labels.txt", "--set", "stages=['exact_match', 'tfidf']")
    return started(folder, *words, "--tokens", "tokens", files=FILES)


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
        answers.append((name, token or "none", _asked(address, _with(request, token), end)))

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


def _asked(address: tuple[str, int], request: Request, end: float) -> int:
    """Status of the answer, 0 where none comes before the end."""
    with (
        suppress(OSError, http.client.HTTPException, ValueError),
        socket.create_connection(address, timeout=max(0.1, end - time.monotonic())) as connection,
    ):
        with suppress(ConnectionError):  # refused before it was sent; the answer may be there
            connection.sendall(request.wire())
        answer = http.client.HTTPResponse(connection, method="POST")
        answer.begin()
        answer.read()
        return answer.status
    return 0


def _latency(seconds: Sequence[float]) -> dict[str, float]:
    waits = sorted(seconds)
    places = (("p50", 0.5), ("p99", 0.99), ("most", 1.0))
    shown = {f"{name} ms": round(1000 * waits[int(share * (len(waits) - 1))], 1) for name, share in places}
    return {"answers": len(seconds), **shown}


def _answers(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Each attack, and how often it was answered how."""
    kinds = dict.fromkeys(each[:2] for each in answers)
    return [
        {
            "attack": name, "token": token,
            "statuses": dict(Counter(str(status) for *kind, status in answers if kind == [name, token])),
        }
        for name, token in kinds
    ]  # fmt: skip
