"""What all drawings share: SVG whose colours follow the reader's, with a title for those who hear it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

COLOURS: Mapping[str, tuple[str, str]] = {
    "orange": ("#b0480f", "#f0935a"),
    "blue": ("#2766a8", "#7fb4ee"),
    "green": ("#2a7a3c", "#74cb8a"),
    "purple": ("#7c44a3", "#c99aea"),
    "red": ("#a83244", "#f08b99"),
    "grey": ("#5b6675", "#a6aebc"),
}
"Name -> its shade on white and on black; each has a contrast of 4.5 or more there."

STYLE = (
    "text{fill:#3d4654;stroke:#fff;stroke-width:4px;stroke-linejoin:round;paint-order:stroke}text.in{stroke:none}"
    ".axis{stroke:#8a94a3;fill:none}.grid{stroke:#e2e6ec;fill:none}.box{fill:#f1f4f8;stroke:#8a94a3}"
)

DARK = (
    "text{fill:#cfd5de;stroke:#131416}text.in{stroke:none}"
    ".axis{stroke:#7a8496}.grid{stroke:#2c323c}.box{fill:#20252e;stroke:#7a8496}"
)


def picture(title: str, width: float, height: float, body: Iterable[str]) -> str:
    """A drawing of parts made by the functions below."""
    light, dark = (
        "".join(
            f".{name}{{stroke:{shades[scheme]}}}text.{name}{{fill:{shades[scheme]};stroke:{paper}}}"
            f".fill.{name}{{fill:{shades[scheme]}}}"
            for name, shades in COLOURS.items()
        )
        for scheme, paper in enumerate(("#fff", "#131416"))
    )
    drawn = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'font-family="system-ui,sans-serif" font-size="13" role="img">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}{light}@media(prefers-color-scheme:dark){{{DARK}{dark}}}</style>\n{drawn}\n</svg>\n"
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words that begin, end or have their middle at a place."""
    chosen = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{chosen} text-anchor="{anchor}">{escape(words)}</text>'


def line(places: Sequence[tuple[float, float]], colour: str, dashes: str = "", dots: bool = True) -> list[str]:
    """A line, with a dot at each place."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    found = [f'<polyline points="{path}" class="{colour}" fill="none" stroke-width="2"{dashed}/>']
    return found + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="fill {colour}"/>' for x, y in places if dots]


def path(steps: str, kind: str = "axis", more: str = "") -> str:
    """A line by the commands of SVG."""
    return f'<path d="{steps}" class="{kind}"{more}/>'


def box(x: float, y: float, width: float, height: float, kind: str = "box", more: str = "") -> str:
    """A rectangle with round corners."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" class="{kind}"{more}/>'
