"""Result files in, parts of Markdown out: tables, percentages, intervals, what tests say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks import figures

LEVEL = 0.05
"An asterisk stands at differences whose p, after Holm's correction, is below it."


def result(name: str) -> dict[str, Any]:
    """A file of results. Raises FileNotFoundError where nothing has been measured."""
    content: dict[str, Any] = json.loads((figures.RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown.

    >>> list(table(["", "P@1"], [["RTS", "33.0"]]))
    ['|  | P@1 |', '| --- | --- |', '| RTS | 33.0 |']
    """
    for row in (head, ["---"] * len(head), *body):
        yield f"| {' | '.join(row)} |"


def percent(share: float | Mapping[str, float] | None) -> str:
    """In percent; of a measure its value; nothing of what was not measured.

    >>> percent(0.1235), percent({"value": 0.5}), percent(None)
    ('12.3', '50.0', '')
    """
    if share is None:
        return ""
    return f"{100 * (share['value'] if isinstance(share, Mapping) else share):.1f}"


def slashed(row: Mapping[str, Any] | None, measures: Sequence[str]) -> str:
    """Several measures in one cell.

    >>> slashed({"P@1": {"value": 0.5}, "P@5": {"value": 0.25}}, ["P@1", "P@5"])
    '50.0 / 25.0'
    """
    return " / ".join(percent(row[measure]) for measure in measures) if row else ""


def interval(value: Mapping[str, float] | None) -> str:
    """A value with its interval, in percent.

    >>> interval({"value": 0.5, "low": 0.456, "high": 0.544})
    '50.0 [45.6, 54.4]'
    """
    return f"{percent(value)} [{percent(value['low'])}, {percent(value['high'])}]" if value else ""


def change(test: Mapping[str, Any]) -> str:
    """A difference in points, with an asterisk where it is significant."""
    star = "*" if test["adjusted"]["randomisation"] < LEVEL else ""
    return f"{100 * test['difference']['value']:+.1f}{star}"


def probability(test: Mapping[str, Any]) -> str:
    """The p of the randomisation test before correction.

    >>> probability({"p": {"randomisation": 0.0001}}), probability({"p": {"randomisation": 0.58}})
    ('p < 0.001', 'p = 0.58')
    """
    p = test["p"]["randomisation"]
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def conditions(found: Mapping[str, Any], name: str) -> str:
    """The facts that a result states of itself; the days on which its file was written, if none is among them."""
    parts = [f"{key}: {_plain(value)}" for key, value in found.items() if isinstance(value, (str, int, float))]
    kept = [part for part in parts if not part.startswith(("job:", "part:", "path:"))]
    made = ", ".join(each["day"] for each in figures.read(figures.RESULTS / f"{name}.json").get("made", ()))
    is_dated = re.search(r"\d{4}-\d\d-\d\d", " ".join(kept))
    return "; ".join(kept if is_dated or not made else [*kept, f"measured {made}"]) + "."


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
