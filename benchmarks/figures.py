"""Results files: where they lie and how they are written, with the day and the commit of what was measured."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import machine

OWN = os.environ.get("TAGWRIGHT_CORPORA", "")
"The folder of a reader's own corpora, which `python -m benchmarks --folder` sets; processes that are started see it."

COMMITTED = Path(__file__).parent / "results"
RESULTS = Path(OWN) / "results" if OWN else COMMITTED

NOT_MEASURED = ("corpora", "recorded")
"Files of the folder that no script writes."

State = Mapping[str, str]
"`day` and, where there was a checkout, `commit`."

UNRECORDED: State = {"day": "before"}
"Of rows that were kept before states were."


@cache
def state() -> dict[str, str]:
    """The day, and the commit of the sources, with a + where they were changed since."""
    git = ("git", "-C", str(Path(__file__).parent))
    try:
        commit, changed = (
            subprocess.run([*git, *command], capture_output=True, text=True, check=True).stdout.strip()
            for command in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--", "../src"))
        )
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout
        return {"day": f"{datetime.now(UTC):%Y-%m-%d}"}
    return {"day": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit + "+" * bool(changed)}


def read(path: Path) -> dict[str, Any]:
    """What a results file holds, to be added to; nothing where there is no file."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


def write(path: Path, content: Mapping[str, Any], made: Iterable[State] | None = None) -> None:
    """Write a results file atomically, with the machine, the day and the commit.

    Pass what `read` gave with more in it, and the former days stay listed. made: states that rows were measured with,
    where that may have been before this run.
    """
    from tagwright.core.atomic import replace_file  # where parsers are attacked, nothing may be imported before

    states = {json.dumps(each, sort_keys=True): each for each in (*content.get("made", ()), *(made or [state()]))}
    about = {"machine": machine.describe(), "made": [*states.values()]}
    with replace_file(path) as file:
        text = json.dumps({**about, **content, **about}, indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")


def table() -> Iterator[str]:
    """Each results file, and the days on which it was written, with their commits where they were recorded."""
    yield from ("| file | made |", "| --- | --- |")
    for path in sorted(COMMITTED.glob("*.json")):
        if path.stem not in NOT_MEASURED:
            days = (f"{each['day']} {each.get('commit', '')}".strip() for each in read(path)["made"])
            yield f"| `results/{path.name}` | {', '.join(days)} |"


TABLES = {"results files": table}
