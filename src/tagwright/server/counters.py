"""Count requests for Prometheus (text format 0.0.4)."""

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"Upper bounds in seconds."


@dataclass
class Counters:
    """Counts requests and the seconds they took, by address pattern.

    gauges: name and help -> what gives the present value, such as the requests that wait.
    """

    gauges: Mapping[tuple[str, str], Callable[[], float]] = field(default_factory=dict)
    _requests: Counter[tuple[str, str, int]] = field(default_factory=Counter, init=False)
    _seconds: dict[str, float] = field(default_factory=dict, init=False)
    _buckets: dict[str, list[int]] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answered request. path: the route pattern, not the address itself, so that there are few of them."""
        with self._lock:
            self._requests[method, path, status] += 1
            self._seconds[path] = self._seconds.get(path, 0.0) + seconds
            self._buckets.setdefault(path, [0] * (len(BUCKETS) + 1))[bisect_left(BUCKETS, seconds)] += 1

    def text(self) -> str:
        """All numbers.

        >>> counters = Counters()
        >>> counters.count("GET", "/health", 200, 0.02)
        >>> [line for line in counters.text().splitlines() if "_count{" in line]
        ['tagwright_request_seconds_count{path="/health"} 1']
        """
        with self._lock:
            return "\n".join([*self._request_lines(), *self._second_lines(), *self._gauge_lines()]) + "\n"

    def _request_lines(self) -> Iterator[str]:
        yield from _head("tagwright_requests_total", "counter", "Requests that were answered.")
        for (method, path, status), count in sorted(self._requests.items()):
            yield f'tagwright_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}'

    def _second_lines(self) -> Iterator[str]:
        name = "tagwright_request_seconds"
        yield from _head(name, "histogram", "Seconds from the first byte of a request to the last of its answer.")
        for path, counts in sorted(self._buckets.items()):
            *within, total = accumulate(counts)
            for bound, count in zip(BUCKETS, within, strict=True):
                yield f'{name}_bucket{{path="{path}",le="{bound:g}"}} {count}'
            yield f'{name}_bucket{{path="{path}",le="+Inf"}} {total}'
            yield f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {total}'

    def _gauge_lines(self) -> Iterator[str]:
        for (name, what), value in self.gauges.items():
            yield from _head(name, "gauge", what)
            yield f"{name} {value():g}"


class CountRequests:
    """Middleware that counts every answer."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self.app, self.counters = app, counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and count the answer, failed ones included."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - begun
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "other"
            self.counters.count(method, pattern(scope), status, seconds)


def pattern(scope: Scope) -> str:
    """Return the route pattern of the request; "other" if there is none."""
    return str(getattr(scope.get("route"), "path", "other"))


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
