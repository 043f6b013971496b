"""Draw the plots of a report as SVG."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from tagwright.evaluation.calibration import ReliabilityBin, RiskCoverage
from tagwright.evaluation.metrics import FrequencyBin
from tagwright.evaluation.resampling import Score
from tagwright.evaluation.tables import percent, percent_interval

SPAN, _TALL = 1000, 14
"Size of the drawing of an interval, in SVG units; it is stretched to the available width."

_LEFT, _WIDTH = 50, 520
"Start and length of the axis of a curve, in SVG units."

_HEIGHT, _COLOURS = 260, ("#2f6fb5", "#c2571a", "#3a8f4d", "#8a4fb0", "#b03a48", "#6b7480")
"Height of a curve in SVG units, and the colours of the runs, distinct on light and dark pages."

_SIDE = 260
"The length of both axes of a drawing of two shares, in SVG units."


def interval_table(rows: Mapping[str, Score], sign: str = "") -> str:
    """A row for each estimate: its name, a mark with its interval on a common axis that includes 0, and the numbers."""
    ends = [end for estimate in rows.values() for end in (estimate.low, estimate.value, estimate.high)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    scale = SPAN / ((high - low) or 1.0)

    def at(share: float) -> str:
        return f"{scale * (share - low):.1f}"

    body = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="bar">{_interval(estimate, at)}</td>'
        f"<td>{percent(estimate.value, sign)}</td><td>{percent_interval(estimate)}</td></tr>"
        for name, estimate in rows.items()
    )
    head = '<tr><th scope="col"></th><th scope="col"></th><th scope="col">%</th><th scope="col">95% interval</th></tr>'
    return f'<table class="intervals"><thead>{head}</thead><tbody>\n{body}\n</tbody></table>'


def _interval(estimate: Score, at: Callable[[float], str]) -> str:
    middle = _TALL // 2
    return (
        f'<svg viewBox="0 0 {SPAN} {_TALL}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="axis" d="M{at(0)} 0V{_TALL}"/>'
        f'<path class="interval" d="M{at(estimate.low)} {middle}H{at(estimate.high)}"/>'
        f'<path class="value" d="M{at(estimate.value)} 1V{_TALL - 1}"/></svg>'
    )


def rank_plot(curves: Mapping[str, Sequence[FrequencyBin]]) -> str:
    """DEPL Fig. 1: macro-F1 of labels from rare to frequent, a line for each run."""
    top = max((bin_.macro_f1 for curve in curves.values() for bin_ in curve), default=0.0) or 1.0
    last = max((curve[-1].last for curve in curves.values() if curve), default=1) or 1
    axes = (
        f'<g fill="currentColor"><text x="0" y="12">{percent(top)}</text><text x="0" y="{_HEIGHT}">0.0</text></g>\n'
        f'<path d="M{_LEFT} 0V{_HEIGHT}H{_LEFT + _WIDTH}" class="axis"/>'
    )
    lines = [axes]
    for number, (name, curve) in enumerate(curves.items()):
        points = " ".join(
            f"{_LEFT + _WIDTH * (bin_.first + bin_.last) / 2 / last:.1f},{_HEIGHT * (1 - bin_.macro_f1 / top):.1f}"
            for bin_ in curve
        )
        colour, y = _COLOURS[number % len(_COLOURS)], 16 + 16 * number
        lines.append(
            f'<g><title>{escape(name)}</title><polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="2"/><text x="{_LEFT + 8}" y="{y}" fill="{colour}">{escape(name)}</text></g>'
        )
    caption = f"macro-F1 by rank of label frequency, rare labels to the left, {last:,} labels"
    return _figure(caption, caption, "curves", _LEFT + _WIDTH + 60, _HEIGHT + 20, "\n".join(lines))


def reliability_plot(bins: Sequence[ReliabilityBin]) -> str:
    """Draw a dot for each bin at its mean confidence (x) and its share of right suggestions (y)."""
    dots = "".join(
        f'<circle cx="{_x(confidence)}" cy="{_y(right)}" r="4" fill="{_COLOURS[0]}"><title>'
        f"{suggestions:,} suggestions: confidence {percent(confidence)}, right {percent(right)}</title></circle>"
        for suggestions, confidence, right in bins
    )
    diagonal = f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" class="axis" stroke-dasharray="4"/>'
    return _shares("Reliability", "confidence, %", "right suggestions, %", diagonal + dots)


def risk_coverage_plot(curve: RiskCoverage) -> str:
    """Draw the share of wrong suggestions (y) among the most confident ones, for every share that is accepted (x)."""
    steps = range(0, len(curve.risk), max(1, -(-len(curve.risk) // 200)))  # more points are not seen
    chosen = sorted({*steps, len(curve.risk) - 1})
    points = " ".join(f"{_x(float(curve.coverage[i]))},{_y(float(curve.risk[i]))}" for i in chosen)
    line = f'<polyline points="{points}" fill="none" stroke="{_COLOURS[0]}" stroke-width="2"/>'
    return _shares("Risk and coverage, most confident first", "accepted suggestions, %", "wrong among them, %", line)


def _shares(caption: str, along: str, up: str, body: str) -> str:
    """A drawing over two axes from 0 to 100 with their titles."""
    middle, below = _LEFT + _SIDE / 2, _SIDE + 16
    axes = (
        f'<g fill="currentColor"><text x="18" y="12">100</text><text x="34" y="{_SIDE}">0</text>'
        f'<text x="{_LEFT + _SIDE - 10}" y="{below}">100</text>'
        f'<text x="{middle:.0f}" y="{below}" text-anchor="middle">{escape(along)}</text>'
        f'<text transform="translate(12 {_SIDE // 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text></g>'
    )
    axis = f'<path d="M{_LEFT} 0V{_SIDE}H{_LEFT + _SIDE}" class="axis"/>'
    description = f"{caption}: {up}, by {along}"
    return _figure(caption, description, "shares", _LEFT + _SIDE + 30, _SIDE + 24, f"{axes}\n{axis}\n{body}")


def _figure(caption: str, description: str, kind: str, width: int, height: int, body: str) -> str:
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>\n"
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(description)}" '
        f'class="{kind}">\n{body}\n</svg></figure>'
    )


def _x(share: float) -> str:
    return f"{_LEFT + _SIDE * share:.1f}"


def _y(share: float) -> str:
    return f"{_SIDE * (1 - share):.1f}"
