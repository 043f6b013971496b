"""Lay out rows of text: scores, and tables for people, on a terminal or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tagwright.evaluation.resampling import Score

if TYPE_CHECKING:
    from rich.table import Table

Rows = Sequence[Sequence[str]]
"A table as text: the first row names the columns, the first column the rows."


def score_rows(measures: Mapping[str, Score]) -> Rows:
    """Every measure with its interval, in percent.

    >>> score_rows({"P@1": Score(0.5, 0.25, 0.754)})
    [['%', 'value', '95% interval'], ['P@1', '50.0', '25.0 to 75.4']]
    """
    return [
        ["%", "value", "95% interval"],
        *([name, percent(estimate.value), between(estimate)] for name, estimate in measures.items()),
    ]


def as_text(rows: Rows) -> str:
    """Rows as lines of text: the first column to the left, the others to the right, two spaces between.

    >>> print(as_text([["%", "value"], ["P@10", "7.5"]]))
    %     value
    P@10    7.5
    """
    first, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([row[0].ljust(first), *map(str.rjust, row[1:], others)] for row in rows)
    return "\n".join("  ".join(line) for line in lines)


def percent(share: float, sign: str = "") -> str:
    """In percent, with one decimal; no minus sign where it rounds to 0."""
    return f"{round(100 * share, 1) + 0.0:{sign}.1f}"


def between(estimate: Score) -> str:
    """The interval, in percent."""
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def fitting(rows: Rows, width: int) -> list[Rows]:
    """Split the columns into as few tables as fit the width, each with the first column; a too wide column is alone.

    The first column takes 3 characters, each of the others 1; 2 stand between two columns and 1 at either end: 11.

    >>> fitting([["abc", "d", "e"]], 11), fitting([["abc", "d", "e"]], 10)
    ([[['abc', 'd', 'e']]], [[['abc', 'd']], [['abc', 'e']]])
    """
    if not rows:
        return []
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    parts: list[list[int]] = [[]]
    for column in range(1, len(widths)):
        taken = sum(widths[i] for i in [0, *parts[-1], column])
        if parts[-1] and taken > width:
            parts.append([])
        parts[-1].append(column)
    return [[[row[column] for column in [0, *part]] for row in rows] for part in parts]


def table(rows: Rows, title: str = "") -> Table:
    """A table for the terminal; numbers are right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True)
    made.pad_edge = False
    for column, name in enumerate(rows[0]):
        made.add_column(Text(name), justify="right" if column else "left", no_wrap=True)
    for row in rows[1:]:
        made.add_row(*map(Text, row))
    return made
