"""How long commands take that do next to nothing: start-up, by the clock and by the processor.

Each runs several times after one run that is not counted; medians and the least are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import describe

TAGWRIGHT = ("-c", "from tagwright.app.cli import main; main()")
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import tagwright": ["-c", "import tagwright"],
    "tagwright --help": [*TAGWRIGHT, "--help"],
    "tagwright suggest --help": [*TAGWRIGHT, "suggest", "--help"],
    "a vocabulary that is not there": [*TAGWRIGHT, "suggest", "docs.jsonl", "--labels", "none.jsonl"],
    "exact match of one document": [
        *(*TAGWRIGHT, "suggest", "docs.jsonl", "--labels", "labels.jsonl"),
        *("--set", "stages=['exact_match']", "--set", "weights=[1.0]"),
    ],
    "all stages, one document": [*TAGWRIGHT, "suggest", "docs.jsonl", "--labels", "labels.jsonl"],
}
FILES = {
    "docs.jsonl": {"id": "1", "title": "Honey of the bees"},
    "labels.jsonl": {"id": "bee", "names": ["Bees"], "description": "Insects that make honey."},
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks startup", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="a JSON file")
    options = parser.parse_args(arguments)
    found: dict[str, object] = {"machine": describe()}
    with tempfile.TemporaryDirectory() as folder:
        for name, record in FILES.items():
            (Path(folder) / name).write_text(json.dumps(record) + "\n", encoding="utf-8")
        for name, command in COMMANDS.items():
            rounds = [seconds([sys.executable, *command], folder) for _ in range(options.rounds + 1)][1:]
            wall, used = zip(*rounds, strict=True)
            found[name] = {"median": statistics.median(wall), "least": min(wall), "processor": statistics.median(used)}
            print(f"{name:32} {statistics.median(wall):6.3f} s, least {min(wall):6.3f}, processor {min(used):6.3f}")
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def seconds(command: list[str], folder: str) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, os.times()
    return wall, after.children_user - before.children_user + after.children_system - before.children_system
