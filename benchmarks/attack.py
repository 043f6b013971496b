"""Attacks on the server, and what they cost others: `python -m benchmarks attack`.

Damaged requests, kills while reviewers decide, slow clients; and eight honest clients beside bodies of 20 MB that are
cheap to send and dear to read, files that never end, bodies whose last byte is withheld, and silent connections, with
and without these in turns. After each part results/attack.json has what was tried and what was lost; started again, it
goes on there. For Linux.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import multiprocessing
import random
import re
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks import attack_fuzz, attack_slow, figures
from benchmarks.attack_fuzz import Server, started
from benchmarks.attack_kills import Siege
from benchmarks.attack_requests import FORM, JSON, MULTIPART, Request
from benchmarks.serve_load import processor_seconds

AT_ONCE = {"requests": 5000, "requests without a token": 5000, "kills": 25}
"How many of a kind are tried between two writings."

MB = 1024 * 1024
HONEST, SILENT, WITHHELD, FILES = 8, 400, 40, 256
"Honest clients; silent connections; bodies whose last byte is withheld; the limit of open files of the server."

TOKENS = {name: f"a-long-enough-token-of-{name}" for name in ("honest", "bodies", "files", "withheld")}
Answer = tuple[str, str, int, str, float]
"Attack, with which token, status, what the refusal says, and seconds until it came."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks attack", description=__doc__)
    parser.add_argument("--requests", type=int, default=80_000, help="damaged, with an admin token")
    parser.add_argument("--without-token", type=int, default=20_000, help="damaged, of somebody who has no token")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--slow", type=int, default=250, help="slow clients of each kind")
    parser.add_argument("--seconds", type=float, default=20, help="of each turn with and without heavy bodies")
    parser.add_argument("--turns", type=int, default=3, help="0: no heavy bodies")
    parser.add_argument("--results", type=Path, default=figures.RESULTS / "attack.json")
    options = parser.parse_args(arguments)
    found = figures.read(options.results)
    wanted = {"requests": options.requests, "requests without a token": options.without_token, "kills": options.kills}
    for kind, count in wanted.items():
        while (done := found.get(kind, {}).get("tried", 0)) < count:
            numbers = range(done, min(count, done + AT_ONCE[kind]))
            found[kind] = added(found.get(kind, {}), PARTS[kind], numbers)
            figures.write(options.results, found)
            print(f"{kind}: {found[kind]['tried']:,} tried, {len(found[kind]['lost'])} lost", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if options.slow and "slow clients" not in found:
            found["slow clients"] = attack_slow.slow(Path(folder), options.slow, seconds=135)
            figures.write(options.results, found)
        if options.turns and "beside honest clients" not in found:
            found["beside honest clients"] = measured(Path(folder), options.seconds, options.turns)
            figures.write(options.results, found)
    sys.exit(1 if any(found[kind]["lost"] for kind in wanted if kind in found) else 0)


def added(before: Mapping[str, Any], part: Part, numbers: range) -> dict[str, Any]:
    """What was found so far with these numbers tried as well."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        counts, lost = part(Path(folder), numbers)
    return {
        "tried": numbers.stop,
        "lost": [*before.get("lost", []), *lost],
        "seconds": round(before.get("seconds", 0) + time.monotonic() - begun),
        **{name: dict(Counter(before.get(name, {})) + count) for name, count in counts.items()},
    }


Found = tuple[dict[str, Counter[str]], list[str]]
"Counts of what was seen, and what was lost, in a line each."

Part = Callable[[Path, range], Found]
"Tries the disturbances with these numbers in an empty folder."


def requests(folder: Path, numbers: range) -> Found:
    tally, tracebacks = attack_fuzz.with_access(folder, numbers)
    return {"answers": tally.answers, "tracebacks in the log": tracebacks}, tally.lost


def without_token(folder: Path, numbers: range) -> Found:
    tally, tracebacks = attack_fuzz.without_token(folder, numbers)
    return {"answers": tally.answers, "tracebacks in the log": tracebacks}, tally.lost


def kills(folder: Path, numbers: range) -> Found:
    """All of these kills on one file, which must hold at the end what was acknowledged at the beginning."""
    siege, lost = Siege(folder / "reviews.sqlite"), dict[str, None]()
    for number in numbers:
        lost |= {f"kill {number}: {each}": None for each in siege.kill(f"kill {number}")}
    if not siege.is_whole():
        lost[f"kills {numbers.start} to {numbers.stop}: the file is damaged"] = None
    said = siege.said
    counts = Counter({"verdicts": said.verdicts.total(), "notes": len(said.notes), "documents": len(said.learnt),
                      "undone": said.undone.total()})  # fmt: skip
    return {"acknowledged": counts}, list(lost)


PARTS: Mapping[str, Part] = {"requests": requests, "requests without a token": without_token, "kills": kills}


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
    with busy(folder) as server:
        honest(server.address, 2)
        rest = server.memory()
        with server.watched() as peak:
            for _ in range(turns):
                begun = processor_seconds(server.process.pid)
                quiet += honest(server.address, seconds)
                between = processor_seconds(server.process.pid)
                with attack(server.address, sent, seconds) as collected:
                    loud += honest(server.address, seconds)
                    used = [used[0] + between - begun, used[1] + processor_seconds(server.process.pid) - between]
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
