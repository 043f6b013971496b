"""Show the monitors of served models: numbers for Prometheus, and for the overview."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from tagwright.data.vocabulary import Vocabulary
from tagwright.monitoring import Look, Watch
from tagwright.monitoring.monitor import FIRST, SIGNALS, Monitor, Signal
from tagwright.server.counters import head
from tagwright.server.review.session import Review
from tagwright.server.served_model import ServedModel


class Row(NamedTuple):
    """A signal on the overview. look: the last one; none before `starts` documents.

    since: documents before the alarm; 0 for none. label: the name of the category that changed most.
    """

    name: Signal
    starts: int
    look: Look | None
    since: int
    label: str


def overview(watch: Watch, review: Review) -> dict[str, Any]:
    """What the overview shows of the monitor of the reviewed model."""
    model = review.model.now()
    looks = watch.looks(model.version, review.decisions.acceptances(model.version))
    monitor = watch.monitors.get(model.version) or Monitor()
    shown = [name for name in SIGNALS if looks.get(name) or name == "accepted" or monitor.count < monitor.starts(name)]
    rows = [_row(name, monitor.starts(name), looks.get(name, []), model.tagger.vocabulary) for name in shown]
    return {"documents": monitor.count, "profile": bool(monitor.languages), "first": FIRST, "rows": rows}


def metric_lines(watch: Watch, models: Sequence[ServedModel], review: Review | None) -> Iterator[str]:
    """The last look at each signal of each model, in the format of Prometheus."""
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


def _row(name: Signal, starts: int, looks: Sequence[Look], labels: Vocabulary) -> Row:
    last = looks[-1] if looks else None
    running = [*takewhile(lambda look: look.is_alarm, reversed(looks))]
    category = last.category if last else ""
    label = labels[labels.index[category]].name if category in labels.index else category
    return Row(name, starts, last, running[-1].at if running else 0, label)
