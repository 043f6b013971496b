"""Batches that are killed and continued: they write the files of an undisturbed batch."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from tools.storm.processes import (
    SCRATCH,
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


TRIALS: Mapping[str, Trial] = {
    "batch": partial(killed, 1),
    "batch, two processes": partial(killed, 2),
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


def _same_files(source: Path, folder: Path, processes: int, done: str) -> str:
    finish(start(command, (folder, *_arguments(source, folder, processes))), DONE)
    one, other = ({each.name: each.read_bytes() for each in (place / "output").iterdir()} for place in (source, folder))
    different = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    assert not different, f"differ: {different}"
    left = [each.name for each in (folder / SCRATCH).iterdir() if each.is_dir()]
    assert not left, f"left behind: {left}"
    return done
