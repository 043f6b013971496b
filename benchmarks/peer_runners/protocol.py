"""What a peer is asked, and what it answers: run by the peer's own Python, with nothing but the standard library.

`python -m benchmarks.peer_runners.NAME JOB.json`. The job names files in Tagwright's own shape: `train`, documents of
which some have labels, `test` and `labels`. Its action is one of these:

- `measure`: learn, save, tag all test documents; write `predictions` as a run file, and print seconds and memory.
- `first`: learn, and tag the first test document. `load`: the same with the saved model. Both print its labels.

All that is printed is one line of JSON; the time from the start of the process to that line is taken outside.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

Record = Mapping[str, Any]
"A document or a label as it stands in its file."

Suggestions = Sequence[tuple[str, float]]
"Label ids with their scores, best first."


@dataclass(frozen=True)
class Records:
    """The documents or labels of a file of JSON lines."""

    path: Path

    @cached_property
    def records(self) -> list[Record]:
        """All of them, in the order of the file."""
        with self.path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    @cached_property
    def texts(self) -> list[str]:
        """The text of each document."""
        return [text(each) for each in self.records]

    @cached_property
    def labelled(self) -> tuple[list[str], list[list[str]]]:
        """Texts and labels of the documents that have labels."""
        found = [each for each in self.records if each["labels"]]
        return [text(each) for each in found], [each["labels"] for each in found]


@dataclass(frozen=True)
class Job:
    """What is learned from and tagged. k: labels for each document. variant: which of a runner's methods.

    folder: for the saved model, and what else the peer must write. language: a two-letter code.
    """

    action: str
    train: Records
    test: Records
    labels: Records
    folder: Path
    predictions: Path
    variant: str
    language: str
    k: int

    @classmethod
    def read(cls, path: Path) -> Job:
        """The job of a file."""
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found |= {name: Records(Path(found[name])) for name in ("train", "test", "labels")}
        found |= {name: Path(found[name]) for name in ("folder", "predictions")}
        return cls(**found)


class Model(Protocol):
    """A trained peer."""

    def suggest(self, documents: Records, k: int) -> Iterable[Suggestions]:
        """The k best labels of each document."""
        ...

    def save(self, folder: Path) -> None:
        """Write it into an existing folder."""
        ...


Fit = Callable[[Job], Model]
Load = Callable[[Job], Model]
"Read what `save` wrote into the folder of the job."


def text(document: Record) -> str:
    """All text of a document, a line for each part: the same as Tagwright's `Document.text`."""
    sections = document.get("sections", ())
    body = (part for each in sections for part in (each.get("heading", ""), *each.get("paragraphs", ())))
    return "\n".join(part for part in (document.get("title", ""), document.get("abstract", ""), *body) if part)


def label_text(label: Record) -> str:
    """The names of a label and its description: the same as Tagwright's `Label.text`."""
    return ". ".join(part for part in ("; ".join(label["names"]), label.get("description", "")) if part)


def answer(fit: Fit, load: Load) -> None:
    """Do what the job of the command line asks."""
    job = Job.read(Path(sys.argv[1]))
    if job.action == "measure":
        print(json.dumps(measure(job, fit)), flush=True)
        return
    model = load(job) if job.action == "load" else fit(job)
    first = Records(job.test.path.with_name("first.jsonl"))
    print(json.dumps([each for found in model.suggest(first, 5) for each, _ in found]), flush=True)
    os._exit(0)  # the time until the process ends is measured, and tidying up is no part of the first suggestion


def measure(job: Job, fit: Fit) -> dict[str, float]:
    """Seconds by the clock and of the processor, for learning and for tagging; memory and disk.

    Saving is a part of learning: what a model encodes only when it must, it encodes then.
    """
    start, processor = time.perf_counter(), processor_seconds()
    model = fit(job)
    job.folder.mkdir(parents=True, exist_ok=True)
    model.save(job.folder)
    trained, used = time.perf_counter(), processor_seconds()
    documents = job.test.records
    tagging, before = time.perf_counter(), processor_seconds()
    found = [list(each) for each in model.suggest(job.test, job.k)]
    tagged, after = time.perf_counter(), processor_seconds()
    write(job.predictions, [each["id"] for each in documents], found)
    return {
        "training seconds": round(trained - start, 2),
        "training processor seconds": round(used - processor, 2),
        "tagging seconds": round(tagged - tagging, 2),
        "tagging processor seconds": round(after - before, 2),
        "peak MB": round(peak_bytes() / 2**20),
        "model MB": round(sum(each.stat().st_size for each in job.folder.rglob("*") if each.is_file()) / 1e6, 2),
    }


WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def peak_bytes() -> int:
    """The most memory that this process or one of its children held.

    What the system says of a process itself in `ru_maxrss` begins with the memory of the process that started it.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    own = [1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return max([*own, 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss])


def processor_seconds() -> float:
    """Of this process and of the children that have ended."""
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in WHO)


def write(path: Path, ids: Sequence[str], found: Sequence[Suggestions]) -> None:
    """Suggestions as a run file: best first, each label once."""
    with path.open("w", encoding="utf-8") as file:
        for id_, suggestions in zip(ids, found, strict=True):
            best = sorted(dict(reversed(suggestions)).items(), key=lambda each: -each[1])
            rows = [{"label": label, "score": float(score)} for label, score in best]
            file.write(json.dumps({"id": id_, "suggestions": rows}) + "\n")
