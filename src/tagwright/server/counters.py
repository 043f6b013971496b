"""Count requests for Prometheus (text format 0.0.4)."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"Upper bounds in seconds."


@dataclass
class Counters:
    """Counts requests and the seconds they took, by address pattern.

    gauges: name and help -> what gives the present value, such as the requests that wait. totals: the same for numbers
    that only grow. others: gives more lines. documents, suggestions: how many were answered.
    """

    gauges: Mapping[tuple[str, str], Callable[[], float]] = field(default_factory=dict)
    totals: Mapping[tuple[str, str], Callable[[], float]] = field(default_factory=dict)
    others: Callable[[], Iterable[str]] = tuple
    documents: int = 0
    suggestions: int = 0
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
        others = list(self.others())
        with self._lock:
            return "\n".join([*self._request_lines(), *self._second_lines(), *self._value_lines(), *others]) + "\n"

    def _request_lines(self) -> Iterator[str]:
        yield from head("tagwright_requests_total", "counter", "Requests that were answered.")
        for (method, path, status), count in sorted(self._requests.items()):
            yield f'tagwright_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}'

    def _second_lines(self) -> Iterator[str]:
        name = "tagwright_request_seconds"
        yield from head(name, "histogram", "Seconds from the first byte of a request to the last of its answer.")
        for path, counts in sorted(self._buckets.items()):
            *within, total = accumulate(counts)
            for bound, count in zip(BUCKETS, within, strict=True):
                yield f'{name}_bucket{{path="{path}",le="{bound:g}"}} {count}'
            yield f'{name}_bucket{{path="{path}",le="+Inf"}} {total}'
            yield f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {total}'

    def _value_lines(self) -> Iterator[str]:
        answered = {
            ("tagwright_documents_total", "Documents that were answered."): lambda: self.documents,
            ("tagwright_suggestions_total", "Labels that were suggested for them."): lambda: self.suggestions,
        }
        for kind, values in (("counter", {**answered, **self.totals}), ("gauge", self.gauges)):
            for (name, what), value in values.items():
                yield from head(name, kind, what)
                yield f"{name} {value():.15g}"


def head(name: str, kind: str, what: str) -> Iterator[str]:
    """The lines before the values of a metric."""
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
