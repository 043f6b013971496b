"""A made-up peer that suggests the labels which come up most often; run as a module, as real peers are."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peer_runners.protocol import Job, Records, Suggestions, answer


@dataclass(frozen=True)
class Frequent:
    """Labels by how often they come up."""

    counts: dict[str, int]

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        for _ in documents.records:
            yield Counter(self.counts).most_common(k)

    def save(self, folder: Path) -> None:
        (folder / "counts.json").write_text(json.dumps(self.counts), encoding="utf-8")


def fit(job: Job) -> Frequent:
    if job.variant == "asleep":
        time.sleep(600)
    if job.variant == "broken":
        sys.exit("no such analyzer")
    _, labels = job.train.labelled
    return Frequent(Counter(label for row in labels for label in row))


def load(job: Job) -> Frequent:
    return Frequent(json.loads((job.folder / "counts.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    answer(fit, load)
