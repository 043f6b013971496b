"""All tables of quality on one page: `python -m benchmarks tables` makes RESULTS.md of the files in results/."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NAMES = ("unsupervised", "metadata", "fulltext", "supervised", "descriptions")
LEVEL = 0.05

INTRODUCTION = """# Tables of quality

Percent, with 95% bootstrap intervals over documents. Below each table stand the differences between rows; an asterisk
says that a paired randomisation test, with Holm's correction over the measures that are named, gives p < 0.05. Written
by `python -m benchmarks tables`.
"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__)
    parser.add_argument("--output", type=Path, default=FOLDER / "RESULTS.md")
    options = parser.parse_args(arguments)
    parts = [INTRODUCTION]
    for name in NAMES:
        path = FOLDER / "results" / f"{name}.json"
        if path.is_file():
            parts += [f"## {name}\n", *page(json.loads(path.read_text("utf-8")))]
    options.output.write_text("\n".join(parts), encoding="utf-8")


def page(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The tables of one result file."""
    for heading, table in tables.items():
        rows = {name: row for name, row in table.items() if isinstance(row, dict) and "P@1" in row}
        if not rows:
            continue
        about = ", ".join(f"{name} {value}" for name, value in table.items() if isinstance(value, (str, int, float)))
        measures = [name for name, value in next(iter(rows.values())).items() if is_measured(value)]
        yield f"### {heading}\n\n{about}\n"
        yield from lines(["", *measures, "seconds"], [cells(name, row, measures) for name, row in rows.items()])
        yield ""
        yield from (line for name, row in rows.items() for line in differences(name, row))
        yield ""


def is_measured(value: Any) -> bool:
    return isinstance(value, dict) and "low" in value


def cells(name: str, row: Mapping[str, Any], measures: Sequence[str]) -> list[str]:
    return [name, *(interval(row.get(measure)) for measure in measures), f"{row.get('seconds', 0):.0f}"]


def interval(value: Mapping[str, float] | None) -> str:
    """A value with its interval, in percent.

    >>> interval({"value": 0.5, "low": 0.456, "high": 0.544})
    '50.0 [45.6, 54.4]'
    """
    return f"{100 * value['value']:.1f} [{100 * value['low']:.1f}, {100 * value['high']:.1f}]" if value else ""


def lines(head: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *body):
        yield f"| {' | '.join(row)} |"


def differences(name: str, row: Mapping[str, Any]) -> Iterator[str]:
    """What the tests say of a row, a line for each row that it is compared with."""
    for other, measures in row.get("against", {}).items():
        yield f"- {name} - {other}: " + ", ".join(f"{key} {change(test)}" for key, test in measures.items())


def change(test: Mapping[str, Any]) -> str:
    star = "*" if test["adjusted"]["randomisation"] < LEVEL else ""
    return f"{100 * test['difference']['value']:+.1f}{star}"
