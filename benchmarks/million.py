"""A million documents by `batch`, killed and continued: `python -m benchmarks million --work FOLDER [--kills 10]`.

Abstracts of arxiv are repeated with changes (a tenth of the words are words of other abstracts) and tagged with the
26,983 labels of tib by names, words and a static encoder: once undisturbed, and once killed at random moments and
started again; the files must be the same. Documents per second, and the memory of all processes together at its peak.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks import corpora, figures
from benchmarks.machine import family

from tagwright.batch.local_processes import NO_CACHE, ONE_THREAD

CHANGED = 0.1
"The share of words that are exchanged."
SAMPLE = 2000
"Abstracts whose words take their place, at most."
POLL = 2.0
"Seconds between two looks at the memory."


def main(arguments: list[str]) -> None:
    parser = corpora.parser("million", __doc__, (), work=True)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--shard-size", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--arrow", action="store_true", help="also the same rows in batches of Arrow, in one process")
    options = parser.parse_args(arguments)
    corpora.require(("arxiv", "tib"))
    options.work.mkdir(parents=True, exist_ok=True)
    prepare(options.work, options.documents)
    found = figures.read(options.output) | {"labels": len(corpora.labels("tib"))}
    run = found.setdefault("runs", {}).setdefault(str(options.documents), {})
    settings = {name: getattr(options, name) for name in ("shard_size", "processes")}
    if any(run.get(name) != value for name, value in settings.items()):
        run |= {**settings, "undisturbed": watched(options, "whole")}
        write(options.output, found)
    if options.arrow:
        run["arrow"] = arrow(options)
    run["killed"] = killed(options)
    run["different files"] = different(options.work / "whole", options.work / "killed")
    write(options.output, found)


def write(path: Path, found: dict[str, Any]) -> None:
    """Write what is known so far: the runs by the number of documents."""
    figures.write(path, found)
    print(json.dumps(found), flush=True)


def prepare(work: Path, documents: int) -> None:
    """Documents and a saved tagger, unless they are there."""
    from tagwright import zero_shot
    from tagwright.core.atomic import replace_file
    from tagwright.encoders.static import distil

    path = work / f"documents-{documents}.jsonl"
    if not path.is_file():
        with replace_file(path) as part, part.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in islice(changed(), documents))
    if not (work / "model" / "manifest.json").is_file():
        distil(work / "static")
        vocabulary = corpora.labels("tib")
        zero_shot(vocabulary, encoder=str(work / "static"), language="english").save(work / "model")


def changed() -> Iterator[dict[str, str]]:
    """Abstracts, again and again, each time with other words exchanged."""
    path = corpora.folder("arxiv") / "train.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [record for record in map(json.loads, lines) if record.get("abstract")]
    if not records:
        sys.exit(f"{path}: no train document has an abstract; million repeats abstracts")
    rng = random.Random(0)
    sample = rng.sample(records, min(SAMPLE, len(records)))
    words = [word for record in sample for word in record["abstract"].split()]
    for number, record in enumerate(cycle(records)):
        text = [rng.choice(words) if rng.random() < CHANGED else word for word in record["abstract"].split()]
        yield {"id": str(number), "title": record.get("title", ""), "abstract": " ".join(text)}


def watched(options: argparse.Namespace, name: str, end: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Run the batch until it ends, or is killed when `end` says so."""
    command = [sys.executable, "-m", "tagwright", "batch", str(options.work / f"documents-{options.documents}.jsonl")]
    command += ["--model", str(options.work / "model"), "--output", str(options.work / name), "--quiet"]
    command += ["--shard-size", str(options.shard_size), "--processes", str(options.processes)]
    start, before, peak = time.monotonic(), os.times(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        if end():
            process.send_signal(signal.SIGKILL)
        peak = max(peak, memory(process.pid))
        time.sleep(POLL)
    seconds, after = time.monotonic() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "exit code": process.returncode,
        "seconds": round(seconds, 1),
        "processor seconds": round(used, 1),
        "documents/s": round(options.documents / seconds, 1),
        "documents per processor second": round(options.documents / max(used, 0.1), 1),
        "peak MB": round(peak),
    }


def arrow(options: argparse.Namespace) -> dict[str, Any]:
    """The same documents in batches of Arrow, in one process with one thread, as each process of a batch has."""
    command = [sys.executable, "-m", "benchmarks.arrow", str(options.work), str(options.documents)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**NO_CACHE, **os.environ, **ONE_THREAD})
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def killed(options: argparse.Namespace) -> dict[str, Any]:
    """The batch killed again and again some time after some more shards are done, and in the end let run."""
    rng, kills, start = random.Random(0), 0, time.monotonic()
    step = max(1, options.documents // options.shard_size // (options.kills + 1))
    for _ in range(options.kills):
        wanted, waits = done(options) + rng.randint(1, step), rng.randint(0, 5)
        looks = iter(range(waits))
        if watched(options, "killed", lambda: done(options) >= wanted and next(looks, None) is None)["exit code"] == 0:  # noqa: B023
            break
        kills += 1
        print(f"kill {kills}: {done(options)} shards done", file=sys.stderr, flush=True)
    last = watched(options, "killed")
    return {"kills": kills, "seconds": round(time.monotonic() - start, 1), "exit code": last["exit code"]}


def done(options: argparse.Namespace) -> int:
    """How many shards of the output that is killed are done."""
    return len(list((options.work / "killed").glob("shard-*[0-9].json")))


def different(one: Path, other: Path) -> list[str]:
    """The names of files that are not the same in both folders."""
    names = {file.name for folder in (one, other) for file in folder.iterdir()}
    pairs = {name: (one / name, other / name) for name in names}
    return sorted(
        name for name, (a, b) in pairs.items() if not (a.is_file() and b.is_file()) or a.read_bytes() != b.read_bytes()
    )


def memory(process: int) -> float:
    """MB of a process and its children, what they share counted in parts."""
    total = 0.0
    for pid in family(process):
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 2**10
    return total
