"""Count requests, and give these and other numbers to Prometheus (text format 0.0.4)."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from tagwright.monitoring import Look, Watch
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"Upper bounds in seconds."


@dataclass
class Counters:
    """Counts requests and the seconds they took, by address pattern.

    others: gives more lines. documents, suggestions: how many were answered.
    """

    others: Callable[[], Iterable[str]] = tuple
    documents: int = 0
    suggestions: int = 0
    _values: list[tuple[str, str, str, Callable[[], float]]] = field(default_factory=list, init=False)
    _requests: Counter[tuple[str, str, int]] = field(default_factory=Counter, init=False)
    _seconds: dict[str, float] = field(default_factory=dict, init=False)
    _buckets: dict[str, list[int]] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def add(self, kind: Literal["counter", "gauge"], name: str, what: str, value: Callable[[], float]) -> None:
        """Show another number. what: says what it is; value: gives the present one."""
        self._values.append((kind, name, what, value))

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
        yield from head("tagwright_documents_total", "counter", "Documents that were answered.")
        yield f"tagwright_documents_total {self.documents}"
        yield from head("tagwright_suggestions_total", "counter", "Labels that were suggested for them.")
        yield f"tagwright_suggestions_total {self.suggestions}"
        for kind, name, what, value in self._values:
            yield from head(name, kind, what)
            yield f"{name} {value():.15g}"


def head(name: str, kind: str, what: str) -> Iterator[str]:
    """The lines before the values of a metric."""
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"


def monitor_lines(watch: Watch, models: Sequence[ServedModel], review: Review | None) -> Iterator[str]:
    """The last look of the monitor at each signal of each model."""
    counts, last = dict[str, int](), dict[str, Look]()
    for model in (served.now() for served in models):
        reviewed = review is not None and review.model.id == model.id
        looks = watch.looks(model.version, review.decisions.acceptances(model.version) if review and reviewed else ())
        last |= {f'model="{model.id}",signal="{name}"': rows[-1] for name, rows in looks.items() if rows}
        monitor = watch.monitors.get(model.version)
        counts[f'model="{model.id}"'] = monitor.count if monitor else 0
    families: dict[str, tuple[str, Mapping[str, float]]] = {
        "tagwright_monitored_documents": ("Tagged documents in the log of the monitor.", counts),
        "tagwright_monitor_value": ("Signal of the last documents.", {key: look.value for key, look in last.items()}),
        "tagwright_monitor_before": ("The same of those before.", {key: look.before for key, look in last.items()}),
        "tagwright_monitor_alarm": ("1 for an alarm.", {key: int(look.is_alarm) for key, look in last.items()}),
    }
    for name, (what, values) in families.items():
        yield from head(name, "gauge", what)
        yield from (f"{name}{{{key}}} {value:g}" for key, value in values.items())
