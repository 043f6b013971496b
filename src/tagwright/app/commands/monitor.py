"""The command `monitor`: whether a tagger has become less sure."""

from pathlib import Path
from typing import Annotated

import typer

from tagwright.app.arguments import Json
from tagwright.core.display import escape_controls, plural, print_json


def monitor(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="Logs of `serve --monitor`, or files of --format jsonl.")
    ],
    as_json: Json = False,
) -> None:
    """Compare the last 200 documents that a tagger has tagged with the first 500, for each of its versions.

    Two shares are compared: of documents without a likely label, and of those that no label of the vocabulary fits.
    """
    from tagwright.app.render import show_table
    from tagwright.monitoring import FIRST, WINDOW, changes, read_doubts

    versions = read_doubts(logs)
    found = {version: changes(documents) for version, documents in versions.items()}
    if as_json:
        content = [
            {
                "version": version,
                "documents": len(versions[version]),
                "signals": {name: {**each._asdict(), "alarm": each.is_alarm} for name, each in signals.items()},
            }
            for version, signals in found.items()
        ]
        print_json({"versions": content})
        return
    for version, signals in found.items():
        print(escape_controls(f"{version or 'all'}: {plural(len(versions[version]), 'document')}"))
        if len(versions[version]) < FIRST + WINDOW:
            print(f"nothing to show before {FIRST + WINDOW} documents")
        else:
            rows = [
                [name, f"{each.before:.1%}", f"{each.value:.1%}", f"{each.p:.1g}", "ALARM" if each.is_alarm else ""]
                for name, each in signals.items()
            ]
            show_table([["share", f"first {FIRST}", f"last {WINDOW}", "probability", ""], *rows])
