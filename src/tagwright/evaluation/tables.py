"""Format scores as percentages, and lay out tables of them as plain text or for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tagwright.evaluation.resampling import Score

if TYPE_CHECKING:
    from rich.table import Table

Rows = Sequence[Sequence[str]]
"A table as text: the first row names the columns, the first column the rows."


def score_rows(measures: Mapping[str, Score]) -> Rows:
    """Return a row for each measure: its value and interval, in percent.

    >>> score_rows({"P@1": Score(0.5, 0.25, 0.754)})
    [['%', 'value', '95% interval'], ['P@1', '50.0', '25.0 to 75.4']]
    """
    return [
        ["%", "value", "95% interval"],
        *([name, percent(estimate.value), percent_interval(estimate)] for name, estimate in measures.items()),
    ]


def as_text(rows: Rows) -> str:
    """Return a table as lines: the first column left-aligned, the others right-aligned, two spaces between.

    >>> print(as_text([["%", "value"], ["P@10", "7.5"]]))
    %     value
    P@10    7.5
    """
    first, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([row[0].ljust(first), *map(str.rjust, row[1:], others)] for row in rows)
    return "\n".join("  ".join(line) for line in lines)


def percent(share: float, sign: str = "") -> str:
    """Return a share in percent with one decimal. sign: "+" marks positive numbers too."""
    # Adding 0.0 makes 0 of -0: what rounds to 0 has no minus sign.
    return f"{round(100 * share, 1) + 0.0:{sign}.1f}"


def percent_interval(estimate: Score) -> str:
    """Return the interval of a score in percent, such as 25.0 to 75.4."""
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def terminal_table(rows: Rows, title: str = "") -> Table:
    """Return a table for a terminal: the first column left-aligned, the others right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True
    )
    table.pad_edge = False
    for column, name in enumerate(rows[0]):
        table.add_column(Text(name), justify="right" if column else "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    return table
