"""A server in, killed at some moment while reviewers decide; which acknowledged decisions its file lacks, out."""

from __future__ import annotations

import http.client
import itertools
import json
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.serve_load import entered
from tools.attack.requests import FORM, JSON

from tagwright import zero_shot
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.file import ReviewFile
from tagwright.server.options import ServerOptions
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import serve
from tagwright.types import Document

DOCUMENTS = 20
REVIEWERS = 2
LONGEST = 600.0
"Seconds within which a server must be up."


@dataclass
class Acknowledged:
    """What the server has said is stored: verdicts, notes, documents to learn from, and how often undone.

    verdicts: (reviewer, document, verdict) -> how often.
    """

    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    notes: set[str] = field(default_factory=set)
    learnt: set[str] = field(default_factory=set)
    undone: Counter[str] = field(default_factory=Counter)

    def missing(self, path: Path) -> list[str]:
        """What the file lacks."""
        with closing(ReviewFile(path)) as file:
            events = [event for _, event in Decisions(file).events()]
            documents = {entry.id for entry in ReviewedDocuments(file).entries()}
        undone = Counter(event.reviewer for event in events if event.action == "undo")
        accepted = {event.document for event in events if event.label}
        verdicts = Counter[tuple[str, str, str]]((event.reviewer, event.document, event.action) for event in events)
        return [
            *(f"verdict {verdict}" for verdict in (self.verdicts - verdicts).elements()),
            *(f"note {note}" for note in self.notes - {event.note for event in events}),
            *(f"document {id_}" for id_ in self.learnt - (documents & accepted)),
            *(f"undo of {name}" for name, count in self.undone.items() if undone[name] < count),
        ]

    def __len__(self) -> int:
        return self.verdicts.total() + len(self.notes) + len(self.learnt) + self.undone.total()


@dataclass
class Siege:
    """One file of decisions and all that was said to be in it, over any number of kills."""

    path: Path
    said: Acknowledged = field(default_factory=Acknowledged)
    problems: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def kill(self, seed: str) -> list[str]:
        """Start the server, let reviewers decide, kill it. Returns what is lost of all that was ever acknowledged."""
        rng = random.Random(seed)
        with serving(self.path) as (process, address):
            threads = [
                threading.Thread(target=self._review, args=(address, f"reviewer {number}", random.Random(rng.random())))
                for number in range(REVIEWERS)
            ]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0.05, 0.5))
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            for thread in threads:
                thread.join()
        return [*self.problems, *self.said.missing(self.path)]

    def is_whole(self) -> bool:
        """Whether SQLite finds the file in order."""
        with closing(sqlite3.connect(self.path)) as database:
            return bool(database.execute("PRAGMA integrity_check").fetchone() == ("ok",))

    def _review(self, address: tuple[str, int], name: str, rng: random.Random) -> None:
        """One reviewer, until the server has gone."""
        try:
            cookie, csrf = entered(address, name.replace(" ", "+"))
            with closing(http.client.HTTPConnection(*address, timeout=60)) as connection:
                while True:
                    self._decide(connection, cookie, csrf, name, rng)
        except (OSError, http.client.HTTPException):
            return

    def _decide(
        self, connection: http.client.HTTPConnection, cookie: str, csrf: str, name: str, rng: random.Random
    ) -> None:
        """Ask for a page or decide something; note what the server has confirmed."""
        document, number = rng.randint(1, DOCUMENTS), next(self._numbers)
        address = f"/review/documents/{document}"
        way = rng.choice(("accept", "accept", "accept", "reject", "note", "undo", "learn", "page"))
        if way == "page":
            connection.request("GET", address, headers={"Cookie": cookie})
        elif way == "learn":
            sent = [{"document_id": f"sent {number}", "text": "Bees", "subjects": [{"uri": "Bees"}]}]
            connection.request("POST", "/v1/projects/bees/learn", json.dumps(sent), {"Content-Type": JSON})
        else:
            form = {"csrf": csrf, "action": way, "label": "Bees", "note": f"note {number}"}
            connection.request("POST", address, urlencode(form), {"Content-Type": FORM, "Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        with self._lock:
            if answer.status not in (200, 204, 303):
                self.problems.append(f"{answer.status} for {way}")
            elif way in ("accept", "reject"):
                self.said.verdicts[name, f"d{document - 1}", way] += 1
            elif way == "note":
                self.said.notes.add(f"note {number}")
            elif way == "learn":
                self.said.learnt.add(f"sent {number}")
            elif way == "undo":
                self.said.undone[name] += 1


@contextmanager
def serving(path: Path) -> Iterator[tuple[BaseProcess, tuple[str, int]]]:
    """A server on this file of decisions, forked from a process that has loaded everything."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    process: BaseProcess = _context().Process(target=_serve, args=(path, port))
    process.start()
    try:
        _wait_for(port, process)
        yield process, ("127.0.0.1", port)
    finally:
        process.kill()
        process.join()


def _wait_for(port: int, process: BaseProcess) -> None:
    end = time.monotonic() + LONGEST
    while time.monotonic() < end and process.is_alive():
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.005)
    raise AssertionError("the server does not come up again")


def _serve(path: Path, port: int) -> None:
    model = ServedModel(
        "bees", zero_shot(["Bees", "Tax law"], stages=["exact_match"], language="en"), "Bees", learns=True
    )
    with closing(ReviewFile(path)) as file:
        ReviewedDocuments(file).add(Document(f"d{i}", f"Bees {i}", "Tax law") for i in range(DOCUMENTS))
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        serve([model], ServerOptions(port=port, reviews=path, learn=True))


@cache
def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tools.attack.kills"])
    return context
