"""The tables of scale: time and memory over documents and labels, and what ten million of each would take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from benchmarks.markdown import result, table
from benchmarks.scale import slopes as fit
from benchmarks.scale_measures import MEASURES, RECALL

from tagwright.core.checked import canonical

MACHINES = {"2 cores, as measured": 2, "16 cores": 16, "4 machines of 32 cores": 128}
MILLIONS = 10_000_000

TAGGED = {
    "whole tagger": "10,000,000 documents tagged with 1,000 labels, names and words",
    "whole tagger, static": "10,000,000 documents tagged with 1,000 labels, names, words and the static encoder",
}
ALONE = {
    "reading": "10,000,000 documents read into a corpus, one process",
    "graph": "citations and authors of 10,000,000 documents, a pair for each along two meta-paths, one process",
    "RTS, static": "RTS trains a static encoder on 10,000,000 documents, one epoch, one process",
}
BUILT = ("read the vocabulary", "build", "index vectors", "save")
"What is done once for a vocabulary."

MOMENTS = {
    "none": "no failure",
    "start": "one killed while the actors start",
    "middle": "one killed midway",
    "end": "one killed near the end",
    "cable": "one disconnected midway",
    "head": "the node with command and model killed, then both restarted",
}
"When one of two nodes of a Ray cluster dies -> what is said of it."

DISTURBANCES = {
    "train": "`train` killed and resumed: same saved tagger as without interruption",
    "batch": "`batch` or its processes killed and resumed: same files as without interruption",
    "write": "kills while a tagger, a decision or the cache is written; a full disk; a read-only folder",
    "race": "two processes in a folder: batches with other settings; `train` and a server's training; promote, learn",
    "read": "damaged documents and vocabularies: read, or refused with one line",
}
"Kind -> what is said of it."


def slopes() -> Iterator[str]:
    """Seconds and memory by size, with the fitted slope, and that of the largest two sizes where there are more."""
    found = result("scale")
    sizes = sorted({int(size) for rows in found["rows"].values() for size in rows})
    head = ["by number of", "what", *(f"{size:,}" for size in sizes), "slope", "of the largest two"]
    yield from table(head, (row for name in MEASURES if name in found["rows"] for row in _rows(found, name, sizes)))


def _rows(found: Mapping[str, Any], name: str, sizes: Iterable[int]) -> Iterator[list[str]]:
    rows, fitted = found["rows"][name], found["slopes"].get(name, {})
    for part in next(iter(rows.values())):
        unit = "" if part.endswith(("MB", "GB")) or part == RECALL else ", MB" if part == "peak_mb" else ", s"
        shown = "memory" if part == "peak_mb" else part.replace("by the clock on the wall", "wall-clock time")
        what = f"{name}: {shown}{unit}"
        figures = [_figure(rows[str(size)][part]) if str(size) in rows else "" for size in sizes]
        last = fit({"": {size: rows[size] for size in sorted(rows, key=int)[-2:]}}).get("", {})
        largest = f"{last[part]:.2f}" if len(rows) > 2 and part != RECALL and part in last else ""
        overall = f"{fitted[part]:.2f}" if part in fitted and part != RECALL else ""
        yield [MEASURES[name][0], what, *figures, overall, largest]


def _figure(value: float) -> str:
    """Three digits.

    >>> _figure(1234.5), _figure(0.01234)
    ('1,230', '0.0123')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


def on_paper() -> Iterator[str]:
    """Hours for ten million documents, and minutes and memory for ten million labels, if the lines go on."""
    found = result("scale")
    head = ["extrapolated", *MACHINES]
    yield from table(head, [*_documents(found), *_labels(found)])


def _documents(found: Mapping[str, Any]) -> Iterator[list[str]]:
    """Tagging is shared among cores, shard by shard; reading a corpus, drawing pairs and training are one process.

    Only what was measured at two sizes: one tells nothing of what is fixed.
    """
    for name, what in TAGGED.items():
        if name in found["slopes"]:
            hours = sum(_at(found, name, part, MILLIONS) for part in _seconds(found, name)) / 3600
            yield [what, *(f"{hours / cores:.2g} h" for cores in MACHINES.values())]
    for name, what in ALONE.items():
        if name in found["slopes"]:
            hours = sum(_at(found, name, part, MILLIONS) for part in _seconds(found, name)) / 3600
            said = f"{hours:.2g} h, {_at(found, name, 'peak_mb', MILLIONS, least=0.0) / 1024:.2g} GB of memory"
            yield [what, *[said] * len(MACHINES)]


def _seconds(found: Mapping[str, Any], name: str) -> list[str]:
    """The parts that are seconds."""
    return [part for part in next(iter(found["rows"][name].values())) if part != "peak_mb"]


def _labels(found: Mapping[str, Any]) -> Iterator[list[str]]:
    name = "vocabulary, save, load"
    parts = [part for part in _seconds(found, name) if part in BUILT]
    seconds = sum(_at(found, name, part, MILLIONS) for part in parts)
    disk, memory = (_at(found, name, part, MILLIONS) for part in ("saved, GB", "peak_mb"))
    what = "10,000,000 labels read, encoded, indexed and saved, one process"
    said = f"{seconds / 60:.0f} minutes, {memory / 1024:.0f} GB of memory, {disk:.0f} GB on disk"
    yield [what, *[said] * len(MACHINES)]
    load = _at(found, name, "load", MILLIONS)
    yield ["these labels loaded", *[f"{load:.1f} processor seconds"] * len(MACHINES)]


def _at(found: Mapping[str, Any], name: str, part: str, size: int, least: float = 1.0) -> float:
    """A part at another size: from the largest that was measured, along the fitted line, of at least this slope."""
    rows = found["rows"][name]
    largest = max(rows, key=int)
    slope = max(least, found["slopes"].get(name, {}).get(part, 1.0))
    return float(rows[largest][part] * math.pow(size / int(largest), slope))


def many_documents() -> Iterator[str]:
    """A batch that is killed, two nodes, and storms."""
    yield from table(["what", "measured", "command"], [*batches(), *_nodes(), *_storms()])


def batches() -> Iterator[list[str]]:
    """Most documents first."""
    found = result("million")
    for documents, run in sorted(found["runs"].items(), key=lambda item: -int(item[0])):
        once, killed = run["undisturbed"], run.get("killed")
        measured = (
            f"{once['documents/s']:,.0f} documents per second, {once['documents per processor second']:.0f} per "
            f"processor second, start-up included; at most {once['peak MB']:,} MB"
        )
        if killed:
            same = f"{len(run['different files'])} files differ" if run["different files"] else "identical files"
            measured += f"; killed and resumed {_times(killed['kills'])}: {same}"
        processes = "one process" if run["processes"] == 1 else f"{run['processes']} processes"
        labels = f"{found.get('labels', 26_983):,} labels"
        what = f"`batch` of {int(documents):,} abstracts, {labels}, names, words and static encoder, {processes}"
        yield [what, measured, "`python -m benchmarks million --work FOLDER`"]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _nodes() -> Iterator[list[str]]:
    runs = result("ray_nodes")["runs"]
    for moment, niceness in dict.fromkeys((run["moment"], run["niceness"]) for run in runs):
        found = [run for run in runs if (run["moment"], run["niceness"]) == (moment, niceness)]
        what = f"`batch --ray` on two nodes, {MOMENTS[moment]}"
        if niceness:
            what += f", actors at Ray's priority (nice {niceness})"
        same = sum(not run["exit code"] and not run["different files"] for run in found)
        names = ("after",) if moment == "none" else ("before", "after")
        paces = [f"{name} {pace}" for name in names if (pace := _pace(found, name))]
        seconds = "; seconds per shard and actor: " * bool(paces) + ", ".join(paces).removeprefix("after ")
        if moment != "none" and (gaps := [run["after"]["longest"] for run in found if "after" in run]):
            seconds += f"; then at most {max(gaps):.0f} s until a shard was done"
        yield [what, f"{same} of {len(found)} complete, with identical files{seconds}", "recorded once"]


def _pace(runs: Iterable[Mapping[str, Any]], name: str) -> str:
    """The range of seconds, and the mean share of time without a processor."""
    paces = [run[name] for run in runs if name in run]
    if not paces:
        return ""
    seconds = sorted(each["seconds"] for each in paces)
    waiting = sum(each["waiting"] for each in paces) / len(paces)
    span = " to ".join(dict.fromkeys(f"{each:.2f}" for each in (seconds[0], seconds[-1])))
    return f"{span} ({waiting:.0%} waiting for a processor)"


def _storms() -> Iterator[list[str]]:
    """A row for each kind of disturbance: what was tried, and what was lost."""
    trials = result("storm")["trials"]
    for kind, what in DISTURBANCES.items():
        found = {name: trial for name, trial in trials.items() if _kind(name, trial) == kind}
        if not found:
            continue
        kills, inputs, lost = (sum(map(amount, found.values())) for amount in (_kills, _inputs, _lost))
        names = [canonical(name.removeprefix("train ")) if kind == "train" else name for name in found]
        each = ", ".join(f"{name} {_times_of(trial):,}" for name, trial in zip(names, found.values(), strict=True))
        races = sum(map(_times_of, found.values())) if kind == "race" else 0
        tried = [
            f"{count:,} {what}" for count, what in ((kills, "kills"), (inputs, "inputs"), (races, "races")) if count
        ]
        yield [
            what,
            f"{', '.join(tried)} ({each}), {lost:,} lost",
            "`python -m tools.storm --results FILE`",
        ]


def _kind(name: str, trial: Mapping[str, Any]) -> str:
    if trial["inputs"]:
        return "read"
    return next((kind for kind in ("race", "train", "batch") if kind in name), "write")


def _kills(trial: Mapping[str, Any]) -> int:
    return int(trial["kills"])


def _inputs(trial: Mapping[str, Any]) -> int:
    return int(trial["inputs"])


def _lost(trial: Mapping[str, Any]) -> int:
    return len(trial["lost"])


def _times_of(trial: Mapping[str, Any]) -> int:
    return _kills(trial) or _inputs(trial) or sum(trial["outcomes"].values())


TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    "slopes": slopes,
    "ten million": on_paper,
    "many documents": many_documents,
}
