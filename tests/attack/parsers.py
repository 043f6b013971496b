"""Inputs that are guided by coverage against what parses bodies and uploads: `python -m tests.attack.parsers`.

Needs atheris, which is no dependency: run it with a Python that has it, and this project's packages on its path. What
is found is printed with the input and ends it; the number of inputs is added to results/attack.json.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import logging
import sys
import tempfile
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks import figures

RESULTS = figures.RESULTS / "attack.json"
TYPES = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=limit",
    "text/plain",
    "",
)
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".md", ".html", ".xml", ".tex", ".ttl", ".docx", ".pdf", "")
LARGEST = 20_000
"Bytes of an input."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.attack.parsers", description=__doc__)
    parser.add_argument("target", choices=("bodies", "uploads"))
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        sys.exit("atheris is not installed: pip install atheris, in an environment of its own")
    logging.disable()
    with atheris.instrument_imports(include=["tagwright.server", "tagwright.readers", "python_multipart"]):
        target = {"bodies": bodies, "uploads": uploads}[options.target]()
    begun, tried = time.monotonic(), 0

    def one(content: bytes) -> None:
        nonlocal tried
        tried += 1
        target(content)
        if tried == options.inputs:
            note(options.results, options.target, {"inputs": tried, "seconds": round(time.monotonic() - begun)})

    seeds = Path(tempfile.mkdtemp(prefix="tagwright-attack-"))
    for number, content in enumerate(beginnings(options.target)):
        (seeds / str(number)).write_bytes(content)
    flags = [f"-atheris_runs={options.inputs}", f"-seed={options.seed}", f"-max_len={LARGEST}", "-timeout=20"]
    atheris.Setup(["parsers", *flags, str(seeds)], one)
    atheris.Fuzz()


def note(path: Path, target: str, found: dict[str, int]) -> None:
    """Add to the results what was tried without a failure: after one, atheris ends the process."""
    results = figures.read(path)
    results.setdefault("atheris", {})[target] = found
    figures.write(path, results)
    print(target, found, flush=True)


def beginnings(target: str) -> list[bytes]:
    """Good inputs, from which the others are made: a byte that chooses, then the content."""
    from tests.attack.requests import samples
    from tests.storm.readers import LABELS, SAMPLES

    if target == "bodies":
        requests = samples("bees", "Bees")
        return [bytes([number]) + each.body for number, each in enumerate(requests) if each.body]
    texts = {**SAMPLES, **LABELS}
    return [bytes([SUFFIXES.index(Path(name).suffix)]) + text.encode() for name, text in texts.items()]


def bodies() -> Callable[[bytes], None]:
    """The whole application, without a network: an input is the number of a sample, and a body in its place."""
    from tests.attack.requests import samples

    from tagwright.api import zero_shot
    from tagwright.server.application import application
    from tagwright.server.served_model import ServedModel

    model = ServedModel(
        "bees", zero_shot(["Bees", "Tax law"], stages=["exact_match"], language="en"), "Bees", learns=True
    )
    app = application([model])
    loop = asyncio.new_event_loop()
    loop.run_until_complete(model.queue.start())
    requests = [each for each in samples("bees", "Bees") if each.body and not each.target.startswith("/review")]

    def target(content: bytes) -> None:
        if len(content) < 2:
            return
        request = requests[content[0] % len(requests)]
        kind = dict(request.headers)["Content-Type"] if content[1] % 4 else TYPES[content[1] // 4 % len(TYPES)]
        if request.target.startswith("/api/files"):
            return  # uploads are read by another process: see `uploads`
        status = loop.run_until_complete(answered(app, request.target, kind, content[1:]))
        assert status < 500, f"{status} for {request.target} {kind}"

    return target


async def answered(app: Any, target: str, kind: str, body: bytes) -> int:
    """The status of the application's answer to a body."""
    path, _, query = target.partition("?")
    scope: MutableMapping[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", kind.encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {},
    }  # fmt: skip
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    await app(scope, receive, send)
    return status


def uploads() -> Callable[[bytes], None]:
    """The reading of a file, in this process: an input is the number of a suffix, and the content."""
    from tagwright.errors import InputError
    from tagwright.readers.documents.files import open_sources
    from tagwright.readers.limits import document_limit

    folder = Path(tempfile.mkdtemp(prefix="tagwright-attack-"))

    def target(content: bytes) -> None:
        if not content:
            return
        path = folder / f"x{SUFFIXES[content[0] % len(SUFFIXES)]}"
        path.write_bytes(content[1:])
        with suppress(InputError), document_limit(LARGEST * 100):
            for _, documents in open_sources(path):
                for _ in documents:
                    pass

    return target
