"""Count answered requests, and give these and other numbers to Prometheus."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from tagwright.server.current_request import CurrentRequest
from tagwright.server.served_model import ServedModel

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"Upper bounds in seconds of the histogram of request times."


class Metrics:
    """The numbers of a server."""

    def __init__(self, models: Sequence[ServedModel] = ()) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # of times beside each number
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "tagwright_requests", "Requests that were answered.", ["method", "path", "status"], registry=registry
        )
        seconds = "Seconds from the first byte of a request to the last of its answer."
        self._seconds = Histogram("tagwright_request_seconds", seconds, ["path"], buckets=BUCKETS, registry=registry)
        self._documents = Counter("tagwright_documents", "Documents that were answered.", registry=registry)
        self._suggestions = Counter("tagwright_suggestions", "Labels that were suggested.", registry=registry)
        waiting = Gauge("tagwright_requests_waiting", "Documents that wait or are computed.", registry=registry)
        waiting.set_function(lambda: sum(model.waiting for model in models))

    def count(self, method: str, path: str, status: int, seconds: float, request: CurrentRequest) -> None:
        """Count an answered request. path: the route pattern, not the address itself, so that there are few of them."""
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)
        self._documents.inc(request.documents)
        self._suggestions.inc(request.suggestions)

    def answer(self) -> tuple[bytes, str]:
        """Return all metrics, and their content type."""
        return generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4
