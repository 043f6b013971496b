"""Show the monitors of served models: numbers for Prometheus, plots for the overview."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from tagwright.monitoring import Look, Watch
from tagwright.monitoring.monitor import FIRST, SIGNALS, WINDOW, Monitor, Signal
from tagwright.server.counters import head
from tagwright.server.review.session import Review
from tagwright.server.served_model import ServedModel

WIDTH, HEIGHT = 300, 80
"Of a plot, in SVG units."

_SMALLEST = 0.1
"Share that the height of a plot stands for, at least: smaller changes look small."


class Plot(NamedTuple):
    """One signal. looks: none before `starts` documents. since: documents before the alarm; 0 for none.

    low, high: shares at the bottom and the top. line: of the values, before: height of the value before; alarms: points
    of the looks that are alarms; all in SVG units. label: the name of the category that changed most.
    """

    name: Signal
    starts: int
    looks: Sequence[Look] = ()
    since: int = 0
    low: float = 0.0
    high: float = 1.0
    line: str = ""
    before: str = ""
    alarms: Sequence[tuple[str, str]] = ()
    label: str = ""


class Overview(NamedTuple):
    """What the overview shows of a monitor. profile: whether there is one of the training."""

    documents: int
    profile: bool
    first: int
    window: int
    plots: Sequence[Plot]


def overview(watch: Watch, review: Review) -> Overview:
    """The monitor of the reviewed model."""
    model = review.model.now()
    looks = watch.looks(model.version, review.decisions.acceptances(model.version))
    monitor = watch.monitors.get(model.version) or Monitor()
    shown = [name for name in SIGNALS if looks.get(name) or name == "accepted" or monitor.count < monitor.starts(name)]
    plots = [_plot(name, monitor.starts(name), looks.get(name, []), model) for name in shown]
    return Overview(monitor.count, monitor.profile is not None, FIRST, WINDOW, plots)


def metric_lines(watch: Watch, models: Sequence[ServedModel], review: Review | None) -> Iterator[str]:
    """The last look at each signal of each model, in the format of Prometheus."""
    counts, last = dict[str, int](), dict[str, Look]()
    for model in (each.now() for each in models):
        reviewed = review is not None and review.model.id == model.id
        looks = watch.looks(model.version, review.decisions.acceptances(model.version) if review and reviewed else ())
        last |= {f'model="{model.id}",signal="{name}"': found[-1] for name, found in looks.items() if found}
        monitor = watch.monitors.get(model.version)
        counts[f'model="{model.id}"'] = monitor.count if monitor else 0
    families: dict[str, tuple[str, Mapping[str, float]]] = {
        "tagwright_monitored_documents": ("Tagged documents in the log of the monitor.", counts),
        "tagwright_monitor_value": ("Signal of the last documents.", {key: each.value for key, each in last.items()}),
        "tagwright_monitor_before": ("The same of those before.", {key: each.before for key, each in last.items()}),
        "tagwright_monitor_alarm": ("1 for an alarm.", {key: int(each.is_alarm) for key, each in last.items()}),
    }
    for name, (what, values) in families.items():
        yield from head(name, "gauge", what)
        yield from (f"{name}{{{key}}} {value:g}" for key, value in values.items())


def _plot(name: Signal, starts: int, looks: Sequence[Look], model: ServedModel) -> Plot:
    if not looks:
        return Plot(name, starts)
    values = [share for look in looks for share in (look.value, look.before)]
    middle, half = (max(values) + min(values)) / 2, max(max(values) - min(values), _SMALLEST) / 2
    low = min(max(0.0, middle - half), 1.0 - 2 * half)
    high, first, last = low + 2 * half, looks[0].at, looks[-1].at

    def x(look: Look) -> str:
        return f"{WIDTH * (look.at - first) / ((last - first) or 1):.1f}"

    def y(share: float) -> str:
        return f"{HEIGHT * (high - share) / (high - low):.1f}"

    running = [*takewhile(lambda look: look.is_alarm, reversed(looks))]
    labels, category = model.tagger.vocabulary, looks[-1].category
    return Plot(
        name, starts, looks, running[-1].at if running else 0, low, high,
        line=" ".join(f"{x(look)},{y(look.value)}" for look in looks),
        before=y(looks[-1].before),
        alarms=[(x(look), y(look.value)) for look in looks if look.is_alarm],
        label=labels[labels.index[category]].name if category in labels.index else category,
    )  # fmt: skip
