"""The tables of scale: time and memory over documents and labels, and what ten million of each would take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from benchmarks.markdown import result, table
from benchmarks.ray_nodes import MOMENTS
from benchmarks.scale_measures import MEASURES

MACHINES = {"2 cores, as measured": 2, "16 cores": 16, "4 machines of 32 cores": 128}
MILLIONS = 10_000_000


def slopes() -> Iterator[str]:
    """Seconds and memory by size, with the fitted slope."""
    found = result("scale")
    sizes = sorted({int(size) for rows in found["rows"].values() for size in rows})
    head = ["over", "what", *(f"{size:,}" for size in sizes), "slope"]
    yield from table(head, (row for name in MEASURES if name in found["rows"] for row in _rows(found, name, sizes)))


def _rows(found: Mapping[str, Any], name: str, sizes: Iterable[int]) -> Iterator[list[str]]:
    rows, fitted = found["rows"][name], found["slopes"].get(name, {})
    for part in next(iter(rows.values())):
        unit = "" if part.endswith(("MB", "GB")) else ", MB" if part == "peak_mb" else ", s"
        what = f"{name}: {'memory' if part == 'peak_mb' else part}{unit}"
        figures = [f"{rows[str(size)][part]:.3g}" if str(size) in rows else "" for size in sizes]
        yield [MEASURES[name][0], what, *figures, f"{fitted[part]:.2f}" if part in fitted else ""]


def on_paper() -> Iterator[str]:
    """Hours for ten million documents, and minutes and memory for ten million labels, if the lines go on."""
    found = result("scale")
    head = ["on paper", *MACHINES]
    yield from table(head, [*_documents(found), *_labels(found)])


def _documents(found: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, parts in (("whole tagger", ("tag",)), ("whole tagger, static", ("retrieve", "combine"))):
        if name in found["rows"]:
            hours = sum(_at(found, name, part, MILLIONS) for part in parts) / 3600
            what = "names and words" if name == "whole tagger" else "names, words and the static encoder"
            yield [
                f"10,000,000 documents, 1,000 labels, {what}",
                *(f"{hours / cores:.2g} h" for cores in MACHINES.values()),
            ]


def _labels(found: Mapping[str, Any]) -> Iterator[list[str]]:
    name = "vocabulary, save, load"
    seconds = sum(_at(found, name, part, MILLIONS) for part in ("read the vocabulary", "build", "save"))
    disk, memory = (_at(found, name, part, MILLIONS) for part in ("saved, GB", "peak_mb"))
    what = "10,000,000 labels read, encoded, indexed and saved, one process"
    said = f"{seconds / 60:.0f} minutes, {memory / 1024:.0f} GB of memory, {disk:.0f} GB on disk"
    yield [what, *[said] * len(MACHINES)]
    load = _at(found, name, "load", MILLIONS)
    yield ["loading them", *[f"{load:.1f} s of the processor"] * len(MACHINES)]


def _at(found: Mapping[str, Any], name: str, part: str, size: int) -> float:
    """A part at another size: from the largest that was measured, along the fitted line, of slope 1 at least."""
    rows = found["rows"][name]
    largest = max(rows, key=int)
    slope = max(1.0, found["slopes"].get(name, {}).get(part, 1.0))
    return float(rows[largest][part] * math.pow(size / int(largest), slope))


def many_documents() -> Iterator[str]:
    """A batch that is killed, two nodes, and storms."""
    yield from table(["what", "measured", "command"], [*_batch(), *_nodes(), *_storms()])


def _batch() -> Iterator[list[str]]:
    for documents, run in sorted(result("million")["runs"].items(), key=lambda item: -int(item[0])):
        once, killed = run["undisturbed"], run.get("killed")
        measured = (
            f"{once['documents per processor second']:.0f} documents per second of the processor, start-up included; "
            f"by the clock {once['documents/s']:.0f}, on two cores shared with some twenty other processes; "
            f"at most {once['peak MB']:,} MB"
        )
        if killed:
            same = f"{len(run['different files'])} files differ" if run["different files"] else "the same files"
            measured += f"; killed {_times(killed['kills'])} and continued: {same}"
        what = f"`batch` of {int(documents):,} abstracts, 26,983 labels, names, words and static encoder, one process"
        yield [what, measured, "`python -m benchmarks million --work FOLDER`"]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _nodes() -> Iterator[list[str]]:
    runs = result("ray_nodes")["runs"]
    for moment, niceness in dict.fromkeys((run["moment"], run["niceness"]) for run in runs):
        found = [run for run in runs if (run["moment"], run["niceness"]) == (moment, niceness)]
        what = f"`batch --ray` on two nodes, {MOMENTS[moment]}"
        if niceness:
            what += f", actors of the priority that Ray gives them (nice {niceness})"
        same = sum(not run["exit code"] and not run["different files"] for run in found)
        names = ("after",) if moment == "none" else ("before", "after")
        paces = [f"{name} {pace}" for name in names if (pace := _pace(found, name))]
        seconds = "; seconds an actor takes for a shard: " * bool(paces) + ", ".join(paces).removeprefix("after ")
        yield [what, f"{same} of {len(found)} complete and the same{seconds}", "`python -m benchmarks ray_nodes`"]


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
    found = result("storm")
    killed = ", ".join(name for name, trials in found["trials"].items() if trials["kills"])
    yield [
        f"kills ({killed}), damaged documents and vocabularies",
        f"{found['kills']:,} kills, {found['inputs']:,} inputs, {found['lost']:,} lost",
        "`python -m benchmarks storm --kills 1000 --inputs 100000 --results FILE`",
    ]


TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    "slopes": slopes,
    "ten million": on_paper,
    "many documents": many_documents,
}
