"""Draw the plots of a report as SVG."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from tagwright.evaluation.resampling import Score
from tagwright.evaluation.tables import percent, percent_interval
from tagwright.types import Doubles

_BAR_WIDTH, _BAR_HEIGHT = 1000, 14
"Size of the drawing of an interval, in SVG units; it is stretched to the available width."

_LEFT, _HEIGHT = 50, 260
"Left end and length of both axes of a plot of two shares, in SVG units."

_COLOUR = "#2f6fb5"
"Distinct on light and dark pages."


def interval_table(rows: Mapping[str, Score], sign: str = "") -> str:
    """Draw a row for each score: its name, its interval on a common axis that includes 0, and both in percent.

    sign: "+" marks positive numbers.
    """
    ends = [end for score in rows.values() for end in (score.low, score.value, score.high)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    scale = _BAR_WIDTH / ((high - low) or 1.0)

    def x(share: float) -> str:
        return f"{scale * (share - low):.1f}"

    body = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="bar">{_interval(score, x)}</td>'
        f"<td>{percent(score.value, sign)}</td><td>{percent_interval(score)}</td></tr>"
        for name, score in rows.items()
    )
    head = '<tr><th scope="col"></th><th scope="col"></th><th scope="col">%</th><th scope="col">95% interval</th></tr>'
    return f'<table class="intervals"><thead>{head}</thead><tbody>\n{body}\n</tbody></table>'


def _interval(score: Score, x: Callable[[float], str]) -> str:
    """Draw the interval and value of a score. x: the place of a number on the axis."""
    middle = _BAR_HEIGHT // 2
    return (
        f'<svg viewBox="0 0 {_BAR_WIDTH} {_BAR_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="axis" d="M{x(0)} 0V{_BAR_HEIGHT}"/>'
        f'<path class="interval" d="M{x(score.low)} {middle}H{x(score.high)}"/>'
        f'<path class="value" d="M{x(score.value)} 1V{_BAR_HEIGHT - 1}"/></svg>'
    )


def reliability_plot(bins: Sequence[tuple[int, float, float]]) -> str:
    """Draw a dot for each bin at its mean confidence (x) and its share of right suggestions (y)."""
    dots = "".join(
        f'<circle cx="{_x(confidence)}" cy="{_y(right)}" r="4" fill="{_COLOUR}"><title>'
        f"{suggestions:,} suggestions: confidence {percent(confidence)}, right {percent(right)}</title></circle>"
        for suggestions, confidence, right in bins
    )
    diagonal = f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" class="axis" stroke-dasharray="4"/>'
    return _share_plot("Reliability", "confidence, %", "right suggestions, %", diagonal + dots)


def risk_coverage_plot(coverage: Doubles, risk: Doubles) -> str:
    """Draw the share of wrong suggestions (y) among the most confident ones, for every share that is accepted (x)."""
    steps = range(0, len(risk), max(1, -(-len(risk) // 200)))  # more than 200 points are not seen
    drawn = sorted({*steps, len(risk) - 1})
    points = " ".join(f"{_x(float(coverage[i]))},{_y(float(risk[i]))}" for i in drawn)
    line = f'<polyline points="{points}" fill="none" stroke="{_COLOUR}" stroke-width="2"/>'
    return _share_plot(
        "Risk and coverage, most confident first", "accepted suggestions, %", "wrong among them, %", line
    )


def _share_plot(caption: str, x_title: str, y_title: str, body: str) -> str:
    """Draw two axes from 0 to 100 with their titles around a body."""
    middle, below = _LEFT + _HEIGHT / 2, _HEIGHT + 16
    axes = (
        f'<g fill="currentColor"><text x="18" y="12">100</text><text x="34" y="{_HEIGHT}">0</text>'
        f'<text x="{_LEFT + _HEIGHT - 10}" y="{below}">100</text>'
        f'<text x="{middle:.0f}" y="{below}" text-anchor="middle">{escape(x_title)}</text>'
        f'<text transform="translate(12 {_HEIGHT // 2}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text></g>'
    )
    axis = f'<path d="M{_LEFT} 0V{_HEIGHT}H{_LEFT + _HEIGHT}" class="axis"/>'
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>\n"
        f'<svg viewBox="0 0 {_LEFT + _HEIGHT + 30} {_HEIGHT + 24}" role="img" '
        f'aria-label="{escape(f"{caption}: {y_title}, by {x_title}")}" class="shares">\n'
        f"{axes}\n{axis}\n{body}\n</svg></figure>"
    )


def _x(share: float) -> str:
    """The place of a share from 0 to 1 on the horizontal axis of `_share_plot`."""
    return f"{_LEFT + _HEIGHT * share:.1f}"


def _y(share: float) -> str:
    """The same on the vertical axis; SVG counts downwards."""
    return f"{_HEIGHT * (1 - share):.1f}"
