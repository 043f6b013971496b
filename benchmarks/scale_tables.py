"""The tables of scale: time and memory over documents and labels, and what ten million of each would take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from benchmarks.markdown import RESULTS, result, table
from benchmarks.scale_measures import MEASURES

MACHINES = {"2 cores, as measured": 2, "16 cores": 16, "4 machines of 32 cores": 128}
MILLIONS = 10_000_000

DISTURBANCES = {
    "train": "`train` killed and resumed: the saved tagger is that of an undisturbed training",
    "batch": "`batch` or its processes killed, and continued: the files are those of an undisturbed batch",
    "write": "kills while a tagger, a decision or the cache is written; a full disk; a read-only folder",
    "read": "damaged documents and vocabularies: read, or refused in one line",
}
"Kind -> what is said of it."


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
    if not (RESULTS / "ray_nodes.json").is_file():
        return
    found = result("ray_nodes")
    same = "complete and the same" if not found["different files"] and not found["exit code"] else "not the same"
    yield [
        f"`batch --ray` on two nodes, one killed when {found['shards done when the node was killed']} of "
        f"{found['shards']} shards were done",
        f"the output is {same}",
        "`python -m benchmarks ray_nodes`",
    ]


def _storms() -> Iterator[list[str]]:
    """A row for each kind of disturbance: what was tried, and what was lost."""
    trials = result("storm")["trials"]
    for kind, what in DISTURBANCES.items():
        found = {name: trial for name, trial in trials.items() if _kind(name, trial) == kind}
        if not found:
            continue
        kills, inputs, lost = (sum(map(amount, found.values())) for amount in (_kills, _inputs, _lost))
        each = ", ".join(f"{name.removeprefix('train ')} {_times_of(trial):,}" for name, trial in found.items())
        tried = [f"{kills:,} kills"] * bool(kills) + [f"{inputs:,} inputs"] * bool(inputs)
        yield [
            what,
            f"{', '.join(tried)} ({each}), {lost:,} lost",
            "`python -m benchmarks storm --kills 1000 --inputs 100000 --results FILE`",
        ]


def _kind(name: str, trial: Mapping[str, Any]) -> str:
    if trial["inputs"]:
        return "read"
    return next((kind for kind in ("train", "batch") if kind in name), "write")


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
