"""Scores and comparisons in, tables for people out: for the terminal, as a page of HTML, per label as TSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tagwright.evaluation.frequency import Bin
from tagwright.evaluation.resampling import Estimate
from tagwright.evaluation.scores import LabelScore, Scores
from tagwright.evaluation.significance import Comparison, Difference
from tagwright.store import replace_file

if TYPE_CHECKING:
    from rich.table import Table

Rows = Sequence[Sequence[str]]
"A table as text: the first row names the columns, the first column the rows."


def score_rows(scores: Scores) -> Rows:
    """Every measure with its interval, in percent.

    >>> score_rows(Scores(9, {"P@1": Estimate(0.5, 0.25, 0.754)}))
    [['%', 'value', '95% interval'], ['P@1', '50.0', '25.0 to 75.4']]
    """
    return [
        ["%", "value", "95% interval"],
        *([name, _percent(estimate.value), _between(estimate)] for name, estimate in scores.measures.items()),
    ]


def slice_rows(scores: Scores) -> Rows:
    """The measures of every slice, in percent, under the number of its documents; no rows when there are no slices.

    >>> half = {"P@1": Estimate(0.5, 0.25, 0.75)}
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
            [name, *(_percent(part.measures[name].value) for part in parts)]
            for name in scores.measures
            if all(name in part.measures for part in parts)
        ),
    ]


def comparison_rows(comparison: Comparison) -> Rows:
    """Both runs, their difference in points with its interval, and each test's p after Holm's correction.

    Plain p is that of the randomisation test, which there is for every measure; a star marks 0.05 or less.
    """
    tests = [test for test in _TESTS if any(test in row.adjusted for row in comparison.measures.values())]
    return [
        ["%", "A", "B", "A - B", "95% interval", *(_TESTS[test] for test in tests)],
        *(
            [
                name,
                _percent(row.a),
                _percent(row.b),
                _percent(row.difference.value, "+") + ("*" if _is_significant(row) else ""),
                _between(row.difference),
                *(_p(row.adjusted.get(test)) for test in tests),
            ]
            for name, row in comparison.measures.items()
        ),
    ]


def fitting(rows: Rows, width: int) -> list[Rows]:
    """The columns in as few tables as fit the width, each with the first column; one that is too wide is alone.

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
    """A table for the terminal; numbers stand to the right."""
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


def scores_page(
    title: str,
    scores: Scores,
    notes: Mapping[str, str] | None = None,
    curves: Mapping[str, Sequence[Bin]] | None = None,
) -> str:
    """A page of HTML that needs nothing else: the measures with their intervals, drawn and as tables.

    notes: what the reader should know, such as the names of the files; shown as they are. curves: run -> its macro-F1
    by rank of label frequency (`frequency.by_frequency`).
    """
    plots = [(f"All {scores.documents:,} documents", scores.measures)]
    plots += [(f"{name}: {part.documents:,} documents", part.measures) for name, part in scores.slices.items()]
    return _page(
        title,
        _notes(notes or {}),
        _html_table(score_rows(scores)),
        "<h2>Slices</h2>" if scores.slices else "",
        _html_table(slice_rows(scores)),
        *(_plot(caption, measures) for caption, measures in plots),
        rank_plot(curves) if curves else "",
    )


def comparison_page(
    title: str,
    comparison: Comparison,
    notes: Mapping[str, str] | None = None,
    curves: Mapping[str, Sequence[Bin]] | None = None,
) -> str:
    """Like `scores_page`, for two runs: the differences are drawn, and the line is where there is none."""
    differences = {name: row.difference for name, row in comparison.measures.items()}
    return _page(
        title,
        _notes({"documents": f"{comparison.documents:,}", **(notes or {})}),
        _html_table(comparison_rows(comparison)),
        "<p>p: randomisation test. All p are corrected over the measures (Holm); * marks p of 0.05 or less.</p>",
        _plot("A - B, in points", differences),
        rank_plot(curves) if curves else "",
    )


FREQUENCY = "macro-F1 by rank of label frequency, rare labels to the left"


def rank_plot(curves: Mapping[str, Sequence[Bin]], caption: str = FREQUENCY) -> str:
    """DEPL Fig. 1: macro-F1 of labels from rare to frequent, or in another order; a line for each run."""
    top = max((each.macro_f1 for curve in curves.values() for each in curve), default=0.0) or 1.0
    last = max((curve[-1].last for curve in curves.values() if curve), default=1) or 1
    lines = []
    for number, (name, curve) in enumerate(curves.items()):
        points = " ".join(
            f"{_LEFT + _WIDTH * (each.first + each.last) / 2 / last:.1f},{_HEIGHT * (1 - each.macro_f1 / top):.1f}"
            for each in curve
        )
        colour, y = _COLOURS[number % len(_COLOURS)], 16 + 16 * number
        lines.append(
            f'<g><title>{escape(name)}</title><polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="2"/><text x="{_LEFT + 8}" y="{y}" fill="{colour}">{escape(name)}</text></g>'
        )
    caption = f"{caption}, {last:,} labels"
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>\n"
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + 60} {_HEIGHT + 20}" role="img" aria-label="{escape(caption)}" '
        f'font-size="13">\n<g fill="currentColor"><text x="0" y="12">{_percent(top)}</text>'
        f'<text x="0" y="{_HEIGHT}">0.0</text></g>\n'
        f'<path d="M{_LEFT} 0V{_HEIGHT}H{_LEFT + _WIDTH}" stroke="#8a929b" fill="none"/>\n'
        + "\n".join(lines)
        + "\n</svg></figure>"
    )


def write_page(page: str, path: Path | str) -> None:
    """Write a page in one step. Raises TagwrightError when it cannot be written."""
    with replace_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


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


_TESTS = {
    "randomisation": "p",
    "t": "p (t)",
    "mcnemar": "p (McNemar)",
    "macro-t": "p (macro t)",
    "sign": "p (sign)",
}


def _percent(share: float, sign: str = "") -> str:
    """One decimal, and no sign at what rounds to 0 from below."""
    return f"{round(100 * share, 1) + 0.0:{sign}.1f}"


def _between(estimate: Estimate) -> str:
    return f"{_percent(estimate.low)} to {_percent(estimate.high)}"


def _p(value: float | None) -> str:
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _is_significant(row: Difference) -> bool:
    return row.adjusted["randomisation"] <= 0.05


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1rem 0 }
th, td { padding: .2rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #d7dce1 }
tr > :first-child { text-align: left }
figure { margin: 2rem 0 }
svg { width: 100%; max-width: 45rem; height: auto }
dt { font-weight: 600 }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e3e6e9 } th, td { border-color: #3a4047 } }
"""


def _page(title: str, *parts: str) -> str:
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join(part for part in (f"<h1>{escape(title)}</h1>", *parts) if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _notes(notes: Mapping[str, str]) -> str:
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in notes.items())
    return f"<dl>{''.join(lines)}</dl>" if notes else ""


def _html_table(rows: Rows) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows[1:]
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


_LEFT, _WIDTH, _LINE = 130, 520, 24
"Of a plot, in SVG units: where the axis begins, how long it is, how far its rows are apart."


_HEIGHT, _COLOURS = 260, ("#2f6fb5", "#c2571a", "#3a8f4d", "#8a4fb0", "#b03a48", "#6b7480")
"Of a curve: how high it is, in SVG units, and the colours of the runs, which are told apart on light and dark pages."


def _plot(caption: str, measures: Mapping[str, Estimate]) -> str:
    """A dot with its interval for each measure, on an axis that holds them all and a line at 0."""
    ends = [end for estimate in measures.values() for end in (estimate.low, estimate.value, estimate.high)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    scale = _WIDTH / ((high - low) or 1.0)

    def at(share: float) -> str:
        return f"{_LEFT + scale * (share - low):.1f}"

    height = _LINE * len(measures)
    rows = "\n".join(_dot(name, estimate, at, _LINE * row) for row, (name, estimate) in enumerate(measures.items()))
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>\n"
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + 60} {height}" role="img" aria-label="{escape(caption)}" font-size="13">\n'
        f'<path d="M{at(0)} 0V{height}" stroke="#8a929b"/>\n{rows}\n</svg></figure>'
    )


def _dot(name: str, estimate: Estimate, at: Callable[[float], str], top: int) -> str:
    middle, value = top + _LINE / 2, _percent(estimate.value)
    return (
        f'<g fill="currentColor"><title>{escape(name)}: {value} ({_between(estimate)})</title>'
        f'<text x="0" y="{middle + 4}">{escape(name)}</text>'
        f'<path d="M{at(estimate.low)} {middle}H{at(estimate.high)}" stroke="#2f6fb5" stroke-width="3"/>'
        f'<circle cx="{at(estimate.value)}" cy="{middle}" r="4.5" fill="#2f6fb5"/>'
        f'<text x="{_LEFT + _WIDTH + 12}" y="{middle + 4}">{value}</text></g>'
    )
