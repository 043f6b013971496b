"""The tables of peers, from results/peers.json to Markdown: quality, how many labels they need, speed and size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Any

from benchmarks import figures
from benchmarks.corpora import ALL
from benchmarks.curve import MEASURES
from benchmarks.markdown import conditions, percent, result, table
from benchmarks.peers import PEERS

OURS = ("zero_shot", "zero_shot, static encoder", "zero_shot, no encoder", "auto")

GOALS = ("0", "50", "300")
"Labelled documents with which `auto` sets what peers are to reach."

CURVE = "\\*"
"Marks figures of ours that are the means of the curve's draws."

SPEED: Mapping[str, str] = {
    "first, from nothing": "first tag from scratch, s",
    "first, saved": "first tag, saved model, s",
    "training seconds": "training, s",
    "documents per second": "documents/s",
    "processor ms per document": "processor ms a document",
    "peak MB": "peak memory, MB",
    "model MB": "model, MB",
    "installation MB": "installation, MB",
}
"Figures -> heads of columns; the first three are followed by the seconds of the processor, in brackets."

_PROCESSOR: Mapping[str, str] = {
    "first, from nothing": "first, from nothing processor",
    "first, saved": "first, saved processor",
    "training seconds": "training processor seconds",
}


def quality(corpus: str) -> Iterator[str]:
    """Every peer at every size: nDCG@5 (P@1 / P@5 / R@100)."""
    found = rows_of(corpus)
    sizes = sorted({size for rows in found.values() for size in rows}, key=_order)
    head = [f"{'all ' * (size == 'all')}{_count(found, size):,} labelled" for size in sizes]
    body = ([_name(name), *(_scores(rows.get(size, {})) for size in sizes)] for name, rows in _sorted(found))
    yield from table(["nDCG@5 (P@1 / P@5 / R@100), %", *head], body)


def needed() -> Iterator[str]:
    """At how many labelled documents each peer reaches what ours has with 0, 50 and 300."""
    found = {corpus: rows_of(corpus) for corpus in ALL if corpus in result("peers")["quality"]}
    names = dict.fromkeys(name for rows in found.values() for name, _ in _sorted(rows) if name not in OURS)
    body = [[f"**`auto` with {', '.join(GOALS)}**", *(_shown(goals(rows)) for rows in found.values())]]
    body += [[name, *(_needed(rows, name) for rows in found.values())] for name in names]
    yield from table(["", *found], body)


def rows_of(corpus: str) -> dict[str, Any]:
    """Peer -> size -> draw -> row; what ours was not asked at these sizes is taken from the curve, and marked."""
    found: dict[str, Any] = {**result("peers")["quality"][corpus]}
    sizes = {size for rows in found.values() for size in rows}
    curve = figures.read(figures.RESULTS / "curve.json").get(corpus, {})
    known = {"zero_shot": {"0": curve[GOALS[1]]["zero_shot"]}} if GOALS[1] in curve else {}
    known["auto"] = {size: curve[size]["auto"] for size in sizes if size in curve}
    for name, rows in known.items():
        marked = {size: {"0": {**row, "labelled": int(size), "curve": True}} for size, row in rows.items()}
        found[name] = {**marked, **found.get(name, {})}
    return found


def training() -> Iterator[str]:
    """Processor seconds of learning at every size, on tib."""
    found = result("peers")["quality"]["tib"]
    sizes = sorted({size for rows in found.values() for size in rows}, key=_order)
    head = [f"{'all ' * (size == 'all')}{_count(found, size):,} labelled" for size in sizes]
    body = ([_name(name), *(_learned(rows.get(size, {})) for size in sizes)] for name, rows in _sorted(found))
    yield from table(["processor seconds", *head], body)


def speed(setting: str) -> Iterator[str]:
    """Time, memory and disk on one corpus and size."""
    found = result("peers")["speed"].get(setting, {})
    body = ([_name(name), *(_figure(row, key) for key in SPEED)] for name, row in _sorted(found))
    yield from table(["", *SPEED.values()], body)
    loads, rounds, tagged = ([row[key] for row in found.values()] for key in ("load", "rounds", "dev documents"))
    yield from ("", f"{max(tagged)} documents tagged; {_rounds(rounds)}; load {min(loads):g} to {max(loads):g}.")


def about() -> Iterator[str]:
    """What the figures were measured on."""
    yield conditions(result("peers"), "peers")


def goals(rows: Mapping[str, Any]) -> dict[str, float]:
    """nDCG@5 of `auto` by number of labelled documents; without any it is the zero-shot method."""
    found = {**_means(rows.get("auto", {})), "0": _means(rows.get("zero_shot", {})).get("0")}
    return {goal: value for goal in GOALS if (value := found.get(goal)) is not None}


def reached(points: Sequence[tuple[int, float]], goal: float) -> float | None:
    """At how many labelled documents a curve first reaches a value; None: nowhere.

    Between measured points it rises with the logarithm of the number. points: (number, value), by number, above 0.

    Half of the way from 100 to 400 is 200, and what the first point has may be had with fewer.

    >>> reached([(100, 0.2), (400, 0.4)], 0.3), reached([(100, 0.2), (400, 0.4)], 0.1)
    (200.0, 100.0)
    >>> reached([(100, 0.2), (400, 0.4)], 0.5)
    """
    before: tuple[int, float] | None = None
    for number, value in points:
        if value >= goal:
            if before is None:
                return float(number)
            share = (goal - before[1]) / (value - before[1])
            return round(math.exp(math.log(before[0]) + share * math.log(number / before[0])), 6)
        before = number, value
    return None


def _shown(values: Mapping[str, float]) -> str:
    return " / ".join(percent(value) for value in values.values())


def _needed(found: Mapping[str, Any], name: str) -> str:
    if name not in found:
        return ""
    words = [said(found[name], goal) for goal in goals(found).values()]
    return words[0] if len({*words}) == 1 else " / ".join(words)


def said(rows: Mapping[str, Any], goal: float) -> str:
    """How many labelled documents a peer needs, in words; `rows`: size -> draw -> row.

    >>> said({"50": {"0": {"nDCG@5": 0.3, "labelled": 50}}}, 0.2)
    'under 50'
    >>> said({"all": {"0": {"nDCG@5": 0.3, "labelled": 2088}}}, 0.4)
    'not with all 2,088'
    """
    points = sorted((_labelled(rows[size]), value) for size, value in _means(rows).items())
    if not points:
        return "not measured"
    if points[-1][0] == 0:
        return "yes" if points[-1][1] >= goal else "no"
    found = reached(points, goal)
    if found is None:
        everything = "all" in _means(rows)
        return f"not with all {points[-1][0]:,}" if everything else f"more than {points[-1][0]:,}"
    return f"under {points[0][0]:,}" if found == points[0][0] else f"{_rounded(found):,}"


def _means(rows: Mapping[str, Any]) -> dict[str, float]:
    """Size -> mean nDCG@5 of the draws that have figures."""
    found = {size: [row["nDCG@5"] for row in draws.values() if "nDCG@5" in row] for size, draws in rows.items()}
    return {size: mean(values) for size, values in found.items() if values}


def _count(found: Mapping[str, Any], size: str) -> int:
    return next(_labelled(rows[size]) for rows in found.values() if size in rows)


def _labelled(draws: Mapping[str, Any]) -> int:
    return int(next(iter(draws.values()))["labelled"])


def _rounded(number: float) -> int:
    """To two digits.

    >>> _rounded(1234.5), _rounded(87.2)
    (1200, 87)
    """
    return int(round(number, 1 - math.floor(math.log10(number))))


def _sorted(found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """In the order of `peers.PEERS`, ours first."""
    return [(name, found[name]) for name in PEERS if name in found]


def _name(name: str) -> str:
    method, comma, how = name.partition(",")
    return f"**`{method}`**{comma}{how}" if name in OURS else name


def _order(size: str) -> float:
    return math.inf if size == "all" else int(size)


def _scores(draws: Mapping[str, Any]) -> str:
    rows = [row for row in draws.values() if "nDCG@5" in row]
    if not rows:
        return next((row["outcome"] for row in draws.values()), "")
    first, *others = (percent(mean(row[measure] for row in rows)) for measure in MEASURES)
    return f"{first} ({' / '.join(others)}){CURVE * any('curve' in row for row in rows)}"


def _learned(draws: Mapping[str, Any]) -> str:
    key = "training processor seconds"
    seconds = [row[key] for row in draws.values() if key in row]
    return _number(mean(seconds)) if seconds else ""


def _figure(row: Mapping[str, Any], key: str) -> str:
    if key not in row:
        return row.get("outcome", "") if key == next(iter(SPEED)) else ""
    shown = _number(row[key])
    return f"{shown} ({_number(row[_PROCESSOR[key]])})" if key in _PROCESSOR else shown


def _rounds(rounds: Sequence[int]) -> str:
    few, many = min(rounds), max(rounds)
    return f"medians of {few if few == many else f'{few} to {many}'} rounds" if many > 1 else "one round"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"


def tables() -> dict[str, Callable[[], Iterable[str]]]:
    """Name -> what makes the lines of a table of peers."""
    found = figures.read(figures.RESULTS / "peers.json")
    return {
        **{f"peers, {corpus}": partial(quality, corpus) for corpus in found.get("quality", ())},
        "peers, labels needed": needed,
        "peers, training": training,
        **{f"peers, speed, {setting}": partial(speed, setting) for setting in found.get("speed", ())},
        "peers, conditions": about,
    }
