"""Attacks on the server, and what they cost others: `python -m tools.attack`.

Damaged requests, kills while reviewers decide, slow clients; and eight honest clients beside bodies of 20 MB that are
cheap to send and dear to read, files that never end, bodies whose last byte is withheld, and silent connections, with
and without these in turns. After each part results/attack.json has what was tried and what was lost; started again, it
goes on there. For Linux.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import figures
from tools.attack import fuzz, heavy, slow
from tools.attack.kills import Siege

AT_ONCE = {"requests": 5000, "requests without a token": 5000, "kills": 25}
"How many of a kind are tried between two writings."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.attack", description=__doc__)
    parser.add_argument("--requests", type=int, default=80_000, help="damaged, with an admin token")
    parser.add_argument("--without-token", type=int, default=20_000, help="damaged, of somebody who has no token")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--slow", type=int, default=250, help="slow clients of each kind")
    parser.add_argument("--seconds", type=float, default=20, help="of each turn with and without heavy bodies")
    parser.add_argument("--turns", type=int, default=3, help="0: no heavy bodies")
    parser.add_argument("--results", type=Path, default=figures.RESULTS / "attack.json")
    options = parser.parse_args(arguments)
    found = figures.read(options.results)
    wanted = {"requests": options.requests, "requests without a token": options.without_token, "kills": options.kills}
    for kind, count in wanted.items():
        while (done := found.get(kind, {}).get("tried", 0)) < count:
            numbers = range(done, min(count, done + AT_ONCE[kind]))
            found[kind] = added(found.get(kind, {}), PARTS[kind], numbers)
            figures.write(options.results, found)
            print(f"{kind}: {found[kind]['tried']:,} tried, {len(found[kind]['lost'])} lost", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if options.slow and "slow clients" not in found:
            found["slow clients"] = slow.slow(Path(folder), options.slow, seconds=135)
            figures.write(options.results, found)
        if options.turns and "beside honest clients" not in found:
            found["beside honest clients"] = heavy.measured(Path(folder), options.seconds, options.turns)
            figures.write(options.results, found)
    sys.exit(1 if any(found[kind]["lost"] for kind in wanted if kind in found) else 0)


def added(before: Mapping[str, Any], part: Part, numbers: range) -> dict[str, Any]:
    """What was found so far with these numbers tried as well."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        counts, lost = part(Path(folder), numbers)
    return {
        "tried": numbers.stop,
        "lost": [*before.get("lost", []), *lost],
        "seconds": round(before.get("seconds", 0) + time.monotonic() - begun),
        **{name: dict(Counter(before.get(name, {})) + count) for name, count in counts.items()},
    }


Found = tuple[dict[str, Counter[str]], list[str]]
"Counts of what was seen, and what was lost, in a line each."

Part = Callable[[Path, range], Found]
"Tries the disturbances with these numbers in an empty folder."


def requests(folder: Path, numbers: range) -> Found:
    tally, tracebacks = fuzz.with_access(folder, numbers)
    return {"answers": tally.answers, "tracebacks in the log": tracebacks}, tally.lost


def without_token(folder: Path, numbers: range) -> Found:
    tally, tracebacks = fuzz.without_token(folder, numbers)
    return {"answers": tally.answers, "tracebacks in the log": tracebacks}, tally.lost


def kills(folder: Path, numbers: range) -> Found:
    """All of these kills on one file, which must hold at the end what was acknowledged at the beginning."""
    siege, lost = Siege(folder / "reviews.sqlite"), dict[str, None]()
    for number in numbers:
        lost |= {f"kill {number}: {each}": None for each in siege.kill(f"kill {number}")}
    if not siege.is_whole():
        lost[f"kills {numbers.start} to {numbers.stop}: the file is damaged"] = None
    said = siege.said
    counts = Counter({"verdicts": said.verdicts.total(), "notes": len(said.notes), "documents": len(said.learnt),
                      "undone": said.undone.total()})  # fmt: skip
    return {"acknowledged": counts}, list(lost)


PARTS: Mapping[str, Part] = {"requests": requests, "requests without a token": without_token, "kills": kills}
