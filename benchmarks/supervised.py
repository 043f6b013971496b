"""Quality of what is learnt from labels: `python -m benchmarks supervised --work DIR [--corpora ...] [--rows ...]`.

DEPL's Tables 3, 5, 6, 7 and Figures 3, 4. Every row learns from the labels of the train documents and is measured on
dev; nothing is chosen there. Rows are written as they come, and what they were measured with stays in --work: a run
that was interrupted goes on there. The rows of DEPL share the SVM and the classifier of theirs, whose
seconds they do not count.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from benchmarks import corpora, rows

from tagwright import auto
from tagwright.core.steps import Steps
from tagwright.papers import depl, svm
from tagwright.tagger import Tagger
from tagwright.types import Document, Run

K = 5
MEASURES = (
    *("P@1", "P@3", "P@5", "nDCG@5", "R@10", "R@100"),
    *("PSP@1", "PSP@3", "PSP@5", "macro-F1@5", "macro-F1-tail@5"),
)
TESTED = ("P@1", "P@3", "P@5", "nDCG@5", "R@100", "PSP@1", "PSP@3", "PSP@5", "macro-F1@5", "macro-F1-tail@5")


@dataclass(frozen=True)
class Task(rows.Task):
    """A corpus, an encoder with what it reads of a document, and how many of the train documents are learnt from.

    documents: 0 for all. max_length: tokens; None for as many as the encoder can read.
    """

    encoder: str
    documents: int
    max_length: int | None

    @cached_property
    def material(self) -> list[Document]:
        """The documents to learn from: those that have a label, a random part of them where not all are wanted."""
        labelled = [document for document in self.train if document.labels]
        return rows.sample(labelled, self.documents or len(labelled))

    @cached_property
    def known(self) -> Run:
        """Their labels."""
        return self.without_self(self.material, self.labels.gold(self.material, unknown="ignore"))

    @property
    def heading(self) -> str:
        """What the result calls the table."""
        cut = f", {self.max_length} tokens" if self.max_length else ""
        return f"{self.name}, {self.encoder}{cut}" + (f", {self.documents} documents" if self.documents else "")

    def folder(self, row: str) -> Path:
        """Where the tagger, the run and the scores of a row lie; the linear ones are those of every encoder."""
        encoder = "linear" if row in LINEAR else self.encoder + (f" {self.max_length}" if self.max_length else "")
        return self.work / f"{encoder} {self.documents or 'all'}" / self.name / row

    def config(self, **options: Any) -> depl.Config:
        """The configuration of a row."""
        return depl.Config(encoder=self.encoder, max_length=self.max_length, **options)

    def tagger(self, row: str) -> Tagger:
        """The tagger of a row, made if need be."""
        if not self.is_measured(row):
            measure(self, row)
        return Tagger.load(self.folder(row) / "tagger")


Fit = Callable[[Task, Path], Tagger]


def linear(task: Task, folder: Path) -> Tagger:
    return svm.fit(task.material, task.labels, svm.Config(), Steps(folder, resume=True), gold=task.known)


def classifier(task: Task, folder: Path) -> Tagger:
    config = task.config(variant="classifier")
    return depl.fit(task.material, task.labels, config, Steps(folder, resume=True), gold=task.known)


def retrieval(task: Task, folder: Path, **options: Any) -> Tagger:
    """DEPL or DE-ret, with the SVM and, unless it starts untrained, the classifier of this table."""
    config = task.config(**options)
    start = task.tagger(CLASSIFIER) if config.trained_start else None
    parts: dict[str, Any] = {"gold": task.known, "svm": task.tagger(SVM), "classifier": start}
    return depl.fit(task.material, task.labels, config, Steps(folder, resume=True), **parts)


def as_in_the_paper(task: Task, folder: Path, **options: Any) -> Tagger:
    """The settings of the paper, with SVM and classifier of their own, but for the encoder and how much it reads."""
    config = replace(depl.paper(), encoder=task.encoder, max_length=task.max_length, **options)
    return depl.fit(task.material, task.labels, config, Steps(folder, resume=True), gold=task.known)


def trees(task: Task, folder: Path) -> Tagger:  # noqa: ARG001
    return rows.parabel(task, task.material, task.known)


def both(task: Task, folder: Path) -> Tagger:  # noqa: ARG001
    """The evidence of the SVM and of DEPL+cls, added up."""
    return Tagger(task.labels, {**task.tagger(SVM).retrievers, **task.tagger(CLS).retrievers})


def whatever_helps(task: Task, folder: Path) -> Tagger:
    """`train auto` with as much time as it takes."""
    return auto.fit(task.material, task.labels, auto.Config(minutes=600), Steps(folder, resume=True), gold=task.known)


SVM, TREES, CLASSIFIER, DE_RET, DEPL, CLS = "SVM", "omikuji", "classifier", "DE-ret", "DEPL, 16 tokens", "DEPL+cls"
FUSED, AUTO = "SVM and DEPL+cls, fused", "auto"

LINEAR = (SVM, TREES, AUTO)
"Rows without the encoder of the table: `auto` has that of the zero-shot method."

ROWS: Mapping[str, tuple[Fit, tuple[str, ...]]] = {
    SVM: (linear, ()),
    TREES: (trees, (SVM,)),
    CLASSIFIER: (classifier, (SVM, TREES)),
    DE_RET: (partial(retrieval, variant="de_ret"), (SVM, CLASSIFIER)),
    DEPL: (partial(retrieval, tokens=16), (SVM, TREES, CLASSIFIER, DE_RET)),
    "DEPL, 8 tokens": (partial(retrieval, tokens=8), (SVM, DEPL)),
    "DEPL, 32 tokens": (partial(retrieval, tokens=32), (SVM, DEPL)),
    CLS: (partial(retrieval, variant="depl_cls"), (SVM, TREES, CLASSIFIER, DEPL)),
    "DEPL+cls, Eq. 4": (partial(retrieval, variant="depl_cls", apart=False), (CLS, DEPL)),
    "DEPL, as in the paper": (as_in_the_paper, (SVM, DEPL)),
    "DEPL+cls, as in the paper": (partial(as_in_the_paper, variant="depl_cls"), (SVM, CLS)),
    "DEPL, no hard negatives": (partial(retrieval, hard_negatives=0), (DEPL,)),
    "DEPL, 5 hard negatives": (partial(retrieval, hard_negatives=5), (DEPL,)),
    "DEPL, no trained start": (partial(retrieval, trained_start=False), (DEPL,)),
    "DEPL, CLS of labels": (partial(retrieval, label_pooling="cls"), (DEPL,)),
    FUSED: (both, (SVM, CLS)),
    AUTO: (whatever_helps, (SVM, CLS, FUSED)),
}
"Name -> how to make its tagger, and the rows that it is tested against."


def main(arguments: list[str]) -> None:
    parser = corpora.parser("supervised", __doc__, corpora=["tib", "mdn"], work=True)
    parser.add_argument("--rows", nargs="*", choices=tuple(ROWS), default=list(ROWS), metavar="ROW")
    parser.add_argument("--encoder", default="static", help="what is trained")
    parser.add_argument("--max-length", type=int, help="tokens that a transformer reads of a document")
    parser.add_argument("--documents", type=int, default=0, help="learn from so many train documents; 0: all")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    for name in options.corpora:
        task = Task(name, options.work, options.encoder, options.documents, options.max_length)
        for row in options.rows:
            if row == "DEPL, CLS of labels" and options.encoder == "static":
                continue  # a static encoder has one way to make a vector of a text
            if not task.is_measured(row):
                measure(task, row)
            about = {"documents": len(task.material)}
            rows.add(options.output, task, row, task.heading, about, ROWS[row][1], TESTED, train=task.known)


def measure(task: Task, row: str) -> None:
    """Make the tagger of a row, in its own folder; what its training leaves there is found again after a kill."""
    for needed in () if row in (*LINEAR, CLASSIFIER) else (SVM, CLASSIFIER):
        task.tagger(needed)  # before the clock starts
    folder = task.folder(row) / "training"
    folder.mkdir(parents=True, exist_ok=True)
    rows.measure(task, row, lambda: ROWS[row][0](task, folder), MEASURES, train=task.known)
    shutil.rmtree(folder)
