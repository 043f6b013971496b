"""Lay out scores as rows of text, for people and for reports."""

from collections.abc import Mapping, Sequence

from tagwright.evaluation.resampling import Score

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
