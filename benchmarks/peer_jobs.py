"""One peer, one task, one process: files written, the runner started with limits, its run file read and scored.

Every process has one thread, at most MEMORY bytes and so many minutes of the processor, which other work on the machine
does not use up; by the clock it may take PATIENCE times as long. What is not finished then is given up: a result too.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import corpora, curve_methods, peer_environments
from benchmarks.curve import measures
from benchmarks.machine import CHILDREN, processor_seconds

from tagwright.data.vocabulary import Vocabulary
from tagwright.readers.documents.jsonl import write_jsonl
from tagwright.readers.run_files import read_run
from tagwright.types import Document

DEPTH = 101
"Labels asked for: on mdn the document itself is taken out, and R@100 is measured."

MEMORY = 6 * 2**30

PATIENCE = 6

LANGUAGES: Mapping[str, str] = {"kirja": "fi", "tib": "de"}
"Two-letter codes where the texts are not English. tib's are German and English, its names German first of all."

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Peer:
    """A method of a package. environment: where it is installed; runner: the module that is run there.

    needs_labels: whether it suggests nothing without labelled documents. most: labels it can be asked to learn at all.
    """

    environment: str
    runner: str
    variant: str = ""
    needs_labels: bool = True
    most: int | None = None


@dataclass(frozen=True)
class Task:
    """Documents to learn from, of which some are without labels, and documents to score."""

    name: str
    labels: Vocabulary
    train: Sequence[Document]
    test: Sequence[Document]

    @property
    def labelled(self) -> int:
        """How many documents there are to learn from."""
        return sum(bool(each.labels) for each in self.train)

    def write(self, folder: Path) -> None:
        """The files that runners read."""
        write_jsonl(self.train, folder / "train.jsonl")
        unlabelled = [replace(each, labels=()) for each in self.test]
        write_jsonl(unlabelled, folder / "test.jsonl")
        write_jsonl(unlabelled[:1], folder / "first.jsonl")
        with (folder / "labels.jsonl").open("w", encoding="utf-8") as file:
            for label in self.labels:
                record = {"id": label.id, "names": label.names, "description": label.description}
                file.write(json.dumps({**record, "broader": label.broader}, ensure_ascii=False) + "\n")

    def scores(self, predictions: Path) -> dict[str, float]:
        """The measures of a run file. On mdn the document itself is no suggestion."""
        run = read_run(predictions, [each.id for each in self.test], self.labels.index)
        own = corpora.own_labels(self.name, self.labels, self.test)
        gold = self.labels.gold(self.test, unknown="ignore").without(own)
        return {name: round(value, 4) for name, value in measures(run.without(own), gold).items()}


def prepare(name: str, size: int | None, draw: int, documents: int, known: int) -> Task:
    """A task with the labels of so many documents, None for all; known: others that are known without labels."""
    drawn = curve_methods.Task(name, documents, known, Path()).draw("all" if size is None else str(size), draw)
    labels = drawn.task.labels
    kept = [replace(d, labels=tuple(label for label in d.labels if label in labels.index)) for d in drawn.labelled]
    return Task(name, labels, [*kept, *drawn.others], drawn.scored)


def measure(peer: Peer, task: Task, folder: Path, minutes: float) -> dict[str, Any]:
    """Learn, tag and score; or `outcome` says why there are no figures. folder: with the task's files."""
    answered = ask(peer, folder, "measure", task.name, minutes)
    if "outcome" in answered:
        return answered
    return {**task.scores(folder / "predictions.jsonl"), **answered["answer"], "load": round(os.getloadavg()[0], 1)}


def ask(
    peer: Peer, folder: Path, action: str, name: str, minutes: float, more: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Start a runner with a job: its `answer`, and `seconds` and `processor seconds` from its start to its end.

    Or `outcome`: why there is no answer. more: variables of its environment.
    """
    job = folder / "job.json"
    job.write_text(json.dumps(_job(peer, folder, action, name)), encoding="utf-8")
    command = [str(peer_environments.python(peer.environment)), "-m", peer.runner]
    start, used = time.perf_counter(), processor_seconds(CHILDREN)
    with (folder / "errors.txt").open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*command, str(job)],
            cwd=peer_environments.ROOT,
            env=_variables(more or {}),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            preexec_fn=partial(_limit, minutes),
        )
        try:
            answered, _ = process.communicate(timeout=60 * minutes * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            process.returncode = -signal.SIGXCPU
    seconds, used = time.perf_counter() - start, processor_seconds(CHILDREN) - used
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"outcome": f"did not finish in {minutes:g} minutes"}
    if process.returncode:
        return {"outcome": _reason((folder / "errors.txt").read_text(encoding="utf-8", errors="replace"))}
    return {
        "answer": json.loads(answered.splitlines()[-1]),
        "seconds": round(seconds, 2),
        "processor seconds": round(used, 2),
    }


def _job(peer: Peer, folder: Path, action: str, name: str) -> dict[str, Any]:
    files = {each: str(folder / f"{each}.jsonl") for each in ("train", "test", "labels", "predictions")}
    model = str(folder / "model")
    language = LANGUAGES.get(name, "en")
    return {"action": action, **files, "folder": model, "variant": peer.variant, "language": language, "k": DEPTH}


def _variables(more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a runner: one thread, no network, nothing of this project's sources."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return {**kept, **dict.fromkeys(ONE_THREAD, "1"), **quiet, **more}


def _limit(minutes: float) -> None:
    """In the new process: no more memory and processor time than that."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    seconds = max(1, round(60 * minutes))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def _reason(errors: str) -> str:
    """Why a runner failed, in a line."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = lines[-1] if lines else "killed"
    if any(sign in errors for sign in ("MemoryError", "bad_alloc", "memory allocation", "Cannot allocate memory")):
        return f"needs more than {MEMORY // 2**30} GB"
    return f"failed: {last[:200]}"
