"""The command `monitor`: what has changed in a log of tagged documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagwright.app.arguments import Json
from tagwright.core.display import escape_controls, plural, print_json

if TYPE_CHECKING:
    from tagwright.monitoring import Look, Monitor


def monitor(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log of tagged documents.")],
    reviews: Annotated[
        Path | None, typer.Option(metavar="FILE.sqlite", help="A review file, for the acceptance rate.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Report changes in a log that `serve`, `batch` or `suggest` has written with --monitor FILE.

    The last documents of each version of a tagger are compared with its training documents or the first ones:
    languages, floods of one label, documents without a likely label, mean confidence, acceptance by reviewers.
    """
    from tagwright.monitoring import Watch
    from tagwright.review.decisions import Decisions
    from tagwright.review.file import ReviewFile

    watch = Watch(log, must_exist=True)
    decisions = Decisions(ReviewFile.open_existing(reviews)) if reviews else None
    last = {}
    for version, followed in watch.monitors.items():
        accepted = decisions.acceptances(version) if decisions else ()
        last[version] = {name: looks[-1] for name, looks in followed.looks(accepted).items() if looks}
    if as_json:
        print_json({"versions": [_as_json(version, watch.monitors[version], looks) for version, looks in last.items()]})
        return
    for version, looks in last.items():
        _show(version, watch.monitors[version], looks)


def _as_json(version: str, monitor: "Monitor", looks: dict[Any, "Look"]) -> dict[str, Any]:
    signals = {name: {**look._asdict(), "alarm": look.is_alarm} for name, look in looks.items()}
    return {
        "version": version,
        "documents": monitor.count,
        "profile": monitor.languages is not None,
        "signals": signals,
    }


def _show(version: str, monitor: "Monitor", looks: dict[Any, "Look"]) -> None:
    from tagwright.app.render import show_table
    from tagwright.monitoring.monitor import FIRST

    print(escape_controls(f"{version}: {plural(monitor.count, 'document')}"))
    others = "languages with the training, all else" if monitor.languages else "the last ones"
    print(f"{others} compared with the first {FIRST} documents")
    if not looks:
        print(f"nothing to show before {monitor.starts('language')} documents")
        return
    rows = [
        [name, f"{look.before:.1%}", f"{look.value:.1%}", f"{look.p:.1g}", _alarm(look)] for name, look in looks.items()
    ]
    show_table([["signal", "before", "now", "probability", ""], *rows])


def _alarm(look: "Look") -> str:
    if not look.is_alarm:
        return ""
    return f"ALARM {look.category} {look.had:.0%} -> {look.has:.0%}" if look.category else "ALARM"
