"""A Ray cluster of two nodes on this machine: two raylets, each in a network namespace of its own, joined by a cable.

To Ray they are two machines, one of which can be killed, or cut off from the other. Linux, and root.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HEAD, OTHER = "tagwright-head", "tagwright-other"
ADDRESSES = {HEAD: "10.217.33.1", OTHER: "10.217.33.2"}
ENDS = {HEAD: "tagwright0", OTHER: "tagwright1"}
"The ends of the virtual cable."
PORT = 6391
STARTED = 600.0
"Seconds in which a node must have started."
OPTIONS = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats", "--block"]


def missing() -> str:
    """What this machine lacks for network namespaces; empty for nothing."""
    if sys.platform != "linux" or os.geteuid():
        return "they need Linux and root"
    if not shutil.which("ip") or not shutil.which("ray"):
        return "they need the commands ip and ray"
    tried = subprocess.run(["ip", "netns", "add", HEAD], capture_output=True, text=True, check=False)
    if not tried.returncode:
        subprocess.run(["ip", "netns", "del", HEAD], capture_output=True, check=False)
    return tried.stderr.strip()


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Two network namespaces, joined by a virtual cable; removed in the end with all processes in them.

    Processes that are started meanwhile know the token of the cluster.
    """
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    _remove()  # what a run that was killed has left
    try:
        for name in ENDS:
            _ip("netns", "add", name)
        _ip("link", "add", ENDS[HEAD], "netns", HEAD, "type", "veth", "peer", "name", ENDS[OTHER], "netns", OTHER)
        for name, end in ENDS.items():
            _ip("-n", name, "addr", "add", f"{ADDRESSES[name]}/24", "dev", end)
            _ip("-n", name, "link", "set", "lo", "up")
            connect(name)
        yield
    finally:
        _remove()


def _remove() -> None:
    for name in ENDS:
        kill(name)
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def start(name: str, folder: Path, niceness: int) -> None:
    """Start a raylet in its namespace and wait until it runs. niceness: what its tasks add to that of the raylet."""
    head = ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={folder / 'ray'}"]
    where = head if name == HEAD else [f"--address={ADDRESSES[HEAD]}:{PORT}"]
    command = ["ray", "start", f"--node-ip-address={ADDRESSES[name]}", *where, *OPTIONS]
    log, end = folder / f"{name}.log", time.monotonic() + STARTED
    while time.monotonic() < end:  # Ray gives up after 30 seconds, too soon on a busy machine
        kill(name)
        with log.open("w") as file:
            process = subprocess.Popen(inside(name, command, niceness), cwd=folder, stdout=file, stderr=file)
        while process.poll() is None:
            if "Ray runtime started" in log.read_text(encoding="utf-8"):
                return
            time.sleep(0.5)
    sys.exit(f"the node {name} does not start: {log.read_text(encoding='utf-8')[-500:]}")


def inside(namespace: str, command: list[str], niceness: int = 0) -> list[str]:
    """The command, to be run in a namespace, with a token as Ray asks of a cluster."""
    variables = ["RAY_AUTH_MODE=token", f"RAY_worker_niceness={niceness}"]
    return ["ip", "netns", "exec", namespace, "env", *variables, *command]


def kill(namespace: str, but: int = 0) -> int:
    """Kill all processes of a namespace, but for one. Returns how many there were."""
    found = [process for process in processes(namespace) if process != but]
    for process in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(found)


def connect(namespace: str) -> None:
    """Plug the cable in."""
    _ip("-n", namespace, "link", "set", ENDS[namespace], "up")
    _ip("-n", namespace, "route", "replace", "default", "dev", ENDS[namespace])  # by it Ray finds its own address


def cut_off(namespace: str) -> None:
    """Pull the cable: nobody on the other side hears that a process has gone."""
    _ip("-n", namespace, "link", "set", ENDS[namespace], "down")


def processes(namespace: str) -> list[int]:
    """All processes of a namespace."""
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return list(map(int, listed.stdout.split()))


def workers(namespace: str) -> list[int]:
    """The processes of a namespace that run tasks of a batch."""
    return [process for process in processes(namespace) if _command_line(process).startswith("ray::_tag")]


def _command_line(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    return ""


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
