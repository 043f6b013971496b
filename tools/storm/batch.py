"""Batches that are killed, or lose processes, and are continued: they write the files of an undisturbed batch."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from tools.storm.processes import (
    SCRATCH,
    Child,
    Length,
    Moment,
    Trial,
    Tried,
    command,
    finish,
    kill,
    measure,
    private_folder,
    start,
)

NAMES = ("Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers", "Stocks", "Money")
DOCUMENTS = 400
SHARD = 25

KILLS = 6
"At most so many of a batch."

DONE = (0, 3)
"Exit codes of a batch: 3 where it met documents that have no suggestions."


def killed(processes: int, folder: Path, rng: random.Random) -> Tried:
    """A batch that is killed again and again is continued."""
    whole, length = _undisturbed(processes)
    kills = sum(_kill(whole, folder, processes, Moment.within(length, rng)) for _ in range(rng.randint(1, KILLS)))
    return Tried(_same_files(whole, folder, processes, "continued"), kills)


def two(folder: Path, rng: random.Random) -> Tried:
    """Two processes write the same batch, one of them is killed."""
    whole, length = _undisturbed(1)
    other = start(command, (folder, *_arguments(whole, folder, 1)))
    try:
        kills = _kill(whole, folder, 1, Moment.within(length, rng))
    finally:
        finish(other, DONE)
    return Tried(_same_files(whole, folder, 1, "written by two"), kills)


def without_processes(folder: Path, rng: random.Random) -> Tried:
    """Processes of a running batch are killed, as often as a shard may be begun again."""
    whole, length = _undisturbed(2)
    child = start(command, (folder, *_arguments(whole, folder, 2)))
    try:
        kills = sum(_kill_one(child, rng.uniform(0, length.seconds / 2), rng) for _ in range(2))
    finally:
        finish(child, DONE)
    return Tried(_same_files(whole, folder, 2, "done by others"), kills)


TRIALS: Mapping[str, Trial] = {
    "batch": partial(killed, 1),
    "batch, two processes": partial(killed, 2),
    "batch, losing processes": without_processes,
    "two batches": two,
}


@cache
def _undisturbed(processes: int) -> tuple[Path, Length]:
    """A folder with documents, a tagger, and its batch, which is `whole`; and how long it took."""
    folder = private_folder(f"batch-{processes}")
    finish(start(_write, (folder,)), (0,))
    return folder, measure(command, (folder, *_arguments(folder, folder, processes)), DONE)


def _write(folder: Path) -> None:
    from tagwright import zero_shot

    zero_shot(list(NAMES), stages=["exact_match", "tfidf"], language="en").save(folder / "model")
    rng = random.Random(0)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for i in range(DOCUMENTS):
            words = rng.choices(NAMES, k=4)  # so that no word is in most documents
            record = {"id": str(i), "title": " ".join(words[:2]), "abstract": " ".join(words)}
            file.write(json.dumps(record if i % 50 else {"id": str(i), "title": 1}) + "\n")


def _arguments(source: Path, folder: Path, processes: int) -> list[str]:
    options = {"model": source / "model", "output": folder / "output", "shard-size": SHARD, "processes": processes}
    return [
        "batch",
        str(source / "documents.jsonl"),
        *(part for name, value in options.items() for part in (f"--{name}", str(value))),
    ]


def _kill(source: Path, folder: Path, processes: int, moment: Moment) -> int:
    return kill(command, (folder, *_arguments(source, folder, processes)), moment, DONE)


def _kill_one(child: Child, after: float, rng: random.Random) -> int:
    """Kill a process that tags for the child, if there is one; returns how many."""
    time.sleep(after)
    found = subprocess.run(
        ["pgrep", "-P", str(child.process.pid), "-f", "ShardWorker"],
        capture_output=True,
        text=True,
        check=False,
    )
    if not (numbers := found.stdout.split()):
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(rng.choice(numbers)), signal.SIGKILL)
        return 1
    return 0


def _same_files(source: Path, folder: Path, processes: int, done: str) -> str:
    finish(start(command, (folder, *_arguments(source, folder, processes))), DONE)
    one, other = ({each.name: each.read_bytes() for each in (place / "output").iterdir()} for place in (source, folder))
    different = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    assert not different, f"differ: {different}"
    left = [each.name for each in (folder / SCRATCH).iterdir() if each.is_dir()]
    assert not left, f"left behind: {left}"
    return done
