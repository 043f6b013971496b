"""Lay out slices and thresholds as rows of text, draw tables for the terminal, and write scores of labels as TSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tagwright.core.outputs import write_output
from tagwright.evaluation.text_tables import Rows, percent

if TYPE_CHECKING:
    from rich.table import Table

    from tagwright.evaluation.calibration import Threshold
    from tagwright.evaluation.scores import LabelScore, Scores
    from tagwright.types import Label


def threshold_rows(thresholds: Sequence[Threshold]) -> Rows:
    """From which confidence on suggestions are to be accepted to keep a bound, and how many these are.

    The threshold is rounded to the side on which the bound is kept. Where more labels are missed even if all
    suggestions are accepted, no threshold helps; where any suggestion may be wrong too often, none is accepted.

    >>> from tagwright.evaluation.calibration import Threshold
    >>> for row in threshold_rows([
    ...     Threshold("missed", 0.3, 100, 0.2509, 4.0), Threshold("missed", 0.1, 100, None, 0.0),
    ...     Threshold("wrong", 0.5, 10, None, 0.0),
    ... ])[1:]:
    ...     print(row)
    ['30% of labels missed', '100', '0.250', '4.0']
    ['10% of labels missed', '100', 'more are missed', '']
    ['0.5 labels wrong per document', '10', 'accept none', '0.0']
    """
    bounds = {"missed": lambda bound: f"{bound:.0%} of labels missed", "wrong": "{} labels wrong per document".format}
    rounding = {"missed": math.floor, "wrong": math.ceil}
    without = {"missed": "more are missed", "wrong": "accept none"}
    rows = [["expected at most", "of the first", "accept from confidence", "labels per document"]]
    for rule, bound, first, confidence, accepted in thresholds:
        if confidence is None:
            cells = [without[rule], "" if rule == "missed" else f"{accepted:.1f}"]
        else:
            cells = [f"{rounding[rule](1000 * confidence) / 1000:.3f}", f"{accepted:.1f}"]
        rows.append([bounds[rule](bound), str(first), *cells])
    return rows


def slice_rows(scores: Scores) -> Rows:
    """The measures of every slice, in percent, under the number of its documents; no rows when there are no slices.

    >>> from tagwright.evaluation.resampling import Score
    >>> from tagwright.evaluation.scores import Scores
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


def write_per_label(scores: Iterable[LabelScore], labels: Sequence[Label], path: Path | str) -> None:
    """Write one line per label as TSV, under a line that names the columns.

    Raises TagwrightError when it cannot be written.
    """
    with write_output(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["label", "name", "train", "tp", "fp", "fn", "precision", "recall", "f1", "notation"])
        for row in scores:
            shares = (f"{share:.4f}" for share in (row.precision, row.recall, row.f1))
            label = labels[row.label]
            writer.writerow([label.id, label.name, row.train, row.tp, row.fp, row.fn, *shares, label.notation])
