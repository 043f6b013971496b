"""Ray on two nodes, one of which is killed: `python -m benchmarks ray_nodes`, as root on Linux.

Two raylets run on this machine, each in a network namespace of its own, joined by a virtual cable: to Ray they are two
machines. A batch uses both; when some shards are done, all processes of the second node are killed. The output must be
complete, and the same bytes as without Ray.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.million import different

RESULTS = Path(__file__).parent / "results" / "ray_nodes.json"
HEAD, OTHER = "tagwright-head", "tagwright-other"
ADDRESSES = {HEAD: "10.217.33.1", OTHER: "10.217.33.2"}
PORT = 6391
NAMES = ["Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers", "Stocks", "Money"]
STARTED = 180.0
"Seconds that a node may take to start."
OPTIONS = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats", "--block"]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ray_nodes", description=__doc__)
    parser.add_argument("--documents", type=int, default=6000)
    parser.add_argument("--shard-size", type=int, default=100)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if why := missing():
        sys.exit(f"two nodes cannot be had here: {why}")
    with tempfile.TemporaryDirectory(prefix="tagwright-nodes-") as name:
        result = {"machine": machine.describe(), **measured(Path(name), options.documents, options.shard_size)}
    print(json.dumps(result, indent=1))
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if result["exit code"] == 0 and not result["different files"] else 1)


def missing() -> str:
    """What this machine lacks for network namespaces; empty for nothing."""
    if sys.platform != "linux" or os.geteuid():
        return "they need Linux and root"
    if not shutil.which("ip") or not shutil.which("ray"):
        return "they need the commands ip and ray"
    tried = subprocess.run(["ip", "netns", "add", HEAD], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "del", HEAD], capture_output=True, check=False)
    return tried.stderr.strip()


def measured(folder: Path, documents: int, shard_size: int) -> dict[str, Any]:
    """The batch without Ray, and on two nodes of which one is killed."""
    prepare(folder, documents)
    batch = [sys.executable, "-m", "tagwright", "batch", "documents.jsonl", "--model", "model", "--quiet"]
    batch += ["--shard-size", str(shard_size), "--output"]
    subprocess.run([*batch, "whole", "--processes", "1"], cwd=folder, check=True)
    shards = -(-documents // shard_size)
    with namespaces(), nodes(folder):
        ray = [*batch, "nodes", "--ray", f"{ADDRESSES[HEAD]}:{PORT}"]
        started = subprocess.Popen(inside(HEAD, ray), cwd=folder)
        actors, killed, at = 0, 0, 0
        while started.poll() is None:
            at = at if killed else len(list((folder / "nodes").glob("shard-*[0-9].json")))
            if not killed and at >= shards // 4:
                actors, killed = len(_actors(OTHER)), kill(OTHER)
            time.sleep(0.05)
    return {
        "documents": documents,
        "shards": shards,
        "shards done when the node was killed": at,
        "its processes": killed,
        "its actors": actors,
        "exit code": started.returncode,
        "different files": different(folder / "whole", folder / "nodes"),
    }


def prepare(folder: Path, documents: int) -> None:
    """Documents and a small tagger."""
    from tagwright import zero_shot

    rng = random.Random(0)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for number in range(documents):
            file.write(json.dumps({"id": str(number), "title": " ".join(rng.choices(NAMES, k=40))}) + "\n")
    zero_shot(NAMES, stages=["exact_match", "tfidf"], language="en").save(folder / "model")


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Two network namespaces, joined by a virtual cable; removed in the end with all processes in them."""
    ends = {HEAD: "tagwright0", OTHER: "tagwright1"}
    try:
        for name in ends:
            _ip("netns", "add", name)
        _ip("link", "add", ends[HEAD], "netns", HEAD, "type", "veth", "peer", "name", ends[OTHER], "netns", OTHER)
        for name, end in ends.items():
            _ip("-n", name, "addr", "add", f"{ADDRESSES[name]}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in ends:
            kill(name)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@contextlib.contextmanager
def nodes(folder: Path) -> Iterator[None]:
    """A raylet in each namespace, of one cluster."""
    head = ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={folder / 'ray'}"]
    starts = {HEAD: head, OTHER: [f"--address={ADDRESSES[HEAD]}:{PORT}"]}
    with (folder / "ray.log").open("w") as log:
        for name, options in starts.items():
            command = ["ray", "start", f"--node-ip-address={ADDRESSES[name]}", *options, *OPTIONS]
            subprocess.Popen(inside(name, command), cwd=folder, stdout=log, stderr=log)
            _wait_for_node(name, folder)
        yield


def inside(namespace: str, command: list[str]) -> list[str]:
    """The command, to be run in a namespace."""
    return ["ip", "netns", "exec", namespace, "env", "RAY_AUTH_MODE=token", *command]  # as Ray asks of a cluster


def kill(namespace: str) -> int:
    """Kill all processes of a namespace. Returns how many there were."""
    found = _processes(namespace)
    for process in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(found)


def _processes(namespace: str) -> list[int]:
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return list(map(int, listed.stdout.split()))


def _actors(namespace: str) -> list[int]:
    return [process for process in _processes(namespace) if "ray::" in _command_line(process)]


def _command_line(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    return ""


def _wait_for_node(name: str, folder: Path) -> None:
    """Until `ray start` says that it runs."""
    end, wanted = time.monotonic() + STARTED, 1 + (name == OTHER)
    while (folder / "ray.log").read_text(encoding="utf-8").count("Ray runtime started") < wanted:
        if time.monotonic() > end:
            sys.exit(f"the node {name} does not start: {(folder / 'ray.log').read_text(encoding='utf-8')[-500:]}")
        time.sleep(0.5)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
