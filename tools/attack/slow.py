"""Slow clients in, how long others wait meanwhile and when the server gives the slow ones up, out."""

from __future__ import annotations

import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.attack.fuzz import ask, serving
from tools.attack.requests import FORM, Request

_SUGGEST = Request("POST", "/v1/projects/zero_shot/suggest", (("Content-Type", FORM),), b"text=Honey+bees" * 20)

KINDS: Mapping[str, Callable[[random.Random], bytes]] = {
    "nothing is sent": lambda _: b"",
    "a head, byte by byte": lambda rng: b"X-%d: a\r\n" % rng.randrange(1000),
    "a body, byte by byte": lambda _: b"a",
    "leaves in the middle": lambda _: b"",
}
"Kind of slow client -> what it sends each second."


def slow(folder: Path, connections: int, seconds: float) -> dict[str, Any]:
    """Open so many connections of each kind, and ask as an honest client every tenth of a second."""
    rng = random.Random(0)
    waits, statuses = list[float](), Counter[str]()
    ended: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with serving(folder) as server, ExitStack() as stack:
        turn = begun = time.monotonic()
        kinds = [kind for kind in KINDS for _ in range(connections)]
        open_ = [(kind, stack.enter_context(_opened(server.address, kind))) for kind in kinds]
        after = time.monotonic() - begun
        while not statuses or time.monotonic() - begun < seconds:
            start = time.monotonic()
            status, _ = ask(server.address, _SUGGEST.wire(close=True), True, lambda _, __: "")
            statuses[status] += 1
            waits.append(time.monotonic() - start)
            if start >= turn:
                turn += 1
                left = [(kind, each, _goes_on(each, KINDS[kind](rng))) for kind, each in open_]
                for kind, _, goes_on in left:
                    if not goes_on:
                        ended[kind].append(time.monotonic() - begun)
                open_ = [(kind, each) for kind, each, goes_on in left if goes_on]
            time.sleep(max(0.0, 0.1 - (time.monotonic() - start)))
        tracebacks = server.tracebacks()
    waits.sort()
    return {
        "slow clients of each kind": connections,
        "seconds to connect them": round(after, 1),
        "given up after seconds": {
            kind: {"clients": len(times), "first": round(min(times)), "last": round(max(times))}
            for kind, times in ended.items()
            if times
        },
        "not given up": dict(Counter(kind for kind, _ in open_)),
        "honest answers": dict(statuses),
        "honest ms": {name: round(1000 * waits[int(share * (len(waits) - 1))], 1)
                      for name, share in (("p50", 0.5), ("p99", 0.99), ("most", 1.0))},
        "tracebacks in the log": dict(tracebacks),
    }  # fmt: skip


def _opened(address: tuple[str, int], kind: str) -> socket.socket:
    """A connection of this kind, at its beginning."""
    connection = socket.create_connection(address, timeout=60)
    head, _, _ = _SUGGEST.wire().partition(b"\r\n\r\n")
    if kind == "a head, byte by byte":
        connection.sendall(head + b"\r\n")
    elif kind in ("a body, byte by byte", "leaves in the middle"):
        connection.sendall(head + b"\r\n\r\ntext=")
    if kind == "leaves in the middle":
        connection.close()
    else:
        connection.setblocking(False)
    return connection


def _goes_on(connection: socket.socket, more: bytes) -> bool:
    """Send more; whether the server still listens."""
    try:
        connection.send(more)
        return connection.recv(65536) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
