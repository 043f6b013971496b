"""Ray on two nodes, one of which dies: `python -m benchmarks ray_nodes`, as root on Linux.

A batch uses both nodes of a cluster. At one moment or another the second node is killed, or cut off from the first. The
output must be complete, and the same bytes as without Ray; and what is left must go on as fast as before, which is
seen from the seconds that an actor takes for a shard. What it waits for a processor is counted apart: that is due to
other work on this machine.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import figures, two_nodes
from benchmarks.million import different
from benchmarks.two_nodes import ADDRESSES, HEAD, OTHER, PORT

RESULTS = figures.RESULTS / "ray_nodes.json"
NAMES = ["Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers", "Stocks", "Money"]
MOMENTS = {
    "none": "no node dies",
    "start": "one is killed while the actors start",
    "middle": "one is killed in the middle",
    "end": "one is killed near the end",
    "cable": "one is cut off in the middle",
    "head": "the one with the command and its model is killed, and both are started again",
}
ENDED = 300.0
"Seconds in which the command must see that its own node has died."
POLL = 0.1
"Seconds between two looks at what is done."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ray_nodes", description=__doc__)
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--shard-size", type=int, default=1000)
    parser.add_argument("--moments", nargs="+", choices=list(MOMENTS), default=list(MOMENTS))
    parser.add_argument("--rounds", type=int, default=1, help="how often each moment is tried")
    parser.add_argument(
        "--niceness", type=int, default=0, help="how far Ray lowers the priority of actors; by itself 15"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="where runs are added to those that are there")
    options = parser.parse_args(arguments)
    if why := two_nodes.missing():
        sys.exit(f"two nodes cannot be had here: {why}")
    result: dict[str, Any] = {"runs": [], **figures.read(options.output)}
    with tempfile.TemporaryDirectory(prefix="tagwright-nodes-") as name, two_nodes.namespaces():
        trials = _Trials(Path(name), options)
        for moment in options.moments * options.rounds:
            result["runs"].append(trials.run(moment, random.Random(f"{moment} {len(result['runs'])}")))
            print(json.dumps(result["runs"][-1]), flush=True)
            figures.write(options.output, result)
    sys.exit(any(run["exit code"] or run["different files"] for run in result["runs"]))


def prepare(folder: Path, documents: int) -> None:
    """Documents and a small tagger."""
    from tagwright import zero_shot

    rng = random.Random(0)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for number in range(documents):
            file.write(json.dumps({"id": str(number), "title": " ".join(rng.choices(NAMES, k=40))}) + "\n")
    zero_shot(NAMES, stages=["exact_match", "tfidf"], language="en").save(folder / "model")


@dataclass
class _Look:
    """What is seen at a time: shards done, and how long the first node's actor ran and waited for a processor."""

    at: float
    done: int
    ran: float = 0.0
    waited: float = 0.0


@dataclass
class _Watched:
    """A batch at work. first: when a shard was done for the first time; killed: when the node died; last: so far."""

    process: subprocess.Popen[bytes]
    output: Path
    actor: int = 0
    looks: dict[str, _Look] = field(default_factory=dict)

    def look(self) -> _Look:
        done = len(list(self.output.glob("shard-*[0-9].json")))
        if done and not self.actor:
            self.actor = next(iter(two_nodes.workers(HEAD)), 0)
        seen = _Look(time.time(), done, *_processor_time(self.actor))
        if done and (seen.ran or "first" not in self.looks):
            self.looks.setdefault("first", seen)
            self.looks["last"] = seen
        return seen

    def wait(self, seconds: float = float("inf")) -> None:
        """Until the batch has ended, or so many seconds have passed."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.look()
            time.sleep(POLL)


class _Trials:
    """A cluster whose second node is started anew for each trial."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._folder, self._niceness = folder, options.niceness
        self._shards = -(-options.documents // options.shard_size)
        prepare(folder, options.documents)
        batch = [sys.executable, "-m", "tagwright", "batch", "documents.jsonl", "--model", "model", "--quiet"]
        self._batch = [*batch, "--shard-size", str(options.shard_size), "--output"]
        subprocess.run([*self._batch, "whole", "--processes", "1"], cwd=folder, check=True)
        two_nodes.start(HEAD, folder, options.niceness)

    def run(self, moment: str, rng: random.Random) -> dict[str, Any]:
        """One batch, with a node that dies at that moment."""
        shutil.rmtree(self._folder / "nodes", ignore_errors=True)
        two_nodes.connect(OTHER)
        two_nodes.start(OTHER, self._folder, self._niceness)
        watched = self._start()
        self._await(watched, moment, rng)
        killed = watched.looks["killed"] = watched.look()
        actors = len(two_nodes.workers(OTHER))
        if moment == "cable":
            two_nodes.cut_off(OTHER)
        elif moment != "none":
            two_nodes.kill(HEAD if moment == "head" else OTHER, but=watched.process.pid)
        watched.wait(ENDED if moment == "head" else float("inf"))
        found = {"moment": moment, "niceness": self._niceness, "shards": self._shards}
        found |= {"shards done": killed.done, "actors": actors, "seconds": round(time.time() - killed.at, 1)}
        if moment == "head":
            found["exit code of the command"] = watched.process.returncode
            watched = self._again()
        two_nodes.kill(OTHER)
        found |= {"exit code": watched.process.returncode, **_pace(watched, 1 + (moment == "none"))}
        return found | {"different files": different(self._folder / "whole", self._folder / "nodes")}

    def _start(self) -> _Watched:
        ray = [*self._batch, "nodes", "--ray", f"{ADDRESSES[HEAD]}:{PORT}"]
        return _Watched(subprocess.Popen(two_nodes.inside(HEAD, ray), cwd=self._folder), self._folder / "nodes")

    def _again(self) -> _Watched:
        """The first node and the command, started anew; what was left of the cluster is killed."""
        two_nodes.kill(OTHER)
        two_nodes.kill(HEAD)
        two_nodes.start(HEAD, self._folder, self._niceness)
        watched = self._start()
        watched.wait()
        return watched

    def _await(self, watched: _Watched, moment: str, rng: random.Random) -> None:
        """Until the moment has come, or the batch has ended."""
        share = {"start": 0.0, "end": rng.uniform(0.9, 1.0)}.get(moment, rng.uniform(0.1, 0.6))
        due = min(round(share * self._shards), self._shards - 1)
        there = len(two_nodes.processes(OTHER))

        def come() -> bool:
            if moment == "start":
                return len(two_nodes.processes(OTHER)) > there
            return watched.look().done >= due and bool(two_nodes.workers(OTHER))

        while watched.process.poll() is None and not come():
            time.sleep(POLL)
        if moment == "start":
            time.sleep(rng.uniform(0, 4))


def _pace(watched: _Watched, left: int) -> dict[str, Any]:
    """Before and after the node died: seconds an actor takes for a shard, the share of time it waits for a processor.

    left: how many nodes there are afterwards.
    """
    looks = watched.looks
    if "killed" not in looks:
        return {}
    ends = sorted(file.stat().st_mtime for file in watched.output.glob("shard-*[0-9].json"))
    found = {}
    for name, first, last, nodes in (("before", "first", "killed", 2), ("after", "killed", "last", left)):
        start, end = looks[first], looks[last]
        between = [each for each in ends if start.at <= each <= end.at]
        if len(between) > 1 and end.ran > start.ran:
            seconds = (between[-1] - between[0]) / (len(between) - 1) * nodes
            longest = max(later - earlier for earlier, later in pairwise(between))
            waiting = (end.waited - start.waited) / (end.at - start.at)
            found[name] = {"seconds": round(seconds, 2), "longest": round(longest, 2), "waiting": round(waiting, 2)}
    return found


def _processor_time(process: int) -> tuple[float, float]:
    """Seconds that its main thread ran, and that it was ready to run and had no processor."""
    try:
        ran, waited, _ = Path(f"/proc/{process}/schedstat").read_text(encoding="utf-8").split()
    except OSError:
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9
