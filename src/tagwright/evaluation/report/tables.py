"""Lay out scores and comparisons as tables of text, and scores of labels as TSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tagwright.core.atomic import replace_file
from tagwright.evaluation.calibration import Threshold
from tagwright.evaluation.resampling import Score
from tagwright.evaluation.scores import LabelScore, Scores
from tagwright.evaluation.significance import TESTS, Comparison, Difference

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


def threshold_rows(thresholds: Sequence[Threshold]) -> Rows:
    """From which confidence on suggestions are to be accepted to keep a bound, and how many these are.

    The threshold is rounded to the side on which the bound is kept.

    >>> rows = threshold_rows([Threshold("missed", 0.3, 100, 0.2509, 4.0), Threshold("wrong", 0.5, 10, None, 0.0)])
    >>> rows[1], rows[2]
    (['30% of labels missed', '100', '0.250', '4.0'], ['0.5 labels wrong per document', '10', 'none', '0.0'])
    """
    bounds = {"missed": lambda bound: f"{bound:.0%} of labels missed", "wrong": "{} labels wrong per document".format}
    rounding = {"missed": math.floor, "wrong": math.ceil}
    rows = [["expected at most", "of the first", "accept from confidence", "labels per document"]]
    for each in thresholds:
        least = "none" if each.confidence is None else f"{rounding[each.rule](1000 * each.confidence) / 1000:.3f}"
        rows.append([bounds[each.rule](each.bound), str(each.first), least, f"{each.accepted:.1f}"])
    return rows


def slice_rows(scores: Scores) -> Rows:
    """The measures of every slice, in percent, under the number of its documents; no rows when there are no slices.

    >>> half = {"P@1": Score(0.5, 0.25, 0.75)}
    >>> slice_rows(Scores(9, half, {"tail": Scores(4, half)}))
    [['%', 'tail'], ['documents', '4'], ['P@1', '50.0']]
    """
    parts = scores.slices.values()
    if not parts:
        return []
    return [
        ["%", *scores.slices],
        ["documents", *(f"{part.documents:,}" for part in parts)],
        *(
            [name, *(percent(part.measures[name].value) for part in parts)]
            for name in scores.measures
            if all(name in part.measures for part in parts)
        ),
    ]


def comparison_rows(comparison: Comparison) -> Rows:
    """Both runs, their difference in points with its interval, and each test's p after Holm's correction.

    Plain p is of the randomisation test, made for every measure; a star marks 0.05 or less.
    """
    tests = _made(comparison)
    return [
        [
            "%",
            comparison.a,
            comparison.b,
            f"{comparison.a} - {comparison.b}",
            "95% interval",
            *(_HEADINGS[test] for test in tests),
        ],
        *(
            [
                name,
                percent(row.a),
                percent(row.b),
                percent(row.difference.value, "+") + ("*" if is_significant(row) else ""),
                between(row.difference),
                *(_p(row.adjusted.get(test)) for test in tests),
            ]
            for name, row in comparison.measures.items()
        ),
    ]


def tests_of(comparisons: Iterable[Comparison]) -> dict[str, str]:
    """The tests that were made: the heading of their column in `comparison_rows`, and what they ask."""
    made = dict.fromkeys(test for each in comparisons for test in _made(each))
    return {_HEADINGS[test]: TESTS[test] for test in _HEADINGS if test in made}


def _made(comparison: Comparison) -> list[str]:
    return [test for test in _HEADINGS if any(test in row.adjusted for row in comparison.measures.values())]


def as_text(rows: Rows) -> str:
    """Rows as lines of text: the first column to the left, the others to the right, two spaces between.

    >>> print(as_text([["%", "value"], ["P@10", "7.5"]]))
    %     value
    P@10    7.5
    """
    first, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([row[0].ljust(first), *map(str.rjust, row[1:], others)] for row in rows)
    return "\n".join("  ".join(line) for line in lines)


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
        taken = sum(widths[each] for each in [0, *parts[-1], column])
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


def write_per_label(scores: Iterable[LabelScore], labels: Sequence[tuple[str, str]], path: Path | str) -> None:
    """Write one line per label as TSV, under a line that names the columns. labels: id and name of each label.

    Raises TagwrightError when it cannot be written.
    """
    with replace_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["label", "name", *LabelScore._fields[1:]])
        for row in scores:
            shares = (f"{share:.4f}" for share in (row.precision, row.recall, row.f1))
            writer.writerow([*labels[row.label], row.train, row.tp, row.fp, row.fn, *shares])


_HEADINGS = {
    "randomisation": "p",
    "t": "p (t)",
    "mcnemar": "p (McNemar)",
    "macro-t": "p (macro t)",
    "sign": "p (sign)",
}


def percent(share: float, sign: str = "") -> str:
    """In percent, with one decimal; no minus sign where it rounds to 0."""
    return f"{round(100 * share, 1) + 0.0:{sign}.1f}"


def between(estimate: Score) -> str:
    """The interval, in percent."""
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def _p(value: float | None) -> str:
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def is_significant(row: Difference) -> bool:
    """Whether the randomisation test is significant after Holm's correction."""
    return row.adjusted["randomisation"] <= 0.05
