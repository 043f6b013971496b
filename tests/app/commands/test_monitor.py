"""The command `monitor`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.app.conftest import Command


def written(path: Path, sure: int, unsure: int) -> str:
    lines = [json.dumps({"id": "d", "suggestions": [{"label": "b", "confidence": each}]}) for each in (0.9, 0.1)]
    path.write_text("".join(f"{line}\n" * count for line, count in zip(lines, (sure, unsure), strict=True)))
    return str(path)


def test_a_change_is_an_alarm(run: Command, desk: Path) -> None:
    logs = written(desk / "a.jsonl", 450, 50), written(desk / "b.jsonl", 100, 100)
    lines = run("monitor", *logs).out.splitlines()
    assert lines[0] == "all: 700 documents"
    (row,) = (line.split() for line in lines if "unsure" in line)
    assert (row[1:3], row[-1]) == (["10.0%", "50.0%"], "ALARM")
    (version,) = json.loads(run("monitor", *logs, "--json").out)["versions"]
    assert (version["documents"], version["signals"]["unsure"]["alarm"]) == (700, True)
    assert run("monitor", logs[0]).out.splitlines()[-1] == "nothing to show before 700 documents"
    missing = run("monitor", "missing.jsonl")
    assert (missing.code, missing.err) == (2, "tagwright: missing.jsonl: No such file or directory\n")
