"""Count answered requests, and give these and other numbers to Prometheus (text format 0.0.4)."""

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from tagwright.server.served_model import ServedModel

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"Upper bounds in seconds of the histogram of request times."


@dataclass
class Counters:
    """Counts answered requests and the seconds that they took, by route pattern.

    documents, suggestions: how many were answered. others: functions that return the lines of further metrics.
    """

    others: list[Callable[[], Iterable[str]]] = field(default_factory=list)
    documents: int = 0
    suggestions: int = 0
    _requests: Counter[tuple[str, str, int]] = field(default_factory=Counter, init=False)
    _seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float), init=False)
    _buckets: dict[str, list[int]] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answered request. path: the route pattern, not the address itself, so that there are few of them."""
        with self._lock:
            self._requests[method, path, status] += 1
            self._seconds[path] += seconds
            self._buckets.setdefault(path, [0] * (len(BUCKETS) + 1))[bisect_left(BUCKETS, seconds)] += 1

    def text(self) -> str:
        """Return all metrics.

        >>> counters = Counters()
        >>> counters.count("GET", "/health", 200, 0.02)
        >>> [line for line in counters.text().splitlines() if "_count{" in line]
        ['tagwright_request_seconds_count{path="/health"} 1']
        """
        with self._lock:
            own = [*self._own_lines()]
        return "\n".join([*own, *(line for lines in self.others for line in lines())]) + "\n"

    def _own_lines(self) -> Iterator[str]:
        requests = {
            f'{{method="{method}",path="{path}",status="{status}"}}': count
            for (method, path, status), count in sorted(self._requests.items())
        }
        times = dict[str, object]()
        for path, counts in sorted(self._buckets.items()):
            *within, total = accumulate(counts)
            for bound, count in zip(BUCKETS, within, strict=True):
                times[f'_bucket{{path="{path}",le="{bound:g}"}}'] = count
            times[f'_bucket{{path="{path}",le="+Inf"}}'] = total
            times[f'_sum{{path="{path}"}}'] = f"{self._seconds[path]:.6f}"
            times[f'_count{{path="{path}"}}'] = total
        seconds = "Seconds from the first byte of a request to the last of its answer."
        yield from _metric("tagwright_requests_total", "counter", "Requests that were answered.", requests)
        yield from _metric("tagwright_request_seconds", "histogram", seconds, times)
        yield from _metric("tagwright_documents_total", "counter", "Documents that were answered.", self.documents)
        yield from _metric(
            "tagwright_suggestions_total", "counter", "Labels that were suggested for them.", self.suggestions
        )


def server_lines(models: Sequence[ServedModel]) -> Iterator[str]:
    """Return the metrics of waiting documents."""
    waiting = sum(model.waiting for model in models)
    yield from _metric("tagwright_requests_waiting", "gauge", "Requests that wait for a model.", waiting)


def _metric(
    name: str, kind: Literal["counter", "gauge", "histogram"], what: str, values: int | Mapping[str, object]
) -> Iterator[str]:
    """The lines of a metric. values: one number, or what follows the name, such as `{path="/"}` -> number."""
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items() if isinstance(values, Mapping) else [("", values)]:
        yield f"{name}{labels} {value}"
