"""Each method alone beside auto: `python -m benchmarks curve_methods [--sizes 50 300 all] [--methods ...] [--plots]`.

nDCG@5, P@1, P@5 and R@100 over n labelled documents. All methods learn from the same draws, which are those of `curve`
and `peers`: up to 300 documents from the first 600 labelled ones in random order, more from all. `auto` and the
zero-shot method know other train documents without their labels. Results are written as they come; what is there is not
measured again.
`--plots` draws nDCG@5 over n into docs/results, from what has been measured.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, curve_plot, figures
from benchmarks.curve import UNLABELLED, measures, sampled

from tagwright import auto
from tagwright.core.steps import Steps
from tagwright.data.bags import BagOfWords
from tagwright.data.vocabulary import Vocabulary
from tagwright.papers import svm
from tagwright.stages.nearest_labelled import NearestLabelled
from tagwright.tagger import Tagger, zero_shot
from tagwright.types import Document, Ints, Run

SIZES = ("0", "10", "20", "50", "100", "300", "1000", "3000", "all")

SMALL, POOL = 300, 600
"Up to so many documents are drawn from so many."

DEPTH = 101
"Labels of a document: on mdn the document itself is taken out."


@dataclass(frozen=True)
class Task:
    """A corpus. most: dev documents that are scored, None for all. known: train documents without labels.

    folder: for what `auto` knows of the corpus, which does not depend on the draw.
    """

    name: str
    most: int | None
    known: int
    folder: Path

    @cached_property
    def labels(self) -> Vocabulary:
        """The vocabulary."""
        return corpora.labels(self.name)

    @cached_property
    def dev(self) -> list[Document]:
        """In random order."""
        return [each for each in sampled(corpora.documents(self.name, "dev"), self.most) if each.labels]

    @cached_property
    def train(self) -> list[Document]:
        """In random order."""
        return sampled(corpora.corpus(self.name, "train"), None)

    @cached_property
    def pool(self) -> list[Document]:
        """Documents to draw from."""
        return self.dev if self.name in corpora.FROM_DEV else [each for each in self.train if each.labels]

    def draw(self, size: str, draw: int) -> Draw:
        """The labels of so many documents."""
        count = len(self.pool) if size == "all" else int(size)
        pool = self.pool[:POOL] if count <= SMALL else self.pool
        drawn = [pool[place] for place in np.random.default_rng(draw).permutation(len(pool))[:count].tolist()]
        return Draw(self, drawn)

    def gold(self, documents: Sequence[Document]) -> Run:
        """The labels of documents, without the documents themselves where they are labels."""
        return self.labels.gold(documents, unknown="ignore").without(self.own_labels(documents))

    def own_labels(self, documents: Sequence[Document]) -> Ints:
        """(documents,) the label that each is, -1 for none."""
        return corpora.own_labels(self.name, self.labels, documents).astype(np.int32)


@dataclass(frozen=True)
class Draw:
    """Labelled documents of a corpus."""

    task: Task
    labelled: Sequence[Document]

    @cached_property
    def others(self) -> list[Document]:
        """Documents that are known without their labels."""
        drawn = {each.id for each in self.labelled}
        return [replace(each, labels=()) for each in self.task.train[: self.task.known] if each.id not in drawn]

    @cached_property
    def scored(self) -> list[Document]:
        """Dev documents that are not drawn."""
        drawn = {each.id for each in self.labelled}
        return [each for each in self.task.dev if each.id not in drawn]


def fit_zero_shot(draw: Draw) -> Tagger:
    return zero_shot.fit(draw.task.labels, documents=draw.others[:256])


def fit_svm(draw: Draw) -> Tagger:
    gold = draw.task.gold(draw.labelled)
    return svm.fit(draw.labelled, draw.task.labels, svm.Config(candidates=DEPTH), gold=gold)


def fit_knn(draw: Draw) -> Tagger:
    bag = BagOfWords.of(each.text for each in draw.labelled)
    features = bag.transform(each.text for each in draw.labelled)
    stage = NearestLabelled(draw.task.labels, bag, features, draw.task.gold(draw.labelled), DEPTH)
    return Tagger(draw.task.labels, {"knn": stage})


def fit_auto(draw: Draw, shared: Sequence[str] = ("corpus",)) -> Tagger:
    """With as much time as it takes. shared: finished steps that are the same for all draws."""
    documents = [*draw.labelled, *draw.others]
    with tempfile.TemporaryDirectory() as folder:
        for step in shared:
            if (draw.task.folder / step).is_dir():
                shutil.copytree(draw.task.folder / step, Path(folder) / step)
        config = auto.Config(minutes=600.0)
        gold = draw.task.gold(documents)
        tagger = auto.fit(documents, draw.task.labels, config, Steps(Path(folder), resume=True), gold=gold)
        for step in shared:
            if (Path(folder) / step).is_dir() and not (draw.task.folder / step).is_dir():
                shutil.copytree(Path(folder) / step, draw.task.folder / step)
    return tagger


METHODS: Mapping[str, Callable[[Draw], Tagger]] = {
    "zero_shot": fit_zero_shot,
    "svm": fit_svm,
    "knn": fit_knn,
    "auto": fit_auto,
}

WITHOUT_LABELS = ("zero_shot",)
"Methods that learn nothing from labels; without any, `auto` is the zero-shot method."


def main(arguments: list[str]) -> None:
    parser = corpora.parser("curve_methods", __doc__, corpora.ALL)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES, help="labelled documents")
    parser.add_argument("--methods", nargs="+", choices=[*METHODS], default=[*METHODS])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--documents", type=int, help="score only N dev documents, drawn with seed 0")
    parser.add_argument("--unlabelled", type=int, default=UNLABELLED, help="train documents that are known")
    parser.add_argument("--plots", action="store_true", help="draw what has been measured")
    options = parser.parse_args(arguments)
    result = figures.read(options.output)
    if options.plots:
        curve_plot.write(result["rows"])
        return
    corpora.require(tuple(options.corpora))
    about = {"documents": options.documents, "unlabelled": options.unlabelled}
    result = {**about, "rows": {}, **result}
    for line in rows(result["rows"], options):
        print(line, flush=True)
        figures.write(options.output, result)


def rows(found: dict[str, Any], options: argparse.Namespace) -> Iterator[str]:
    """Add what is missing to corpus -> method -> size -> draw; a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        for name in options.corpora:
            task = Task(name, options.documents, options.unlabelled, Path(folder) / name)
            task.folder.mkdir()
            for size in options.sizes:
                yield from _at_size(found.setdefault(name, {}), task, size, options)


def _at_size(found: dict[str, Any], task: Task, size: str, options: argparse.Namespace) -> Iterator[str]:
    if size != "all" and int(size) > len(task.pool) // 2:
        return
    asked = [method for method in options.methods if (size == "0") == (method in WITHOUT_LABELS)]
    for draw in range(options.draws if size not in ("0", "all") else 1):
        for method in asked:
            at = found.setdefault(method, {}).setdefault(size, {})
            if str(draw) not in at:
                at[str(draw)] = row = measure(method, task.draw(size, draw))
                yield f"{task.name:6} {size:>5} {draw} {method:10} {row}"


def measure(method: str, draw: Draw) -> dict[str, Any]:
    """The measures of a method on a draw, the processor's seconds to fit it, and the memory of the process so far."""
    clock = time.process_time()
    tagger = METHODS[method](draw)
    fitted = time.process_time()
    own, gold = draw.task.own_labels(draw.scored), draw.task.gold(draw.scored)
    run = tagger.tag(draw.scored, DEPTH).without(own)
    kept = tagger.training.get("auto", {}).get("kept")
    return {
        **{name: round(value, 4) for name, value in measures(run, gold).items()},
        "labelled": len(draw.labelled),
        "documents": len(draw.scored),
        "processor seconds": round(fitted - clock, 1),
        "processor seconds to tag": round(time.process_time() - fitted, 1),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        **({"kept": kept} if kept else {}),
    }
