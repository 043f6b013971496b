"""Tables that grow row by row: a tagger per row, its run and scores kept in a folder, its line in a JSON file.

A benchmark that was interrupted goes on where it was, and row by row can be added.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from benchmarks import corpora, figures, machine

from tagwright.data.bags import BagOfWords
from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.metrics import mark_labelled
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.significance import compare
from tagwright.papers.label_trees import Trees, fit_trees
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.tagger import Tagger
from tagwright.types import Document, Run

T = TypeVar("T")

DEPTH = 100

AGREEMENT = ("P@1", "nDCG@10", "R@20", "R@100")


@dataclass(frozen=True)
class Task:
    """A corpus, and the folder in which taggers and runs of the rows lie."""

    name: str
    work: Path

    @cached_property
    def train(self) -> Corpus:
        """The documents to learn from."""
        return corpora.corpus(self.name, "train")

    @cached_property
    def labels(self) -> Vocabulary:
        """The vocabulary."""
        return corpora.labels(self.name)

    @cached_property
    def dev(self) -> list[Document]:
        """Those that have a label to find."""
        documents = corpora.documents(self.name, "dev")
        return [d for d, kept in zip(documents, mark_labelled(self._gold(documents)), strict=True) if kept]

    @cached_property
    def gold(self) -> Run:
        """The labels of the dev documents."""
        return self._gold(self.dev)

    @property
    def exclude_self(self) -> bool:
        """On mdn a page is a label too."""
        return self.name == "mdn"

    def folder(self, row: str) -> Path:
        """Where the tagger, the run and the scores of a row lie."""
        return self.work / self.name / row.replace("/", "-")

    def is_measured(self, row: str) -> bool:
        """Whether the row has its scores."""
        return (self.folder(row) / "row.json").is_file()

    def run(self, row: str) -> Run:
        """What the tagger of a row said of the dev documents."""
        with np.load(self.folder(row) / "run.npz", allow_pickle=False) as file:
            return Run(file["indptr"], file["labels"], file["scores"])

    def without_self(self, documents: Sequence[Document], run: Run) -> Run:
        """Without the label that is the document itself, where documents are labels."""
        if not self.exclude_self:
            return run
        return run.keep(run.labels != self.labels.own(documents)[run.rows])

    def _gold(self, documents: Sequence[Document]) -> Run:
        return self.without_self(documents, self.labels.gold(documents, unknown="ignore"))


def sample(documents: Sequence[T], count: int) -> list[T]:
    """So many of the documents, drawn at random, in their order; all where there are no more."""
    chosen = np.random.default_rng(0).permutation(len(documents))[:count]
    return [documents[i] for i in sorted(chosen.tolist())]


def parabel(task: Task, documents: Sequence[Document], known: Run) -> Tagger:
    """Trees of linear classifiers, by omikuji with its default settings, that take these labels for right."""
    bag = BagOfWords.of(document.text for document in documents)
    model = fit_trees(bag.transform(document.text for document in documents), known, len(task.labels))
    return Tagger(task.labels, {"trees": Trees(task.labels, bag, model, DEPTH + 1)})


def measure(task: Task, row: str, fit: Callable[[], Tagger], measures: Sequence[str], train: Run | None = None) -> None:
    """Make the tagger of a row; store it, its run and its scores. train: gold labels, for measures that need them."""
    start = time.perf_counter()
    tagger = fit()
    seconds = time.perf_counter() - start
    folder = task.folder(row)
    folder.mkdir(parents=True, exist_ok=True)
    tagger.save(folder / "tagger", overwrite=True)
    run = task.without_self(task.dev, tagger.tag(task.dev, DEPTH + 1)).top(DEPTH)
    store(task, row, run, seconds, measures, train)


def store(task: Task, row: str, run: Run, seconds: float, measures: Sequence[str], train: Run | None = None) -> None:
    """Store the run of a row and its scores, and print these."""
    folder = task.folder(row)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "run.npz", indptr=run.indptr, labels=run.labels, scores=run.scores)
    scores = evaluate(run, task.gold, train=train, measures=measures)
    as_json = scores.to_json()
    found = {"seconds": round(seconds, 1), **as_json["measures"], **({"slices": as_json["slices"]} if train else {})}
    if agreement := agreement_with_keywords(task, run):
        found["agreement with keywords"] = agreement
    (folder / "row.json").write_text(json.dumps({**found, "made": figures.state()}), encoding="utf-8")
    shown = " ".join(f"{name} {100 * scores.measures[name].value:5.1f}" for name in measures)
    print(f"{task.name:5} {row:34} {shown} {seconds:6.0f} s", file=sys.stderr, flush=True)


def agreement_with_keywords(task: Task, run: Run) -> dict[str, Any]:
    """How well a row finds the labels that the authors' keywords name, over the documents that have such.

    Evidence for choices in which no gold label has a part. Only epmc has keywords.
    """
    if task.name != "epmc":
        return {}
    keywords = [Document(d.id, abstract="\n".join(d.metadata.get("keyword", ()))) for d in task.dev]
    named = ExactMatch(task.labels, ExactMatchOptions(text_field="title_and_abstract", longest=True))(keywords)
    there = np.flatnonzero(mark_labelled(named))
    if not len(there):
        return {}
    found = evaluate(run.take(there), named.take(there), measures=AGREEMENT).to_json()["measures"]
    return {"documents": len(there), **found}


def add(
    output: Path,
    task: Task,
    row: str,
    heading: str,
    about: dict[str, Any],
    others: Iterable[str],
    tested: Sequence[str],
    train: Run | None = None,
) -> None:
    """Write the row into the result, with its tests against those of the others that are there. train: as above."""
    result = figures.read(output)
    rows = result.setdefault(heading, {"machine": machine.describe(), **about})
    rows[row] = json.loads((task.folder(row) / "row.json").read_text(encoding="utf-8"))
    made = rows[row].pop("made", figures.UNRECORDED)
    there = [other for other in others if other != row and (task.folder(other) / "run.npz").is_file()]
    rows[row]["against"] = {
        other: compare(task.run(row), task.run(other), task.gold, train=train, measures=tested).to_json()["measures"]
        for other in there
    }
    figures.write(output, result, [made])
